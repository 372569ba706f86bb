//! Counters for Prometheus, served on loopback.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Counters of a daemon.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Metrics {
    /// Looks so far.
    pub looks: u64,
    /// Pages moved, by node ids.
    pub pages_moved: BTreeMap<(u32, u32), u64>,
    /// Pages that the kernel refused to move.
    pub pages_refused: u64,
    /// Threads moved, by node ids.
    pub tasks_moved: BTreeMap<(u32, u32), u64>,
    /// Pages and threads left alone at the last look, by reason.
    pub left: BTreeMap<String, u64>,
    /// Affinities that are changed now.
    pub affinities: u64,
    /// Share of memory local to its process's CPU time at the last look, from 0 to 1.
    pub local_share: f64,
    /// CPU time of the daemon, s.
    pub cpu_s: f64,
    /// Mode of the kernel's own balancing.
    pub kernel_balancing: u32,
}

impl Metrics {
    /// The counters in Prometheus's text form.
    pub fn text(&self) -> String {
        let mut out = String::new();
        let head = |out: &mut String, name: &str, kind: &str, help: &str| {
            // Writing to a String cannot fail.
            let _ = write!(out, "# HELP numalab_balance_{name} {help}\n# TYPE numalab_balance_{name} {kind}\n");
        };
        let plain = [
            ("looks_total", "counter", "Looks at the machine.", self.looks as f64),
            ("pages_refused_total", "counter", "Pages that the kernel refused to move.", self.pages_refused as f64),
            ("affinities", "gauge", "Threads whose affinity is changed now.", self.affinities as f64),
            ("local_share", "gauge", "Share of memory local to its process's CPU time.", self.local_share),
            ("cpu_seconds_total", "counter", "CPU time of the daemon.", self.cpu_s),
            ("kernel_balancing", "gauge", "Mode of kernel.numa_balancing.", f64::from(self.kernel_balancing)),
        ];
        for (name, kind, help, value) in plain {
            head(&mut out, name, kind, help);
            let _ = writeln!(out, "numalab_balance_{name} {value}");
        }
        let pairs = [
            ("pages_moved_total", "Pages moved between nodes.", &self.pages_moved),
            ("tasks_moved_total", "Threads moved between nodes.", &self.tasks_moved),
        ];
        for (name, help, values) in pairs {
            head(&mut out, name, "counter", help);
            for ((from, to), value) in values {
                let _ = writeln!(out, "numalab_balance_{name}{{from=\"{from}\",to=\"{to}\"}} {value}");
            }
        }
        head(&mut out, "left", "gauge", "Pages and threads left alone.");
        for (reason, value) in &self.left {
            let _ = writeln!(out, "numalab_balance_left{{reason=\"{reason}\"}} {value}");
        }
        out
    }
}

/// Serves the counters at `http://127.0.0.1:PORT/metrics` from a thread that lives as long as the program. Returns the
/// port, which the system chooses if `port` is 0.
///
/// # Errors
/// The port is taken.
pub fn serve(port: u16, metrics: Arc<Mutex<Metrics>>) -> io::Result<u16> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
    let port = listener.local_addr()?.port();
    std::thread::Builder::new().name("metrics".into()).spawn(move || {
        for stream in listener.incoming().flatten() {
            let text = metrics.lock().map(|m| m.text()).unwrap_or_default();
            // A client that hangs up is no concern of the daemon.
            let _ = answer(stream, &text);
        }
    })?;
    Ok(port)
}

fn answer(mut stream: TcpStream, text: &str) -> io::Result<()> {
    stream.set_read_timeout(Some(Duration::from_secs(2)))?;
    stream.set_write_timeout(Some(Duration::from_secs(2)))?;
    let mut request = [0; 1024];
    let read = stream.read(&mut request)?;
    let line = String::from_utf8_lossy(&request[..read]);
    let known = line.starts_with("GET /metrics ") || line.starts_with("GET / ");
    let (status, body) = if known { ("200 OK", text) } else { ("404 Not Found", "expected GET /metrics\n") };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(body.as_bytes())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// Every `numalab_balance_NAME` in a text, sorted.
    fn names(text: &str) -> Vec<&str> {
        let begins = text.match_indices("numalab_balance_").map(|(at, _)| &text[at..]);
        let end = |t: &str| t.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(t.len());
        let mut out: Vec<&str> = begins.map(|t| &t[..end(t)]).collect();
        out.sort_unstable();
        out.dedup();
        out
    }

    #[test]
    fn dashboard_alerts_and_page_name_the_series_that_are_served() {
        let text = Metrics::default().text();
        let served = names(&text);
        assert_eq!(served.len(), 9, "{served:?}");
        let read = |path: &str| std::fs::read_to_string(format!("../../{path}")).unwrap();
        let dashboard = read("dist/monitoring/grafana-dashboard.json");
        let parsed: serde_json::Value = serde_json::from_str(&dashboard).unwrap();
        assert!(parsed["panels"].as_array().unwrap().iter().all(|p| !p["targets"][0]["expr"].is_null()));
        assert_eq!(names(&dashboard), served, "the dashboard shows all series, and no others");
        assert_eq!(names(&read("docs/how-to/monitor.md")), served);
        for name in names(&read("dist/monitoring/alerts.yml")) {
            assert!(served.contains(&name), "{name}");
        }
    }

    #[test]
    fn counters_are_served_on_loopback() {
        let mut metrics = Metrics { looks: 3, local_share: 0.5, ..Metrics::default() };
        metrics.pages_moved.insert((0, 1), 512);
        metrics.left.insert("pinned".into(), 2);
        let port = serve(0, Arc::new(Mutex::new(metrics))).unwrap();
        let ask = |request: &str| {
            let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
            stream.write_all(request.as_bytes()).unwrap();
            let mut text = String::new();
            stream.read_to_string(&mut text).unwrap();
            text
        };
        let text = ask("GET /metrics HTTP/1.1\r\n\r\n");
        for line in [
            "HTTP/1.1 200 OK",
            "numalab_balance_looks_total 3\n",
            "# TYPE numalab_balance_local_share gauge\nnumalab_balance_local_share 0.5\n",
            "numalab_balance_pages_moved_total{from=\"0\",to=\"1\"} 512\n",
            "numalab_balance_left{reason=\"pinned\"} 2\n",
        ] {
            assert!(text.contains(line), "{line:?} in {text}");
        }
        assert!(ask("POST / HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 404"));
    }
}
