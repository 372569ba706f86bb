//! `likwid-topology` as a source.
//!
//! Problem: it is a report for people, in sections between lines of dashes. Sizes are rounded to a unit that it likes.
//! Approach: the lines `Key: value` count, the table below `HWThread`, and groups in parentheses. A cache level begins
//! with `Level:`, a node with `Domain:`.
//! Units of the text: kB, MB and GB of 1024.

use super::found::{Found, FoundNode, Sharing};
use crate::machine::{cpulist, size, MAX_CPUS, MAX_NODES};
use crate::spec::{clip, SpecError};
use std::collections::{BTreeMap, BTreeSet};

const EXPECTED: &str = "the output of `likwid-topology`";

/// Whether a line is one by which the output is known.
pub(super) fn is_sign(line: &str) -> bool {
    let mut words = line.split_whitespace();
    words.next() == Some("HWThread") && words.any(|w| w == "Socket")
}

/// A row of the table: core and socket of a CPU, and whether it may be used.
struct Row {
    cpu: u32,
    core: u32,
    socket: u32,
    available: bool,
}

#[derive(Default)]
struct Text {
    rows: Vec<Row>,
    /// Sizes and groups of CPUs of the caches by their level.
    caches: BTreeMap<u32, (Option<u64>, Vec<Vec<u32>>)>,
    nodes: Vec<FoundNode>,
    distances: Vec<Vec<u64>>,
    fields: BTreeMap<String, String>,
}

/// Reads the output of `likwid-topology`.
///
/// # Errors
/// See [`super::text`].
pub(super) fn read(file: &str, text: &str) -> Result<Found, SpecError> {
    let mut all = Text::default();
    let mut columns: Vec<String> = Vec::new();
    let mut level = 0;
    for (n, line) in text.lines().enumerate() {
        let wrong = |what: String| SpecError { line: n + 1, column: 1, ..SpecError::plain(file, what, EXPECTED) };
        if is_sign(line) {
            columns = line.split_whitespace().map(str::to_ascii_lowercase).collect();
            continue;
        }
        if let Some(row) = row(&columns, line).map_err(wrong)? {
            all.rows.push(row);
        } else if let Some((key, value)) = line.split_once(':') {
            let (key, value) = (key.trim(), value.trim());
            let number = |value: &str| value.parse::<u32>().map_err(|_| wrong(format!("`{key}` is `{}`", clip(value))));
            match key {
                "Level" => level = number(value)?,
                "Size" => all.caches.entry(level).or_default().0 = bytes(value),
                "Cache groups" => all.caches.entry(level).or_default().1 = groups(value).map_err(wrong)?,
                "Domain" => all.nodes.push(FoundNode { id: number(value)?, ..FoundNode::default() }),
                "Processors" => all.node().cpus = groups(value).map_err(wrong)?.concat(),
                "Distances" => {
                    let row: Result<Vec<u64>, _> = value.split_whitespace().map(str::parse).collect();
                    all.distances.push(row.map_err(|_| wrong(format!("distances `{}`", clip(value))))?);
                }
                "Total memory" => all.node().memory_bytes = bytes(value),
                _ => {
                    all.fields.entry(key.to_string()).or_insert_with(|| value.to_string());
                }
            }
        }
        if all.rows.len() > MAX_CPUS || all.nodes.len() > MAX_NODES {
            return Err(wrong(format!("more than {MAX_CPUS} CPUs or {MAX_NODES} nodes")));
        }
    }
    all.found(file)
}

/// A row of the table; `None` for any other line.
fn row(columns: &[String], line: &str) -> Result<Option<Row>, String> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let is_id = |w: &&str| w.bytes().all(|b| b.is_ascii_digit());
    if columns.is_empty() || words.len() + 1 < columns.len() || !words[..words.len().min(4)].iter().all(is_id) {
        return Ok(None);
    }
    let id = |name: &str| {
        let word = columns.iter().position(|c| c == name).and_then(|at| words.get(at));
        let id = word.and_then(|w| w.parse::<u32>().ok()).filter(|id| *id <= cpulist::MAX_ID);
        id.ok_or_else(|| format!("a row without {name}"))
    };
    let available = !columns.iter().any(|c| c == "available") || words.contains(&"*");
    Ok(Some(Row { cpu: id("hwthread")?, core: id("core")?, socket: id("socket")?, available }))
}

/// Groups of CPUs: `( 0 2 ) ( 1 3 )`.
fn groups(text: &str) -> Result<Vec<Vec<u32>>, String> {
    let ids = |group: &str| {
        let all: Option<Vec<u32>> = group
            .split([' ', '\t', ','])
            .filter(|w| !w.is_empty())
            .map(|w| w.parse().ok().filter(|id| *id <= cpulist::MAX_ID))
            .collect();
        let mut all = all.ok_or_else(|| format!("CPUs `{}`", clip(group)))?;
        all.sort_unstable();
        Ok(all)
    };
    text.split('(').skip(1).map(|part| ids(part.split(')').next().unwrap_or_default())).collect()
}

