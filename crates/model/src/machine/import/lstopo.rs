//! `lstopo` text and `lstopo --of synthetic` as sources.
//!
//! Problem: this is what people paste when they do not attach the XML. The text rounds sizes, and neither form has
//! distances.
//! Approach: a line of the text is one object or several joined by `+`; its indentation says what it stands in. A
//! synthetic description states each level once, with the number of objects in each object of the level above. Both
//! become [`Objects`].
//! Units: those of the text, of 1024 bytes; bytes in a synthetic description that names none.

use super::found::Found;
use super::objects::{kind_of, size_of, too_many, Kind, Object, Objects, MAX_OBJECTS};
use crate::machine::{cpulist, MAX_CPUS, MAX_NODES};
use crate::spec::{clip, SpecError};

const EXPECTED: &str = "the output of `lstopo`";

/// Whether a line of a text is the first line of `lstopo`'s.
pub(super) fn is_first(line: &str) -> bool {
    let line = line.trim();
    line == "Machine"
        || line.starts_with("Machine (")
        || line.starts_with("Machine L#")
        || line.starts_with("System L#")
}

/// Reads the text of `lstopo`.
///
/// # Errors
/// See [`super::lstopo`].
pub(super) fn text(file: &str, text: &str) -> Result<Found, SpecError> {
    let mut objects = Objects::default();
    let mut stack: Vec<(usize, usize)> = Vec::new();
    let mut rounded = false;
    for (n, line) in text.lines().enumerate().skip_while(|(_, l)| !is_first(l)) {
        let indent = line.chars().take_while(|c| c.is_whitespace() || matches!(c, '|' | '+' | '-' | '`')).count();
        let items: Option<Vec<Item>> = line[byte(line, indent)..].split(" + ").map(Item::parse).collect();
        // Devices, and the summary below the tree.
        let Some(items) = items else { continue };
        stack.retain(|(i, _)| *i < indent);
        let mut parent = stack.last().map(|(_, o)| *o);
        for item in items {
            if objects.all.len() >= MAX_OBJECTS {
                return Err(too_many(file, n + 1));
            }
            rounded |= item.rounded && item.kind == Kind::Node;
            let id = item.id.filter(|i| *i <= cpulist::MAX_ID).ok_or_else(|| {
                let what = format!("an id above {}", cpulist::MAX_ID);
                SpecError { line: n + 1, column: 1, ..SpecError::plain(file, what, EXPECTED) }
            })?;
            let mut object = Object::new(item.kind, parent, id);
            object.bytes = item.bytes;
            object.total_bytes = item.total;
            object.subtype = item.subtype;
            object.subtype = object.subtype.replace("MemorySideCache", "");
            parent = Some(objects.push(object));
        }
        stack.extend(parent.map(|p| (indent, p)));
    }
    let mut found = finish(objects, "lstopo", file)?;
    if rounded {
        found.notes.push("sizes of memory as rounded by lstopo; `lstopo -v` or XML has them exactly".into());
    }
    Ok(found)
}

/// Byte offset of the `chars`-th character.
fn byte(line: &str, chars: usize) -> usize {
    line.char_indices().nth(chars).map_or(line.len(), |(at, _)| at)
}

/// An object of a line: `L3 L#0 (32MB)`, `NUMANode(HBM) L#1 (P#2 16GB)`, `PU L#3 (P#17)`, `Package P#0`.
struct Item {
    kind: Kind,
    subtype: String,
    id: Option<u32>,
    bytes: Option<u64>,
    /// Size of all that is below, if the text calls it a total.
    total: Option<u64>,
    /// Whether the size has few digits.
    rounded: bool,
}

impl Item {
    fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let end = text.find([' ', '(']).unwrap_or(text.len());
        let kind = kind_of(&text[..end])?;
        let mut rest = text[end..].trim_start();
        let mut subtype = String::new();
        // `NUMANode(HBM) L#1`, but not `Machine (126GB total)`.
        if text[end..].starts_with('(') {
            let close = rest.find(')')?;
            subtype = rest[1..close].to_string();
            rest = rest[close + 1..].trim_start();
        }
        let words = rest.split(|c: char| c.is_whitespace() || matches!(c, '(' | ')')).filter(|w| !w.is_empty());
        let (mut logical, mut id, mut bytes, mut rounded) = (None, None, None, false);
        for word in words {
            let (key, value) = word.split_once('=').unwrap_or(("", word));
            if let Some(n) = value.strip_prefix("L#") {
                logical = n.parse().ok();
            } else if let Some(n) = value.strip_prefix("P#") {
                id = Some(n.parse().unwrap_or(u32::MAX));
            } else if bytes.is_none() && matches!(key, "" | "local" | "size") {
                bytes = size_of(value).filter(|_| value.contains(|c: char| c.is_ascii_alphabetic()));
                rounded = bytes.is_some() && key.is_empty();
            }
        }
        // `Machine (126GB total)`, and `total=65843684KB` of `lstopo -v`.
        let all = rest.split_once("total=").map(|(_, size)| size.split([' ', ')']).next().unwrap_or_default());
        let total = all.and_then(size_of).or(bytes.filter(|_| rest.contains(" total)")));
        Some(Self { kind, subtype, id: id.or(logical).or(Some(0)), bytes, total, rounded })
    }
}

