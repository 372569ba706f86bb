//! `numactl -H` (`--hardware`) as a source.
//!
//! Problem: people paste this output into bug reports. It has CPUs, sizes and distances, but neither caches nor
//! siblings.
//! Approach: the text is read line by line. Ids may be sparse; a node may have no CPUs or no memory. Siblings are
//! assumed only if every node lists two runs of CPUs of equal length one stride apart, as two-way SMT machines number
//! threads.
//! Units of the text: MB of 2^20 bytes.

use super::found::{Found, FoundNode, Sharing};
use crate::machine::{cpulist, size, MAX_CPUS, MAX_NODES};
use crate::spec::{clip, SpecError};
use std::collections::BTreeMap;

const EXPECTED: &str = "output of `numactl -H`";

/// A line with its number, for messages.
#[derive(Clone, Copy)]
struct Line<'a> {
    file: &'a str,
    number: usize,
    text: &'a str,
}

impl Line<'_> {
    /// An error at `part`, which must be a slice of this line.
    fn error(&self, part: &str, what: impl Into<String>, expected: &str) -> SpecError {
        let offset = (part.as_ptr() as usize).saturating_sub(self.text.as_ptr() as usize);
        let before = self.text.get(..offset).map_or(0, |t| t.chars().count());
        let at = SpecError::plain(self.file, what, expected);
        SpecError { line: self.number, column: before + 1, ..at }
    }

    /// A whole number of at most `most`.
    fn number(&self, part: &str, most: u64, what: &str) -> Result<u64, SpecError> {
        let plain = !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
        match part.parse::<u64>() {
            Ok(n) if plain && n <= most => Ok(n),
            _ => {
                let wrong = format!("`{}` is not {what}", clip(part));
                Err(self.error(part, wrong, &format!("a whole number from 0 to {most}")))
            }
        }
    }
}

/// What the text states, with the line of each row of distances.
#[derive(Default)]
struct Text<'a> {
    announced: Option<(Line<'a>, &'a str)>,
    nodes: BTreeMap<u32, FoundNode>,
    columns: Option<(Line<'a>, Vec<u32>)>,
    rows: BTreeMap<u32, (Line<'a>, Vec<&'a str>)>,
}

/// Reads the output of `numactl -H`.
///
/// # Errors
/// See [`super::numactl`].
pub(super) fn read(file: &str, text: &str) -> Result<Found, SpecError> {
    let mut t = Text::default();
    let mut in_matrix = false;
    for (n, line) in text.lines().enumerate() {
        let line = Line { file, number: n + 1, text: line };
        let trimmed = line.text.trim();
        if let Some(announced) = trimmed.strip_prefix("available:") {
            t.announced = Some((line, announced.trim()));
        }
        if trimmed.is_empty() || trimmed.starts_with("available:") || trimmed.starts_with("No distance information") {
            continue;
        }
        if trimmed == "node distances:" {
            in_matrix = true;
        } else if in_matrix {
            t.matrix_line(line, trimmed)?;
        } else {
            t.node_line(line, trimmed)?;
        }
    }
    if t.nodes.is_empty() {
        return Err(SpecError { line: 1, column: 1, ..SpecError::plain(file, "no `node N cpus:` line", EXPECTED) });
    }
    t.check_announced()?;
    let distance = t.distances(file)?;
    let nodes: Vec<FoundNode> = t.nodes.into_values().collect();
    let mut found = Found { source: "numactl -H".into(), file: file.into(), nodes, ..Found::default() };
    found.settle_nodes()?;
    found.distance = distance;
    found.notes.push("one last-level cache for each node, one socket for each node with CPUs".into());
    siblings(&mut found);
    Ok(found)
}

impl<'a> Text<'a> {
    /// Reads `node 0 cpus: 0 1 2`, `node 0 size: 1024 MB` or `node 0 free: 7 MB`.
    fn node_line(&mut self, line: Line<'a>, text: &'a str) -> Result<(), SpecError> {
        let (head, value) = text.split_once(':').ok_or_else(|| line.error(text, "a line without `:`", EXPECTED))?;
        let words: Vec<&str> = head.split_whitespace().collect();
        let ["node", id, key] = words[..] else {
            return Err(line.error(
                text,
                format!("`{}`", clip(head)),
                "`node N cpus:`, `node N size:` or `node distances:`",
            ));
        };
        let id = line.number(id, u64::from(cpulist::MAX_ID), "a node id")? as u32;
        let fresh = FoundNode { id, ..FoundNode::default() };
        let node = self.nodes.entry(id).or_insert(fresh);
        match key {
            "cpus" if !node.cpus.is_empty() => {
                return Err(line.error(text, format!("node {id} lists its CPUs twice"), "one `cpus` line per node"));
            }
            "cpus" => {
                for word in value.split_whitespace() {
                    node.cpus.push(line.number(word, u64::from(cpulist::MAX_ID), "a CPU id")? as u32);
                }
                if node.cpus.len() > MAX_CPUS {
                    return Err(line.error(text, format!("{} CPUs", node.cpus.len()), &format!("at most {MAX_CPUS}")));
                }
            }
            "size" => {
                let (number, unit) = value.trim().split_once(' ').unwrap_or((value.trim(), ""));
                if unit.trim() != "MB" {
                    return Err(line.error(number, format!("size `{}`", clip(value.trim())), "a number and `MB`"));
                }
                node.memory_bytes = Some(line.number(number, size::MAX_BYTES >> 20, "a size in MB")? << 20);
            }
            "free" => {}
            other => {
                let e = line.error(other, format!("unknown key `{}`", clip(other)), "`cpus`, `size` or `free`");
                return Err(e.near(other, ["cpus", "size", "free"]));
            }
        }
        if self.nodes.len() > MAX_NODES {
            return Err(line.error(text, format!("more than {MAX_NODES} nodes"), "fewer nodes"));
        }
        Ok(())
    }