/// A size such as `16746.2 MB` or `48 kB`, in bytes.
fn bytes(text: &str) -> Option<u64> {
    let (number, unit) = text.trim().split_once(' ')?;
    let scale = match unit.trim().to_ascii_lowercase().as_str() {
        "kb" => 1024.0,
        "mb" => 1_048_576.0,
        "gb" => 1_073_741_824.0,
        _ => return None,
    };
    let bytes = number.parse::<f64>().ok()? * scale;
    (0.0..=size::MAX_BYTES as f64).contains(&bytes).then_some(bytes.round() as u64)
}

impl Text {
    /// The node whose lines these are.
    fn node(&mut self) -> &mut FoundNode {
        if self.nodes.is_empty() {
            self.nodes.push(FoundNode::default());
        }
        let last = self.nodes.len() - 1;
        &mut self.nodes[last]
    }

    fn found(self, file: &str) -> Result<Found, SpecError> {
        if self.rows.is_empty() {
            return Err(SpecError::plain(file, "no table of hardware threads", EXPECTED));
        }
        let mut found = Found { source: "likwid-topology".into(), file: file.into(), ..Found::default() };
        let on: BTreeMap<u32, &Row> = self.rows.iter().filter(|r| r.available).map(|r| (r.cpu, r)).collect();
        let hidden: Vec<u32> = self.rows.iter().filter(|r| !r.available).map(|r| r.cpu).collect();
        let last = self.caches.iter().next_back().filter(|(level, _)| **level > 1);
        let llc_of = |cpu: &u32| last.and_then(|(_, (_, groups))| groups.iter().find(|g| g.contains(cpu)));
        for (cpu, row) in &on {
            let twin = |r: &&&Row| (r.core, r.socket) == (row.core, row.socket);
            let core = on.values().filter(twin).map(|r| r.cpu).collect::<Vec<u32>>().into();
            let llc = llc_of(cpu).cloned().unwrap_or_default().into();
            let llc_bytes = last.and_then(|(_, (bytes, _))| *bytes);
            found.sharing.insert(*cpu, Sharing { core, llc, llc_bytes, package: Some(row.socket) });
        }
        found.l2_bytes = self.caches.get(&2).and_then(|(bytes, _)| *bytes);
        found.nodes = self.nodes;
        if found.nodes.is_empty() {
            found.nodes.push(FoundNode { cpus: on.keys().copied().collect(), ..FoundNode::default() });
        }
        let rows = self.distances;
        let ids: Vec<u32> = found.nodes.iter().map(|n| n.id).collect();
        for node in &mut found.nodes {
            node.cpus.retain(|c| on.contains_key(c));
            let packages: BTreeSet<u32> = node.cpus.iter().filter_map(|c| on.get(c)).map(|r| r.socket).collect();
            node.packages = packages.into_iter().collect();
        }
        found.settle_nodes()?;
        found.distance = distances(file, &ids, &rows)?;
        let number = |key: &str| self.fields.get(key).and_then(|v| v.parse::<usize>().ok());
        let d = &mut found.declared;
        (d.packages, d.nodes) = (number("Sockets"), number("NUMA domains"));
        (d.cores_per_package, d.threads_per_core) = (number("Cores per socket"), number("Threads per core"));
        d.online = Some(on.keys().copied().collect());
        d.offline.clone_from(&hidden);
        found.model = self.fields.get("CPU name").cloned();
        if !hidden.is_empty() {
            found.notes.push(format!("CPU {} is not available and left out", cpulist::format(&hidden)));
        }
        if found.nodes.iter().any(|n| n.memory_bytes.is_some()) {
            found.notes.push("sizes of memory and caches as rounded by likwid".into());
        }
        Ok(found)
    }
}

/// Distances in ascending order of node id, `None` if there are none.
fn distances(file: &str, ids: &[u32], rows: &[Vec<u64>]) -> Result<Option<Vec<Vec<Option<u8>>>>, SpecError> {
    if rows.len() != ids.len() {
        return Ok(None);
    }
    let mut order: Vec<usize> = (0..ids.len()).collect();
    order.sort_by_key(|&i| ids[i]);
    let bad = |why: String| SpecError::plain(file, why, "a distance of 10 to 254 for each NUMA domain");
    let cell = |i: usize, j: usize| {
        let value = rows[i].get(j).ok_or_else(|| bad(format!("{} distances of node {}", rows[i].len(), ids[i])))?;
        Found::distance_value(*value, ids[i], ids[j]).map_err(bad)
    };
    order.iter().map(|&i| order.iter().map(|&j| cell(i, j)).collect()).collect::<Result<Vec<Vec<_>>, _>>().map(Some)
}
