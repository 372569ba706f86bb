//! `numactl -H` (`--hardware`) as a source.
//!
//! Problem: people paste this output into bug reports, with the shell's prompt, other text around it, quoted, wrapped
//! or cut. It has CPUs, sizes and distances, but neither caches nor siblings.
//! Approach: the text is read line by line. Lines that begin as the output's do must be right; all others are passed
//! over. Ids may be sparse; a node may have no CPUs or no memory. Siblings are assumed only if every node lists two
//! runs of CPUs of equal length one stride apart, as two-way SMT machines number threads.
//! Units of the text: MB of 2^20 bytes.

use super::found::{Found, FoundNode};
use super::siblings::{self, Numbering};
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

/// Distances of a node with the lines that they are on.
type Row<'a> = Vec<(Line<'a>, &'a str)>;

/// What the text states, with the line of each row of distances.
#[derive(Default)]
struct Text<'a> {
    announced: Option<(Line<'a>, &'a str)>,
    nodes: BTreeMap<u32, FoundNode>,
    columns: Option<Vec<u32>>,
    rows: BTreeMap<u32, (Line<'a>, Row<'a>)>,
    /// Free memory of nodes, bytes.
    free: BTreeMap<u32, u64>,
}

/// Reads the output of `numactl -H`.
///
/// # Errors
/// See [`super::numactl`].
pub(super) fn read(file: &str, text: &str) -> Result<Found, SpecError> {
    let mut t = Text::default();
    let (mut in_matrix, mut last, mut wrapped) = (false, None, None);
    for (n, line) in text.lines().enumerate() {
        let line = Line { file, number: n + 1, text: line };
        let trimmed = unquoted(line.text);
        let (id, row) = (last.take(), wrapped.take());
        if trimmed.starts_with("available:") && t.announced.is_none() && t.nodes.is_empty() {
            t.announced = Some((line, trimmed["available:".len()..].trim()));
        } else if trimmed == "node distances:" {
            in_matrix = true;
        } else if in_matrix && is_matrix_line(trimmed) && t.rows.len() < MAX_NODES {
            wrapped = Some(t.matrix_line(line, trimmed)?);
        } else if let Some(row) = row.filter(|row| is_ids(trimmed) && !t.is_complete(*row)) {
            t.matrix_rest(line, trimmed, row)?;
            wrapped = Some(row);
        } else if !in_matrix && is_node_line(trimmed) {
            last = t.node_line(line, trimmed)?;
        } else if let Some(node) = id.and_then(|id| t.nodes.get_mut(&id)).filter(|_| is_ids(trimmed)) {
            // A line of CPUs that was wrapped.
            node.cpus.extend(cpus(line, trimmed)?);
            last = id;
        }
    }
    if t.nodes.is_empty() {
        return Err(SpecError { line: 1, column: 1, ..SpecError::plain(file, "no `node N cpus:` line", EXPECTED) });
    }
    t.check_announced()?;
    let distance = t.distances()?;
    let missing = t.missing_rows();
    let (announced, overfull) = (t.announced_ids(), t.overfull());
    let nodes: Vec<FoundNode> = t.nodes.into_values().collect();
    let mut found = Found { source: "numactl -H".into(), file: file.into(), nodes, ..Found::default() };
    found.settle_nodes()?;
    found.distance = distance;
    (found.declared.nodes, found.declared.node_ids) = announced;
    found.notes.extend(missing);
    overfull.into_iter().for_each(|what| found.doubt(what));
    found.cache_notes.push("one last-level cache for each node".into());
    siblings::assume(&mut found, None, None, Numbering::Unknown);
    Ok(found)
}

/// A line without white space and the marks of a quotation or a table around it; quotations may be in others.
fn unquoted(text: &str) -> &str {
    let mark = |c: char| c.is_whitespace() || matches!(c, '>' | '|' | '*' | '\u{feff}');
    text.trim_start_matches(mark).trim_end_matches(|c: char| c.is_whitespace() || matches!(c, '|' | '\\'))
}

/// Whether a line is one by which the output is known.
pub(super) fn is_sign(line: &str) -> bool {
    let line = unquoted(line);
    let mut words = line.split_once(':').map_or("", |(head, _)| head).split_whitespace();
    let node = words.next() == Some("node") && words.next().is_some();
    line.starts_with("available:") || (node && matches!(words.next(), Some("cpus" | "size")) && words.next().is_none())
}

