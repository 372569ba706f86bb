//! `turbostat --show CPU,Node` as a source, with whatever further columns it has.
//!
//! Problem: lines of the whole machine and of each core stand between those of CPUs, and columns are the user's choice.
//! Approach: the head names the columns. A line counts if its column `CPU` is a number; each CPU counts once.

use super::found::{Found, FoundNode, Sharing};
use crate::machine::{cpulist, MAX_NODES};
use crate::spec::SpecError;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Columns that say where a CPU is; a head has `CPU` and one of the others.
const PLACES: [&str; 4] = ["Package", "Die", "Node", "Core"];

/// Whether a line is the head of the table.
pub(super) fn is_head(line: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().collect();
    words.contains(&"CPU") && words.iter().any(|w| PLACES.contains(w)) && !words.contains(&"SOCKET")
}

/// Reads the output of turbostat.
///
/// # Errors
/// No line has a CPU, or a CPU is in two nodes.
pub(super) fn read(file: &str, text: &str) -> Result<Found, SpecError> {
    let mut columns: Vec<&str> = Vec::new();
    let mut places: BTreeMap<u32, [Option<u32>; 3]> = BTreeMap::new();
    for line in text.lines() {
        if is_head(line) {
            columns = line.split_whitespace().collect();
            continue;
        }
        let words: Vec<&str> = line.split_whitespace().collect();
        // Lines of whole cores have fewer columns of counters, but the same first ones.
        let id = |name: &str| {
            let word = columns.iter().position(|c| *c == name).and_then(|at| words.get(at));
            word.and_then(|w| w.parse::<u32>().ok()).filter(|id| *id <= cpulist::MAX_ID)
        };
        if let Some(cpu) = id("CPU") {
            places.entry(cpu).or_insert([id("Node"), id("Package"), id("Core")]);
        }
    }
    if places.is_empty() {
        return Err(SpecError::plain(
            file,
            "no line of a CPU",
            "the output of `turbostat --show CPU,Node,Core,Package`",
        ));
    }
    let mut found = Found { source: "turbostat".into(), file: file.into(), ..Found::default() };
    let mut nodes: BTreeMap<u32, (Vec<u32>, BTreeSet<u32>)> = BTreeMap::new();
    for (&cpu, &[node, package, core]) in &places {
        let home = nodes.entry(node.unwrap_or(0)).or_default();
        home.0.push(cpu);
        home.1.extend(package);
        let twin = |(_, other): &(&u32, &[Option<u32>; 3])| **other == [node, package, core];
        let core = if core.is_some() { places.iter().filter(twin).map(|(c, _)| *c).collect() } else { Vec::new() };
        let core = Arc::new(core);
        found.sharing.insert(cpu, Sharing { core, package, ..Sharing::default() });
    }
    if nodes.len() > MAX_NODES {
        return Err(SpecError::plain(file, format!("{} nodes", nodes.len()), format!("at most {MAX_NODES}")));
    }
    if !columns.contains(&"Node") {
        found.notes.push("a single node (no column Node)".into());
    }
    if !columns.contains(&"Core") {
        found.sibling_notes.push("one thread per core (no column Core)".into());
    }
    found.cache_notes.push("one last-level cache for each node".into());
    found.nodes = nodes
        .into_iter()
        .map(|(id, (cpus, packages))| FoundNode {
            id,
            cpus,
            packages: packages.into_iter().collect(),
            ..FoundNode::default()
        })
        .collect();
    found.settle_nodes()?;
    Ok(found)
}