    /// Reads `node   0   1` or `  0:  10  21`.
    fn matrix_line(&mut self, line: Line<'a>, text: &'a str) -> Result<(), SpecError> {
        let id = |word| line.number(word, u64::from(cpulist::MAX_ID), "a node id").map(|n| n as u32);
        if let Some(list) = text.strip_prefix("node") {
            self.columns = Some((line, list.split_whitespace().map(id).collect::<Result<_, _>>()?));
            return Ok(());
        }
        let (row, values) =
            text.split_once(':').ok_or_else(|| line.error(text, "a line without `:`", "a row `0: 10 21`"))?;
        let row = id(row.trim())?;
        if self.rows.insert(row, (line, values.split_whitespace().collect())).is_some() {
            return Err(line.error(text, format!("a second row for node {row}"), "one row per node"));
        }
        Ok(())
    }

    /// Compares the nodes with `available: 2 nodes (0-1)`, so that text that was cut off makes no smaller machine.
    fn check_announced(&self) -> Result<(), SpecError> {
        let Some((line, text)) = self.announced else { return Ok(()) };
        let count = text.split_whitespace().next().unwrap_or_default();
        let nodes = line.number(count, MAX_NODES as u64, "a number of nodes")?;
        if nodes > self.nodes.len() as u64 {
            let what = format!("{nodes} nodes, of which {} are listed below", self.nodes.len());
            return Err(line.error(count, what, "the whole output of `numactl -H`"));
        }
        Ok(())
    }

    /// The distances in ascending order of node id, `None` if the text has no matrix.
    fn distances(&self, file: &str) -> Result<Option<Vec<Vec<u8>>>, SpecError> {
        let Some((head, columns)) = &self.columns else {
            return match self.rows.values().next() {
                None => Ok(None),
                Some((line, _)) => Err(line.error(line.text, "a row before the line of node ids", "`node   0   1`")),
            };
        };
        let mut out = Vec::new();
        for &from in self.nodes.keys() {
            let Some((line, words)) = self.rows.get(&from) else {
                let what = format!("node {from} has no row of distances, so no path to any node");
                return Err(SpecError::plain(file, what, "one row per node"));
            };
            if words.len() != columns.len() {
                let what = format!("{} distances for {} nodes", words.len(), columns.len());
                return Err(line.error(line.text, what, "one distance for each node of the line above"));
            }
            let mut row = Vec::new();
            for &to in self.nodes.keys() {
                let Some(c) = columns.iter().position(|&c| c == to) else {
                    let what = format!("node {from} has no path to node {to}: no column for it");
                    return Err(head.error(head.text, what, "one column per node"));
                };
                let value = line.number(words[c], u64::from(u32::MAX), "a distance")?;
                let distance = Found::distance_value(value, from, to);
                row.push(distance.map_err(|why| line.error(words[c], why, "10 to 254"))?);
            }
            out.push(row);
        }
        Ok(Some(out))
    }
}

/// Assumes two-way SMT if every node lists two runs of equal length at one common stride.
fn siblings(found: &mut Found) {
    let mut stride = None;
    for n in found.nodes.iter().filter(|n| !n.cpus.is_empty()) {
        let half = n.cpus.len() / 2;
        let run = |r: &[u32]| r.windows(2).all(|w| w[1] == w[0] + 1);
        let (low, high) = n.cpus.split_at(half);
        let here = if half > 0 && low.len() == high.len() && run(low) && run(high) { high[0] - low[0] } else { 0 };
        if here as usize <= half || stride.is_some_and(|s| s != here) {
            found.notes.push("one thread per core (the source does not tell)".into());
            return;
        }
        stride = Some(here);
    }
    let Some(stride) = stride else { return };
    found.siblings_assumed = true;
    found.notes.push(format!("two threads per core, CPU c and c + {stride}: every node lists two runs that far apart"));
    for n in &found.nodes {
        for &cpu in &n.cpus[..n.cpus.len() / 2] {
            let core = vec![cpu, cpu + stride];
            for c in [cpu, cpu + stride] {
                found.sharing.insert(c, Sharing { core: core.clone(), ..Sharing::default() });
            }
        }
    }
}