/// Whether a line is one of a node: `node`, a word, and a colon at some place.
fn is_node_line(text: &str) -> bool {
    text.starts_with("node ") && text.contains(':')
}

/// Whether a line belongs to the matrix: its head, or a number and a colon.
fn is_matrix_line(text: &str) -> bool {
    let digits = |t: &str| !t.is_empty() && t.bytes().all(|b| b.is_ascii_digit());
    match text.strip_prefix("node") {
        Some(list) => list.split_whitespace().next().is_some_and(digits),
        None => text.split_once(':').is_some_and(|(id, _)| digits(id.trim())),
    }
}

/// Whether a line has ids only.
fn is_ids(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit() || matches!(b, b' ' | b'\t' | b',' | b'-'))
}

/// CPUs of a line: `0 1 2`, or ranges `0-95,192-287`.
fn cpus(line: Line, text: &str) -> Result<Vec<u32>, SpecError> {
    let mut out = Vec::new();
    for word in text.split([' ', '\t', ',']).filter(|w| !w.is_empty()) {
        let (first, last) = match word.split_once('-').filter(|(a, _)| !a.is_empty()) {
            Some((a, b)) => (a, b),
            None => (word, word),
        };
        let id = |part| line.number(part, u64::from(cpulist::MAX_ID), "a CPU id").map(|n| n as u32);
        let (first, last) = (id(first)?, id(last)?);
        if last < first || out.len() + (last - first) as usize >= MAX_CPUS {
            let expected = format!("a range that rises, and at most {MAX_CPUS} CPUs");
            return Err(line.error(word, format!("CPUs `{}`", clip(word)), &expected));
        }
        out.extend(first..=last);
    }
    Ok(out)
}

