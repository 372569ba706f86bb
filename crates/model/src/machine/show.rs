//! `numalab machine show`: a machine as text.
//!
//! Problem: people must see at a glance where CPUs, caches and memory are and how far apart, for 2 nodes as for 32, on
//! a terminal of 72 columns or more.
//! Approach: each socket is a box with its nodes and LLCs in compact ranges. A matrix is printed with its values if it
//! fits, or with one letter for each distinct value.
//! Invariant: the text depends on the machine and the width alone. No line is longer than the width, except for a
//! single longer word.

use super::{cpulist, size};
use super::{Link, Machine, Node};
use std::fmt::Write;

/// Narrowest and widest drawing, columns: what stands of a node in one line, and what an eye takes in.
const NARROWEST: usize = 72;
const WIDEST: usize = 100;

/// Most nodes for which matrices are drawn.
const MAX_DRAWN: usize = 48;

/// A drawing in progress: its text, and how wide it is, columns.
struct Drawing {
    text: String,
    width: usize,
}

impl Drawing {
    fn push(&mut self, c: char) {
        self.text.push(c);
    }
}

impl Write for Drawing {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        self.text.write_str(text)
    }
}

/// Draws a machine: sockets, nodes, LLCs and CPUs, distances, latencies, links, warnings. Ends with a newline. `width`
/// is that of the terminal, columns; the drawing has 72 to 100 of them.
pub fn show(m: &Machine, width: usize) -> String {
    let mut out = Drawing { text: String::new(), width: width.clamp(NARROWEST, WIDEST) };
    head(m, &mut out);
    // One width for the whole machine, so that the columns of all nodes line up.
    let widest = (0..m.llcs.len()).map(|l| llc(m, l).len()).max().unwrap_or(0) + 3;
    m.socket_groups().iter().for_each(|s| sockets(m, s, widest, &mut out));
    matrices(m, &mut out);
    links(m, &mut out);
    figures(m, &mut out);
    for w in &m.warnings {
        wrapped(&mut out, "warning: ", "         ", w.split(' '));
    }
    out.text
}

/// The machine as JSON for scripts: counts, ids, matrices and links, without costs.
pub fn summary(m: &Machine) -> serde_json::Value {
    let nodes: Vec<_> = m
        .nodes
        .iter()
        .map(|n| {
            serde_json::json!({
                "id": n.id, "socket": n.socket, "cpus": ids(m, &n.cpus), "memory_bytes": n.memory_bytes,
                "kind": kind(n), "tier": n.tier, "peak_gbps": n.dram_peak_gbps, "sustained_gbps": n.dram_sustained_gbps,
            })
        })
        .collect();
    let llcs: Vec<_> = m
        .llcs
        .iter()
        .enumerate()
        .map(|(i, l)| {
            serde_json::json!({
                "node": m.nodes[l.node].id, "socket": m.socket_of_llc(i), "cpus": ids(m, &l.cpus),
                "size_bytes": l.size_bytes,
            })
        })
        .collect();
    let links: Vec<_> = m
        .links
        .iter()
        .map(|l| {
            serde_json::json!({
                "name": l.name, "peak_gbps": l.peak_gbps, "sustained_gbps": l.sustained_gbps,
                "hop_ns": l.hop_latency_ns,
            })
        })
        .collect();
    serde_json::json!({
        "name": m.name, "title": m.title, "sockets": m.sockets, "cores": m.cores, "cpus": m.cpus.len(),
        "memory_bytes": m.memory_bytes(), "nodes": nodes, "llcs": llcs, "distance": m.distance,
        "hop": m.hop, "latency_ns": m.latency_ns, "links": links, "warnings": m.warnings,
    })
}

fn count(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

fn head(m: &Machine, out: &mut Drawing) {
    wrapped(out, &format!("{}: ", m.name), "  ", m.title.split(' '));
    let counts = [
        count(m.sockets, "socket"),
        count(m.nodes.len(), "node"),
        count(m.llcs.len(), "LLC"),
        count(m.cores, "core"),
        count(m.cpus.len(), "CPU"),
        size::short(m.memory_bytes()),
    ];
    let _ = writeln!(out, "{}\n", counts.join(", "));
}

fn kind(n: &Node) -> &'static str {
    n.kind.label()
}

