//! A frame as text.

use super::frame::{Frame, NumaWork, ProcessFrame};
use numalab_base::visible_text::visible;
use std::fmt::Write as _;

/// Bytes in a binary unit, in at most six characters.
pub fn bytes(n: u64) -> String {
    let units = ["B", "K", "M", "G", "T", "P"];
    let mut value = n as f64;
    let mut unit = 0;
    while value >= 1000.0 && unit + 1 < units.len() {
        value /= 1024.0;
        unit += 1;
    }
    match unit {
        0 => format!("{n}B"),
        _ if value < 10.0 => format!("{value:.1}{}", units[unit]),
        _ => format!("{value:.0}{}", units[unit]),
    }
}

/// A share in percent; `-` for none.
pub fn percent(share: Option<f64>) -> String {
    share.map_or("-".into(), |s| format!("{:.0}%", s * 100.0))
}

/// A rate; `-` for none.
pub fn rate(value: Option<f64>) -> String {
    value.map_or("-".into(), |v| if v < 9.95 && v != v.round() { format!("{v:.1}") } else { format!("{v:.0}") })
}

/// The longest scan of an interval; `-` if scans are not timed.
pub fn longest(work: Option<NumaWork>) -> String {
    match work {
        None => "-".into(),
        Some(w) if w.calls_per_s == 0.0 => "0".into(),
        Some(w) if w.longest_ms < 99.95 => format!("{:.1}ms", w.longest_ms),
        Some(w) => format!("{:.0}ms", w.longest_ms),
    }
}

/// The mode of the kernel's balancing in words.
pub fn balancing(mode: Option<u32>) -> String {
    match mode {
        None => "none in this kernel".into(),
        Some(0) => "off".into(),
        Some(1) => "on".into(),
        Some(2) => "tiering (2)".into(),
        Some(n) => format!("mode {n}"),
    }
}

/// One line about the kernel's balancing.
pub fn kernel_line(f: &Frame) -> String {
    let k = &f.kernel;
    format!(
        "kernel balancing {}: {} entries marked, {} faults ({} local), {} pages moved per second; {} moved by anything",
        balancing(k.balancing),
        rate(Some(k.pte_updates_per_s)),
        rate(Some(k.hint_faults_per_s)),
        percent(k.local_faults_share),
        rate(Some(k.pages_migrated_per_s)),
        rate(Some(k.all_migrated_per_s)),
    )
}

/// Memory of a process on each node, one after the other.
pub fn memory(p: &ProcessFrame, nodes: usize) -> Vec<String> {
    match &p.bytes_by_node {
        Some(b) => b.iter().map(|&n| bytes(n)).collect(),
        None => vec!["?".into(); nodes],
    }
}

/// The frame for people; at most `most` processes, with their busiest threads if `threads` is set.
pub fn write(f: &Frame, most: usize, threads: bool) -> String {
    let mut out = String::new();
    // Writing to a String cannot fail.
    let _ = writeln!(
        out,
        "{:<6}{:>5}{:>8}{:>8}{:>8}{:>8}{:>9}{:>7}{:>8}{:>6}",
        "NODE", "CPUS", "BUSY", "TOTAL", "FREE", "SCOPE", "ALLOC/s", "LOCAL", "GB/s", "NEAR"
    );
    for n in &f.nodes {
        let _ = writeln!(
            out,
            "{:<6}{:>5}{:>8.2}{:>8}{:>8}{:>8}{:>9}{:>7}{:>8}{:>6}",
            n.id,
            n.cpus,
            n.busy_cpus,
            bytes(n.total_bytes),
            bytes(n.free_bytes),
            bytes(n.scope_bytes),
            rate(Some(n.allocations_per_s)),
            percent(n.local_share),
            rate(n.traffic_gbps),
            percent(n.local_traffic_share)
        );
    }
    let _ = writeln!(out, "{}\n", kernel_line(f));
    let _ = write!(out, "{:>8}{:>7}{:>8}{:>7}{:>8}", "PID", "BUSY", "THREADS", "LOCAL", "SCAN");
    f.nodes.iter().for_each(|n| {
        let _ = write!(out, "{:>8}", format!("MEM{}", n.id));
    });
    let _ = writeln!(out, "  COMMAND");
    for p in f.processes.iter().take(most) {
        let (local, scan) = (percent(p.local_share), longest(p.numa_work));
        let _ = write!(out, "{:>8}{:>7.2}{:>8}{local:>7}{scan:>8}", p.pid, p.busy_cpus, p.threads);
        memory(p, f.nodes.len()).iter().for_each(|m| {
            let _ = write!(out, "{m:>8}");
        });
        let _ = writeln!(out, "  {}", visible(&p.command).chars().take(60).collect::<String>());
        for t in p.tasks.iter().take(if threads { 16 } else { 0 }) {
            let node = |n: Option<u32>| n.map_or("-".into(), |n| n.to_string());
            let _ = writeln!(
                out,
                "{:>8}{:>7.2}  on node {} (CPU {}), prefers {}, {} local, {} faults/s, {} moved/s, blocked {}, scan {}  {}",
                t.tid,
                t.busy_cpus,
                node(t.node),
                t.cpu,
                node(t.preferred_node),
                percent(t.local_share),
                rate(t.faults_per_s),
                rate(t.migrated_per_s),
                percent(t.blocked_share),
                longest(t.numa_work),
                visible(&t.name)
            );
        }
    }
    if f.processes.len() > most {
        let _ = writeln!(out, "{:>8} more processes", f.processes.len() - most);
    }
    for m in &f.missing {
        let _ = writeln!(out, "missing: {m}");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::frame::tests::frame;
    use super::*;

    #[test]
    fn figures_are_short() {
        let all = [0, 999, 1024, 10 << 20, 1 << 30, 999 << 30, u64::MAX].map(bytes);
        assert_eq!(all, ["0B", "999B", "1.0K", "10M", "1.0G", "999G", "16384P"]);
        assert_eq!(
            (rate(Some(2.25)), rate(Some(3.0)), rate(Some(1234.5)), rate(None)),
            ("2.2".into(), "3".into(), "1234".into(), "-".into())
        );
        assert_eq!(percent(Some(0.375)), "38%");
    }

    #[test]
    fn the_text_of_a_frame() {
        let text = write(&frame(), 1, true);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "NODE   CPUS    BUSY   TOTAL    FREE   SCOPE  ALLOC/s  LOCAL    GB/s  NEAR");
        assert_eq!(lines[2], "1         1    0.75    1.0G    512M    1.1M      400    75%     1.5     -");
        assert_eq!(
            lines[3],
            "kernel balancing on: 0 entries marked, 40 faults (25% local), 30 pages moved per second; 0 moved by anything"
        );
        assert_eq!(lines[6], "       7   1.00       2    38%   2.4ms    3.0M    1.0M  /bin/db -x");
        assert!(lines[7].contains("on node 1 (CPU 1), prefers 1, 25% local, 75 faults/s"), "{}", lines[7]);
        assert!(lines[7].contains("scan 2.4ms  db") && lines[8].contains("scan 0  db"), "{text}");
        assert!(text.contains("1 more processes\n") && text.contains("missing: "), "{text}");
    }
}