impl<'a> Text<'a> {
    /// Reads `node 0 cpus: 0 1 2`, `node 0 size: 1024 MB` or `node 0 free: 7 MB`. Returns the id of a node whose list
    /// of CPUs may go on in the next line.
    fn node_line(&mut self, line: Line<'a>, text: &'a str) -> Result<Option<u32>, SpecError> {
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
                node.cpus = cpus(line, value)?;
            }
            "size" if value.contains("not available") => {}
            "size" => {
                let (number, unit) = value.trim().split_once(' ').unwrap_or((value.trim(), ""));
                if unit.trim() != "MB" {
                    return Err(line.error(number, format!("size `{}`", clip(value.trim())), "a number and `MB`"));
                }
                node.memory_bytes = Some(line.number(number, size::MAX_BYTES >> 20, "a size in MB")? << 20);
            }
            "free" => {
                let mb = value.split_whitespace().next().and_then(|n| n.parse::<u64>().ok());
                self.free.extend(mb.and_then(|mb| mb.checked_mul(1 << 20)).map(|bytes| (id, bytes)));
            }
            other => {
                let e = line.error(other, format!("unknown key `{}`", clip(other)), "`cpus`, `size` or `free`");
                return Err(e.near(other, ["cpus", "size", "free"]));
            }
        }
        if self.nodes.len() > MAX_NODES {
            return Err(line.error(text, format!("more than {MAX_NODES} nodes"), "fewer nodes"));
        }
        Ok((key == "cpus").then_some(id))
    }

    /// Reads `node   0   1` or `  0:  10  21`. Returns the node of the row, `None` for the line of ids.
    fn matrix_line(&mut self, line: Line<'a>, text: &'a str) -> Result<Option<u32>, SpecError> {
        if let Some(list) = text.strip_prefix("node") {
            self.columns = Some(Vec::new());
            self.ids(line, list)?;
            return Ok(None);
        }
        let (row, values) =
            text.split_once(':').ok_or_else(|| line.error(text, "a line without `:`", "a row `0: 10 21`"))?;
        let row = line.number(row.trim(), u64::from(cpulist::MAX_ID), "a node id")? as u32;
        let words = values.split_whitespace().map(|w| (line, w)).collect();
        if self.rows.insert(row, (line, words)).is_some() {
            return Err(line.error(text, format!("a second row for node {row}"), "one row per node"));
        }
        Ok(Some(row))
    }

    /// Adds node ids to those of the columns.
    fn ids(&mut self, line: Line<'a>, text: &'a str) -> Result<(), SpecError> {
        let columns = self.columns.get_or_insert_default();
        for word in text.split_whitespace() {
            let id = line.number(word, u64::from(cpulist::MAX_ID), "a node id")? as u32;
            if columns.contains(&id) {
                return Err(line.error(word, format!("a second column for node {id}"), "one column per node"));
            }
            columns.push(id);
        }
        Ok(())
    }

    /// Whether a row has all its distances. The line of ids may have more until the first row.
    fn is_complete(&self, row: Option<u32>) -> bool {
        let columns = self.columns.as_ref().map_or(0, Vec::len);
        match row.and_then(|row| self.rows.get(&row)) {
            Some((_, words)) => words.len() >= columns,
            None => columns >= MAX_NODES,
        }
    }

    /// Reads the rest of a line of the matrix that was wrapped.
    fn matrix_rest(&mut self, line: Line<'a>, text: &'a str, row: Option<u32>) -> Result<(), SpecError> {
        if let Some((_, words)) = row.and_then(|row| self.rows.get_mut(&row)) {
            words.extend(text.split_whitespace().map(|w| (line, w)));
        } else {
            self.ids(line, text)?;
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

    /// Number and ids of `available: 2 nodes (0-1)`.
    fn announced_ids(&self) -> (Option<usize>, Option<Vec<u32>>) {
        let Some((_, text)) = self.announced else { return (None, None) };
        let ids = text.split_once('(').and_then(|(_, rest)| rest.split_once(')'));
        let count = text.split_whitespace().next().and_then(|n| n.parse().ok());
        (count, ids.and_then(|(list, _)| cpulist::parse(list.trim()).ok()))
    }

    /// Nodes with more free memory than memory.
    fn overfull(&self) -> Vec<String> {
        let more = |(id, free): (&u32, &u64)| {
            let bytes = self.nodes.get(id)?.memory_bytes?;
            let (has, free) = (size::short(bytes), (*free > bytes).then(|| size::short(*free))?);
            Some(format!("node {id} has {has} of memory, of which {free} are free"))
        };
        self.free.iter().filter_map(more).collect()
    }

    /// The distances in ascending order of node id, `None` if the text has no matrix. Rows and columns that are missing
    /// tell nothing.
    fn distances(&self) -> Result<Option<Vec<Vec<Option<u8>>>>, SpecError> {
        let Some(columns) = &self.columns else {
            return match self.rows.values().next() {
                None => Ok(None),
                Some((line, _)) => Err(line.error(line.text, "a row before the line of node ids", "`node   0   1`")),
            };
        };
        let place = |to: u32| columns.iter().position(|&c| c == to);
        let places: Vec<Option<usize>> = self.nodes.keys().map(|to| place(*to)).collect();
        let mut out = Vec::new();
        for &from in self.nodes.keys() {
            let Some((line, words)) = self.rows.get(&from) else {
                out.push(vec![None; self.nodes.len()]);
                continue;
            };
            if words.len() != columns.len() {
                let what = format!("{} distances for {} nodes", words.len(), columns.len());
                return Err(line.error(line.text, what, "one distance for each node of the line above"));
            }
            let mut row = Vec::new();
            for (&to, column) in self.nodes.keys().zip(&places) {
                let Some(c) = *column else {
                    row.push(None);
                    continue;
                };
                let (line, word) = words[c];
                let value = line.number(word, u64::from(u32::MAX), "a distance")?;
                let distance = Found::distance_value(value, from, to);
                row.push(distance.map_err(|why| line.error(word, why, "10 to 254"))?);
            }
            out.push(row);
        }
        Ok(out.iter().flatten().any(Option::is_some).then_some(out))
    }

    /// The nodes without a row of distances in a text that has some.
    fn missing_rows(&self) -> Option<String> {
        let missing: Vec<u32> = self.nodes.keys().copied().filter(|n| !self.rows.contains_key(n)).collect();
        let some = self.columns.is_some() && !self.rows.is_empty() && !missing.is_empty();
        some.then(|| format!("the source has no row of distances for node {}", cpulist::format(&missing)))
    }
}