/// A number with one decimal, which is left out if it is 0.
fn short(x: f64) -> String {
    let text = format!("{x:.1}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_string)
}

/// One line of a box.
fn boxed(out: &mut Drawing, text: &str) {
    let width = out.width - 4;
    let _ = writeln!(out, "| {text:<width$} |");
}

/// The box of a socket, or of sockets that share nodes.
fn sockets(m: &Machine, group: &[usize], widest: usize, out: &mut Drawing) {
    let ids = cpulist::format(&group.iter().map(|&s| s as u32).collect::<Vec<u32>>());
    let title = format!("+-- socket{} {ids} ", if group.len() == 1 { "" } else { "s" });
    let width = out.width - 1;
    let _ = writeln!(out, "{title:-<width$}+");
    for (i, n) in m.nodes.iter().enumerate().filter(|(_, n)| group.contains(&n.socket)) {
        node(m, i, n, widest, out);
    }
    let width = out.width - 2;
    let _ = writeln!(out, "+{:-<width$}+", "");
}

/// A node with its LLCs in cells of `widest` characters.
fn node(m: &Machine, i: usize, n: &Node, widest: usize, out: &mut Drawing) {
    let memory = if n.memory_bytes == 0 {
        "no memory".to_string()
    } else {
        let rates = (short(n.dram_sustained_gbps), short(n.dram_peak_gbps));
        format!("{} {}, {} GB/s (peak {})", size::short(n.memory_bytes), kind(n), rates.0, rates.1)
    };
    let tier = if n.tier > 0 { format!(", tier {}", n.tier) } else { String::new() };
    let llcs: Vec<usize> = (0..m.llcs.len()).filter(|&l| m.llcs[l].node == i).collect();
    let single = llcs.len() == 1;
    let cpus = if n.cpus.is_empty() { "no CPUs".to_string() } else { format!("CPUs {}", ids(m, &n.cpus)) };
    let cache =
        if single { format!("   LLC {} {}", llcs[0], size::short(m.llcs[llcs[0]].size_bytes)) } else { String::new() };
    let first = format!("node {:<4} {memory}{tier}", n.id);
    for line in fill(out.width, &format!("{first:<54} "), 10, cpus.split_inclusive(',').chain([cache.as_str()])) {
        boxed(out, &line);
    }
    if single {
        return;
    }
    let columns = ((out.width - 8) / widest).clamp(1, 4);
    for row in llcs.chunks(columns) {
        let cells: Vec<String> = row.iter().map(|&l| format!("{:<widest$}", llc(m, l))).collect();
        for line in fill(out.width, "    ", 8, cells.concat().trim_end().split_inclusive(',')) {
            boxed(out, &line);
        }
    }
}

fn llc(m: &Machine, l: usize) -> String {
    let llc = &m.llcs[l];
    let socket = m.socket_of_llc(l);
    let elsewhere = m.llcs.iter().enumerate().any(|(o, x)| x.node == llc.node && m.socket_of_llc(o) != socket);
    let place = if elsewhere { format!("  socket {socket}") } else { String::new() };
    format!("LLC {l:<3} {}{place}  {}", size::short(llc.size_bytes), ids(m, &llc.cpus))
}

fn ids(m: &Machine, cpus: &[usize]) -> String {
    cpulist::format(&cpus.iter().map(|&c| m.cpus[c].id).collect::<Vec<u32>>())
}

/// Breaks words, which carry their own separators, into lines that fit a box.
fn fill<'a>(width: usize, first: &str, indent: usize, words: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut lines = vec![first.to_string()];
    let mut fresh = true;
    for word in words {
        let last = lines.len() - 1;
        if !fresh && lines[last].len() + word.len() > width - 4 {
            lines.push(" ".repeat(indent));
        }
        let last = lines.len() - 1;
        lines[last].push_str(word);
        fresh = false;
    }
    lines
}

/// Writes words with spaces between, wrapped at the width.
fn wrapped<'a>(out: &mut Drawing, first: &str, indent: &str, words: impl Iterator<Item = &'a str>) {
    let mut line = first.to_string();
    let mut fresh = true;
    for word in words {
        if !fresh && line.len() + 1 + word.len() > out.width {
            let _ = writeln!(out, "{line}");
            line = indent.to_string();
            fresh = true;
        }
        if !fresh {
            line.push(' ');
        }
        line.push_str(word);
        fresh = false;
    }
    let _ = writeln!(out, "{line}");
}

fn matrices(m: &Machine, out: &mut Drawing) {
    let ids: Vec<u32> = m.nodes.iter().map(|n| n.id).collect();
    let distance: Vec<Vec<String>> = m.distance.iter().map(|r| r.iter().map(u8::to_string).collect()).collect();
    matrix("distance (as the kernel sees it)", &ids, &distance, out);
    let latency = |i: usize, j: usize| {
        let unused = m.nodes[i].cpus.is_empty();
        if unused {
            "-".to_string()
        } else {
            short(m.latency_ns[i][j])
        }
    };
    let n = m.nodes.len();
    let latency: Vec<Vec<String>> = (0..n).map(|i| (0..n).map(|j| latency(i, j)).collect()).collect();
    matrix("idle latency, ns (row: CPU, column: memory)", &ids, &latency, out);
}

