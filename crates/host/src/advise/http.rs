//! Reading a page of this machine over HTTP.
//!
//! Only loopback addresses are read: a metric of another machine says little about this one, and nothing is to be sent
//! out.

use super::Error;
use std::fmt;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

/// Longest time of an exchange: to connect, to ask, and to read the whole page.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Largest page, bytes.
const LARGEST: usize = 16 << 20;

/// Address of a page on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Url {
    host: String,
    address: SocketAddr,
    path: String,
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "http://{}{}", self.host, self.path)
    }
}

impl Url {
    /// Reads `http://HOST:PORT/PATH`, where HOST is a loopback address or a name of one.
    ///
    /// # Errors
    /// What was expected.
    pub fn parse(text: &str) -> Result<Self, String> {
        let expected = || "a page of this machine, such as http://127.0.0.1:9187/metrics".to_string();
        let rest = text.strip_prefix("http://").ok_or_else(expected)?;
        let slash = rest.find('/').unwrap_or(rest.len());
        let (host, path) = rest.split_at(slash);
        let with_port = if host.rsplit_once(':').is_some_and(|(_, p)| p.parse::<u16>().is_ok()) {
            host.to_string()
        } else {
            format!("{host}:80")
        };
        let mut addresses = with_port.to_socket_addrs().map_err(|_| expected())?;
        let address = addresses.find(|a| a.ip().is_loopback()).ok_or_else(expected)?;
        let path = if path.is_empty() { "/" } else { path };
        if path.contains(|c: char| c.is_ascii_control() || c == ' ') {
            return Err(expected());
        }
        Ok(Self { host: host.into(), address, path: path.into() })
    }
}

/// Reads a page, within [`TIMEOUT`] in all.
///
/// # Errors
/// Nobody answers, the answer is no page, has no end by then, or is larger than 16 MiB.
pub fn get(url: &Url) -> Result<String, Error> {
    let text = exchange(url, TIMEOUT, LARGEST)?;
    let (head, body) = text.split_once("\r\n\r\n").ok_or_else(|| Error::Program(format!("{url}: no HTTP answer")))?;
    let status = head.split_whitespace().nth(1).unwrap_or_default();
    if status != "200" {
        return Err(Error::Program(format!("{url}: HTTP status {status}")));
    }
    Ok(if is_chunked(head) { joined(body) } else { body.to_string() })
}

/// Asks for a page, and returns all that comes within `limit`, at most `largest` bytes. A server that sends a little
/// now and then gets no more time than one that sends nothing.
fn exchange(url: &Url, limit: Duration, largest: usize) -> Result<String, Error> {
    let end = Instant::now() + limit;
    let late =
        || Error::Program(format!("{url}: no whole page within {} s; expected one at once", limit.as_secs_f64()));
    let left = || Some(end.saturating_duration_since(Instant::now())).filter(|d| !d.is_zero()).ok_or_else(late);
    let failed = |e: std::io::Error| match e.kind() {
        ErrorKind::WouldBlock | ErrorKind::TimedOut => late(),
        _ => Error::Program(format!("{url}: {e}")),
    };
    let mut stream = TcpStream::connect_timeout(&url.address, left()?).map_err(failed)?;
    stream.set_write_timeout(Some(left()?)).map_err(failed)?;
    // In HTTP 1.0 the page ends with the connection.
    let request = format!("GET {} HTTP/1.0\r\nHost: {}\r\nAccept: text/plain\r\n\r\n", url.path, url.host);
    stream.write_all(request.as_bytes()).map_err(failed)?;
    let (mut bytes, mut part) = (Vec::new(), vec![0; 1 << 16]);
    loop {
        stream.set_read_timeout(Some(left()?)).map_err(failed)?;
        match stream.read(&mut part) {
            Ok(0) => return Ok(String::from_utf8_lossy(&bytes).into_owned()),
            Ok(n) => bytes.extend_from_slice(&part[..n]),
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => return Err(failed(e)),
        }
        if bytes.len() > largest {
            return Err(Error::Program(format!(
                "{url}: the page is larger than {largest} bytes; expected a page of metrics"
            )));
        }
    }
}