/// The machine of the objects, which has one node of all CPUs if it has no node at all.
fn finish(mut objects: Objects, source: &str, file: &str) -> Result<Found, SpecError> {
    let count = |kind: Kind| objects.all.iter().filter(|o| o.kind == kind).count();
    let (pus, nodes) = (count(Kind::Pu), count(Kind::Node));
    if pus == 0 {
        return Err(SpecError { line: 1, column: 1, ..SpecError::plain(file, "no `PU`", EXPECTED) });
    }
    if pus > MAX_CPUS || nodes > MAX_NODES {
        let what = format!("{pus} CPUs and {nodes} nodes");
        return Err(SpecError::plain(file, what, format!("at most {MAX_CPUS} CPUs and {MAX_NODES} nodes")));
    }
    if nodes == 0 {
        let bytes = objects.all[0].bytes;
        let node = Object { bytes, ..Object::new(Kind::Node, Some(0), 0) };
        objects.push(node);
    }
    // Only nodes, packages and CPUs need an id.
    Ok(objects.into_found(source.into(), file)?.0)
}

/// A level of a synthetic description.
struct Level {
    kind: Kind,
    count: usize,
    bytes: Option<u64>,
    indexes: Option<String>,
    /// Sizes of the nodes that stand in each object of the level.
    nodes: Vec<Option<u64>>,
}

/// The line of a text that is a synthetic description, with its number from 0. Attributes and nodes of the machine
/// itself may come first.
pub(super) fn synthetic_line(text: &str) -> Option<(usize, &str)> {
    text.lines().enumerate().map(|(n, l)| (n, l.trim().trim_matches(['"', '\'']))).find(|(_, l)| {
        let mut levels = *l;
        while let Some((_, rest)) = levels
            .strip_prefix('[')
            .and_then(|l| l.split_once(']'))
            .or_else(|| levels.strip_prefix('(').and_then(|l| l.split_once(')')))
        {
            levels = rest.trim_start();
        }
        let first = levels.split([':', ' ', '(']).next().unwrap_or_default();
        kind_of(first).is_some() && l.to_ascii_lowercase().contains("pu:")
    })
}

/// Reads the description of `lstopo --of synthetic`.
///
/// # Errors
/// See [`super::lstopo`].
pub(super) fn synthetic(file: &str, text: &str) -> Result<Found, SpecError> {
    let (number, line) = synthetic_line(text).unwrap_or((0, text.trim()));
    let at = |rest: &str, what: String| {
        let column = line.len().saturating_sub(rest.len()) + 1;
        let expected = "levels such as `Package:2 [NUMANode(memory=64GB)] L3Cache:1(size=32MB) Core:8 PU:2`";
        SpecError { line: number + 1, column, ..SpecError::plain(file, what, expected) }
    };
    let mut levels: Vec<Level> = Vec::new();
    let mut top: Vec<Option<u64>> = Vec::new();
    let mut node_indexes = None;
    let mut rest = line;
    while !rest.is_empty() {
        if let Some(inner) = rest.strip_prefix('[') {
            let (inner, after) = inner.split_once(']').ok_or_else(|| at(rest, "a `[` without `]`".into()))?;
            let (attributes, _) = attributes(inner.find('(').map_or("", |p| &inner[p..])).map_err(|e| at(rest, e))?;
            levels.last_mut().map_or(&mut top, |l| &mut l.nodes).push(attributes.bytes);
            node_indexes = node_indexes.or(attributes.indexes);
            rest = after.trim_start();
            continue;
        }
        if let Some(after) = rest.strip_prefix('(') {
            // Attributes of the machine itself.
            rest = after.split_once(')').map_or("", |(_, r)| r).trim_start();
            continue;
        }
        let (word, after) =
            rest.split_once(':').ok_or_else(|| at(rest, format!("`{}` without a number", clip(rest))))?;
        let kind = kind_of(word).ok_or_else(|| at(rest, format!("no object `{}`", clip(word))))?;
        let digits = after.find(|c: char| !c.is_ascii_digit()).unwrap_or(after.len());
        let count = after[..digits].parse().ok().filter(|c| (1..=MAX_CPUS).contains(c));
        let count = count.ok_or_else(|| at(after, format!("1 to {MAX_CPUS} objects of a level")))?;
        let (own, after) = attributes(&after[digits..]).map_err(|e| at(rest, e))?;
        levels.push(Level { kind, count, bytes: own.bytes, indexes: own.indexes, nodes: Vec::new() });
        rest = after.trim_start();
    }
    let objects = build(&levels, &top, node_indexes.as_deref()).map_err(|e| at("", e))?;
    finish(objects, "lstopo --of synthetic", file)
}

/// Attributes of a level.
#[derive(Default)]
struct Attributes {
    bytes: Option<u64>,
    indexes: Option<String>,
}