/// A matrix with values if it fits, otherwise with a letter for each distinct value.
fn matrix(title: &str, ids: &[u32], cells: &[Vec<String>], out: &mut Drawing) {
    let mut values: Vec<&String> = cells.iter().flatten().collect();
    values.sort_by(|a, b| a.len().cmp(&b.len()).then(a.cmp(b)));
    values.dedup();
    if ids.len() > MAX_DRAWN {
        let _ = writeln!(out, "\n{title}: {} x {} values, {} different", ids.len(), ids.len(), values.len());
        return;
    }
    let label = ids.iter().map(|i| i.to_string().len()).max().unwrap_or(1);
    let widest = values.iter().map(|v| v.len()).max().unwrap_or(1).max(label) + 1;
    if 2 + label + widest * ids.len() <= out.width || values.len() > 26 {
        let _ = writeln!(out, "\n{title}");
        panels(ids, cells, (label, widest), out);
        return;
    }
    let letter = |v: &String| {
        let n = values.iter().position(|x| *x == v).unwrap_or(0);
        char::from(b'a' + n as u8).to_string()
    };
    let legend: Vec<String> = values.iter().map(|v| format!("{}={v}", letter(v))).collect();
    wrapped(out, &format!("\n{title}: "), "  ", legend.iter().map(String::as_str));
    let letters: Vec<Vec<String>> = cells.iter().map(|row| row.iter().map(letter).collect()).collect();
    panels(ids, &letters, (label, label + 1), out);
}

/// A matrix, in several blocks of columns if it is too wide.
fn panels(ids: &[u32], cells: &[Vec<String>], (label, widest): (usize, usize), out: &mut Drawing) {
    let columns = ((out.width - 2 - label) / widest).max(1);
    let all: Vec<usize> = (0..ids.len()).collect();
    for block in all.chunks(columns) {
        let head: String = block.iter().map(|&j| format!("{:>widest$}", ids[j])).collect();
        let _ = writeln!(out, "  {:label$}{head}", "");
        for (id, row) in ids.iter().zip(cells) {
            let row: String = block.iter().map(|&j| format!("{:>widest$}", row[j])).collect();
            let _ = writeln!(out, "  {id:>label$}{row}");
        }
    }
}

/// The links; links of equal figures stand together.
fn links(m: &Machine, out: &mut Drawing) {
    if m.links.is_empty() {
        if m.nodes.len() > 1 {
            out.push('\n');
            wrapped(
                out,
                "links: ",
                "  ",
                "none modelled, requests to other nodes meet no limit but the memory's".split(' '),
            );
        }
        return;
    }
    out.push('\n');
    let title = "GB/s sustained (peak) per direction, with the idle latency each hop adds";
    wrapped(out, "links, ", "  ", title.split(' '));
    let same = |a: &Link, b: &Link| {
        (a.peak_gbps, a.sustained_gbps, a.hop_latency_ns) == (b.peak_gbps, b.sustained_gbps, b.hop_latency_ns)
    };
    let mut groups: Vec<Vec<&Link>> = Vec::new();
    for l in &m.links {
        match groups.iter_mut().find(|g| same(g[0], l)) {
            Some(g) => g.push(l),
            None => groups.push(vec![l]),
        }
    }
    for g in groups {
        let (l, times) = (g[0], g.len());
        let rate = format!("{} ({})", short(l.sustained_gbps), short(l.peak_gbps));
        let first = format!("  {times:>3} x {rate:<14} {:>6} ns  ", format!("+{}", short(l.hop_latency_ns)));
        wrapped(out, &first, &" ".repeat(first.len()), g.iter().map(|l| l.name.as_str()));
    }
}

/// Clock, caches and streaming of one thread.
fn figures(m: &Machine, out: &mut Drawing) {
    let (k, c, s) = (&m.clock, &m.cache, &m.stream);
    let parts = [
        format!("clock {} GHz ({} base, {} single),", k.sustained_ghz, k.base_ghz, k.single_ghz),
        format!("L2 {} {} cycles,", size::short(c.l2_bytes), short(c.l2_cycles)),
        format!("LLC hit {} ns,", short(c.llc_latency_ns)),
        format!("one thread streams {} GB/s", short(s.cap_gbps)),
    ];
    out.push('\n');
    wrapped(out, "", "  ", parts.iter().map(String::as_str));
}