/// Whether a server has sent its page in chunks, although HTTP 1.0 has none.
fn is_chunked(head: &str) -> bool {
    head.lines().any(|l| l.to_ascii_lowercase().replace(' ', "") == "transfer-encoding:chunked")
}

/// The text of a page in chunks, without their lengths.
fn joined(mut body: &str) -> String {
    let mut out = String::new();
    while let Some((length, rest)) = body.split_once("\r\n") {
        let length = usize::from_str_radix(length.split(';').next().unwrap_or_default().trim(), 16).unwrap_or(0);
        let Some(chunk) = rest.get(..length).filter(|_| length > 0) else { break };
        out.push_str(chunk);
        body = rest.get(length + 2..).unwrap_or_default();
    }
    out
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::net::TcpListener;

    fn served(answer: &'static str) -> Result<String, Error> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = Url::parse(&format!("http://{}/metrics", listener.local_addr().unwrap())).unwrap();
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = [0; 512];
            let n = stream.read(&mut request).unwrap();
            assert!(request[..n].starts_with(b"GET /metrics HTTP/1.0\r\n"));
            stream.write_all(answer.as_bytes()).unwrap();
        });
        let page = get(&url);
        server.join().unwrap();
        page
    }

    #[test]
    fn pages_come_whole_or_in_chunks() {
        assert_eq!(served("HTTP/1.0 200 OK\r\nX: y\r\n\r\na 1\nb 2\n").unwrap(), "a 1\nb 2\n");
        let chunks = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\na 1\n\r\n4\r\nb 2\n\r\n0\r\n\r\n";
        assert_eq!(served(chunks).unwrap(), "a 1\nb 2\n");
        assert!(served("HTTP/1.0 404 Not Found\r\n\r\n").unwrap_err().to_string().contains("404"));
    }

    /// What an exchange of 300 ms comes to whose server sends `head` and then `part`, again and again with a pause.
    fn endless(head: &'static str, part: &'static str, pause: Duration, largest: usize) -> (String, Duration) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = Url::parse(&format!("http://{}/metrics", listener.local_addr().unwrap())).unwrap();
        // It ends when the other side has gone.
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            stream.write_all(head.as_bytes()).unwrap();
            while !part.is_empty() && stream.write_all(part.as_bytes()).is_ok() {
                std::thread::sleep(pause);
            }
            // A silent server waits for more to be asked.
            while stream.read(&mut [0; 512]).is_ok_and(|n| n > 0) {}
        });
        let begin = Instant::now();
        let said = exchange(&url, Duration::from_millis(300), largest).unwrap_err().to_string();
        let took = begin.elapsed();
        server.join().unwrap();
        (said, took)
    }

    #[test]
    fn an_exchange_has_an_end_in_time_and_size() {
        let (slow, ok) = (Duration::from_millis(20), "HTTP/1.0 200 OK\r\n\r\n");
        for (head, part) in [("", "H"), (ok, "a"), ("HTTP/1.0 200 OK\r\n", "X: y\r\n"), (ok, "")] {
            let (said, took) = endless(head, part, slow, LARGEST);
            assert!(said.contains("no whole page within 0.3 s"), "{said}");
            assert!(took < Duration::from_secs(8), "each part gets no time of its own: {took:?}");
        }
        let (said, _) = endless(ok, "0123456789abcdef", Duration::ZERO, 100);
        assert!(said.contains("larger than 100 bytes"), "{said}");
    }

    #[test]
    fn only_this_machine_is_read() {
        for wrong in ["http://192.0.2.1:80/", "https://127.0.0.1/", "127.0.0.1", "http://", "http://127.0.0.1:9/a b"] {
            assert!(Url::parse(wrong).is_err(), "{wrong}");
        }
        assert_eq!(Url::parse("http://127.0.0.1").unwrap().to_string(), "http://127.0.0.1/");
    }
}