/// Reads `(size=32MB indexes=2*8:1*2)` if the text begins so, and returns the rest.
fn attributes(text: &str) -> Result<(Attributes, &str), String> {
    let Some(inner) = text.strip_prefix('(') else { return Ok((Attributes::default(), text)) };
    let (inner, rest) = inner.split_once(')').ok_or("a `(` without `)`")?;
    let mut out = Attributes::default();
    for word in inner.split_whitespace() {
        match word.split_once('=') {
            Some(("size" | "memory", size)) => {
                out.bytes = Some(size_of(size).ok_or_else(|| format!("`{}` is no size", clip(size)))?);
            }
            Some(("indexes", list)) => out.indexes = Some(list.to_string()),
            _ => {}
        }
    }
    Ok((out, rest))
}

/// The objects of all levels.
fn build(levels: &[Level], top: &[Option<u64>], node_indexes: Option<&str>) -> Result<Objects, String> {
    let mut objects = Objects::default();
    let machine = objects.push(Object::new(Kind::Other, None, 0));
    let mut nodes: Vec<(usize, Option<u64>)> = top.iter().map(|b| (machine, *b)).collect();
    let mut above = vec![machine];
    for (depth, level) in levels.iter().enumerate() {
        let total = above.len().saturating_mul(level.count);
        if total + objects.all.len() + nodes.len() > MAX_OBJECTS {
            return Err(format!("more than {MAX_OBJECTS} objects"));
        }
        let ids = match &level.indexes {
            Some(list) => indexes(list, total, &widths(levels, depth))?,
            None => (0..total as u32).collect(),
        };
        let own: Vec<usize> = (0..total)
            .map(|i| {
                let mut object = Object::new(level.kind, Some(above[i / level.count]), ids[i]);
                object.bytes = level.bytes;
                objects.push(object)
            })
            .collect();
        for &o in &own {
            nodes.extend(level.nodes.iter().map(|b| (o, *b)));
        }
        above = own;
    }
    if nodes.len() + objects.all.len() > MAX_OBJECTS {
        return Err(format!("more than {MAX_OBJECTS} objects"));
    }
    let ids = match node_indexes {
        Some(list) => indexes(list, nodes.len(), &[])?,
        None => (0..nodes.len() as u32).collect(),
    };
    for ((parent, bytes), id) in nodes.into_iter().zip(ids) {
        objects.push(Object { bytes, ..Object::new(Kind::Node, Some(parent), id) });
    }
    Ok(objects)
}

/// Kinds of the levels down to `depth` with their numbers of objects in the whole machine.
fn widths(levels: &[Level], depth: usize) -> Vec<(Kind, usize)> {
    let mut width = 1;
    levels[..=depth]
        .iter()
        .map(|l| {
            width *= l.count;
            (l.kind, width)
        })
        .collect()
}

/// Numbers of `total` objects: a list (`0,2,1,3`), loops of step and number (`2*8:1*2`), or the names of levels to go
/// through first (`node:core`). A loop for the rest may be left out.
fn indexes(text: &str, total: usize, widths: &[(Kind, usize)]) -> Result<Vec<u32>, String> {
    let bad = || format!("`indexes={}` for {total} objects", clip(text));
    if text.bytes().all(|b| b.is_ascii_digit() || b == b',') {
        let ids: Option<Vec<u32>> = text.split(',').map(|w| w.parse().ok().filter(|i| *i <= cpulist::MAX_ID)).collect();
        return ids.filter(|i| i.len() == total).ok_or_else(bad);
    }
    let mut loops: Vec<(usize, usize)> = Vec::new();
    for part in text.split(':') {
        if let Some((step, number)) = part.split_once('*') {
            loops.push((step.parse().map_err(|_| bad())?, number.parse().map_err(|_| bad())?));
            continue;
        }
        let kind = kind_of(part).ok_or_else(bad)?;
        let depth = widths.iter().position(|(k, _)| *k == kind).ok_or_else(bad)?;
        let named = |k: &Kind| text.split(':').any(|p| kind_of(p).as_ref() == Some(k));
        let before = widths[..depth].iter().rev().find(|(k, _)| named(k)).map_or(1, |(_, w)| *w);
        loops.push((total / widths[depth].1, widths[depth].1 / before));
    }
    if loops.iter().any(|&(step, number)| step == 0 || number == 0 || step > total || number > total) {
        return Err(bad());
    }
    let covered = loops.iter().try_fold(1_usize, |all, (_, n)| all.checked_mul(*n).filter(|a| *a <= total));
    let covered = covered.ok_or_else(bad)?;
    if covered != total {
        loops.push((1, total / covered));
    }
    let mut ids = vec![0_usize; total];
    let mut factor = 1;
    for (step, number) in loops {
        ids.iter_mut().enumerate().for_each(|(j, id)| *id += j / step % number * factor);
        factor *= number;
    }
    let mut seen = ids.clone();
    seen.sort_unstable();
    if seen.iter().enumerate().any(|(i, id)| i != *id) {
        return Err(bad());
    }
    Ok(ids.into_iter().map(|id| id as u32).collect())
}
