//! hwloc XML (`lstopo file.xml`) of versions 2 and 3 as a source.
//!
//! Problem: version 3 writes memory-side caches as L3, and a file may be large or hostile.
//! Approach: one walk over the elements, without recursion, fills [`Objects`], which makes the machine. Distances come
//! from `distances2`, latencies and bandwidths from `memattr`, if present.
//! Units of the file: bytes, ns, MiB/s. `xml::gate` has limited size, nesting and counts before.

use super::found::{Found, FoundNode};
use super::mask::Mask;
use super::objects::{kind_of, Kind, Object, Objects, MAX_OBJECTS};
use super::xml;
use crate::machine::{cpulist, size, MAX_CPUS, MAX_NODES};
use crate::spec::{clip, position, SpecError};
use roxmltree::{Document, Node};
use std::collections::BTreeMap;

/// A file being read.
struct File<'a> {
    name: &'a str,
    text: &'a str,
}

impl File<'_> {
    fn error(&self, at: Node, what: impl Into<String>, expected: &str) -> SpecError {
        let (line, column) = position(self.text, at.range().start);
        SpecError { line, column, ..SpecError::plain(self.name, what, expected) }
    }
    /// A whole number of an attribute, if present.
    fn number(&self, at: Node, attribute: &str, most: u64) -> Result<Option<u64>, SpecError> {
        let Some(text) = at.attribute(attribute) else { return Ok(None) };
        match text.parse::<u64>() {
            Ok(n) if n <= most => Ok(Some(n)),
            _ => {
                let what = format!("`{attribute}` is `{}`", clip(text));
                Err(self.error(at, what, &format!("a whole number from 0 to {most}")))
            }
        }
    }
    fn id(&self, at: Node) -> Result<u32, SpecError> {
        let id = self.number(at, "os_index", u64::from(cpulist::MAX_ID))?;
        id.map(|n| n as u32).ok_or_else(|| self.error(at, "an object without `os_index`", "`os_index=\"...\"`"))
    }
}

/// Reads an hwloc XML export.
///
/// # Errors
/// See [`super::hwloc_xml`].
pub(super) fn read(name: &str, text: &str) -> Result<Found, SpecError> {
    let clean = xml::gate(name, text)?;
    let options = roxmltree::ParsingOptions { allow_dtd: false, ..Default::default() };
    let doc = Document::parse_with_options(&clean, options).map_err(|e| {
        let p = e.pos();
        let whole = e.to_string();
        let what = whole.split(" at ").next().unwrap_or(&whole).to_string();
        let at = SpecError::plain(name, format!("not well-formed: {what}"), "a complete hwloc XML export");
        SpecError { line: p.row as usize, column: p.col as usize, ..at }
    })?;
    let file = File { name, text: &clean };
    let root = doc.root_element();
    if root.tag_name().name() != "topology" {
        let what = format!("root element `{}`", clip(root.tag_name().name()));
        return Err(file.error(root, what, "`topology` of an hwloc XML export"));
    }
    let version = root.attribute("version").unwrap_or("1");
    if !version.starts_with("2.") && !version.starts_with("3.") {
        let expected = "version 2.x or 3.x; `lstopo -i FILE new.xml` of such an hwloc converts it";
        return Err(file.error(root, format!("hwloc XML version {}", clip(version)), expected));
    }
    let objects = walk(&file, root)?;
    if objects.all.iter().all(|o| o.kind != Kind::Node) {
        return Err(file.error(root, "no `NUMANode` object", "at least one, as every hwloc since 2.0 writes"));
    }
    let (mut found, gp) = objects.into_found(format!("hwloc XML {}", clip(version)), name)?;
    distances(&file, root, &gp, &mut found)?;
    attributes(&file, root, &gp, &mut found)?;
    Ok(found)
}

/// Collects the objects of the tree.
fn walk(file: &File, root: Node) -> Result<Objects, SpecError> {
    let mut out = Objects::default();
    let (mut pus, mut nodes) = (0, 0);
    let is_object = |n: &Node| n.has_tag_name("object");
    let mut todo: Vec<(Node, Option<usize>)> = root.children().filter(is_object).map(|n| (n, None)).collect();
    while let Some((at, parent)) = todo.pop() {
        if out.all.len() >= MAX_OBJECTS {
            return Err(file.error(at, format!("more than {MAX_OBJECTS} objects"), "a smaller machine"));
        }
        let kind = at.attribute("type").ok_or_else(|| file.error(at, "an object without `type`", "`type=\"...\"`"))?;
        let object = object(file, at, kind, parent)?;
        match object.kind {
            Kind::Package => out.model = out.model.take().or_else(|| info(at, "CPUModel").map(str::to_string)),
            Kind::Node => nodes += 1,
            Kind::Pu => pus += 1,
            _ => {}
        }
        if pus > MAX_CPUS || nodes > MAX_NODES {
            return Err(file.error(
                at,
                "more CPUs or nodes than a machine may have",
                &format!("at most {MAX_CPUS} CPUs, {MAX_NODES} nodes"),
            ));
        }
        let own = out.push(object);
        todo.extend(at.children().filter(is_object).map(|n| (n, Some(own))));
    }
    Ok(out)
}

/// One object. Caches of instructions, and memory-side caches, which version 3 writes as `L3Cache` too, are no caches
/// here.
fn object(file: &File, at: Node, kind: &str, parent: Option<usize>) -> Result<Object, SpecError> {
    let side = at.attribute("subtype") == Some("MemorySideCache") || at.attribute("cache_type") == Some("2");
    let kind = kind_of(kind).filter(|k| !(side && matches!(k, Kind::Cache(_)))).unwrap_or(Kind::Other);
    let id = match kind {
        Kind::Package | Kind::Node | Kind::Pu => file.id(at)?,
        _ => 0,
    };
    let mask = |name: &str| match at.attribute(name) {
        Some(text) => Mask::parse(text)
            .map(Some)
            .map_err(|why| file.error(at, why, "hexadecimal words such as 0x000000ff,0xffffffff")),
        None => Ok(None),
    };
    let mut object = Object { complete_nodes: mask("complete_nodeset")?, ..Object::new(kind, parent, id) };
    match kind {
        Kind::Cache(_) => object.bytes = file.number(at, "cache_size", size::MAX_BYTES)?,
        Kind::Other if parent.is_none() => {
            object.cpus = mask("cpuset")?;
            object.complete_cpus = mask("complete_cpuset")?;
        }
        Kind::Node => {
            object.bytes = file.number(at, "local_memory", size::MAX_BYTES)?;
            object.cpus = Some(mask("cpuset")?.unwrap_or_default());
            object.complete_cpus = mask("complete_cpuset")?;
            object.subtype = at.attribute("subtype").unwrap_or("").to_string();
            object.tier = info(at, "MemoryTier").and_then(|t| t.parse().ok());
            object.gp_index = file.number(at, "gp_index", u64::MAX)?;
        }
        _ => {}
    }
    Ok(object)
}

/// The value of an `<info name=...>` below an object.
fn info<'a>(at: Node<'a, '_>, name: &str) -> Option<&'a str> {
    let mut infos = at.children().filter(|n| n.has_tag_name("info"));
    infos.find(|n| n.attribute("name") == Some(name))?.attribute("value")
}

/// Reads the distances of the operating system between NUMA nodes, if the file has them.
fn distances(file: &File, root: Node, gp: &BTreeMap<u64, usize>, found: &mut Found) -> Result<(), SpecError> {
    let of_nodes = |n: &Node| n.has_tag_name("distances2") && n.attribute("type") == Some("NUMANode");
    // Kind: bit 0 from the operating system, bit 2 a latency.
    let latency = |n: &Node| n.attribute("name") == Some("NUMALatency") || n.attribute("kind") == Some("5");
    let Some(at) = root.children().filter(of_nodes).find(latency) else { return Ok(()) };
    let words = |name: &str| -> Vec<&str> {
        at.children().filter(|n| n.has_tag_name(name)).flat_map(|n| n.text().unwrap_or("").split_whitespace()).collect()
    };
    let (indexes, values) = (words("indexes"), words("u64values"));
    // Nodes that hwloc left out have no distances.
    let n = found.nodes.len() - found.adopted.len();
    if indexes.len() != n || values.len() != n * n {
        let what = format!("{} indexes and {} distances for {n} nodes", indexes.len(), values.len());
        return Err(file.error(at, what, &format!("{n} indexes and {} distances", n * n)));
    }
    let by_gp = at.attribute("indexing") == Some("gp");
    let place = |word: &str| -> Option<usize> {
        let index: u64 = word.parse().ok()?;
        if by_gp {
            return gp.get(&index).copied();
        }
        found.nodes.iter().position(|n| u64::from(n.id) == index && !found.adopted.contains(&n.id))
    };
    let mut order = Vec::new();
    for word in &indexes {
        let p = place(word).filter(|p| !order.contains(p));
        order.push(p.ok_or_else(|| file.error(at, format!("index `{}`", clip(word)), "every NUMA node once"))?);
    }
    let mut distance = vec![vec![None; found.nodes.len()]; found.nodes.len()];
    for (k, word) in values.iter().enumerate() {
        let (i, j) = (order[k / n], order[k % n]);
        let value = word.parse().map_err(|_| format!("`{}` is not a distance", clip(word)));
        let value = value.and_then(|v| Found::distance_value(v, found.nodes[i].id, found.nodes[j].id));
        distance[i][j] = value.map_err(|why| file.error(at, why, "10 to 254"))?;
    }
    found.distance = Some(distance);
    Ok(())
}

/// Reads latencies (`Latency`, `ReadLatency`) and bandwidths (`Bandwidth`, `ReadBandwidth`), if the file has them.
fn attributes(file: &File, root: Node, gp: &BTreeMap<u64, usize>, found: &mut Found) -> Result<(), SpecError> {
    for at in root.children().filter(|n| n.has_tag_name("memattr")) {
        let latency = matches!(at.attribute("name"), Some("Latency" | "ReadLatency"));
        let bandwidth = matches!(at.attribute("name"), Some("Bandwidth" | "ReadBandwidth"));
        let writes = at.attribute("name") == Some("WriteBandwidth");
        let any = latency || bandwidth || writes;
        let values = at.children().filter(|v| v.has_tag_name("memattr_value") && any);
        for v in values.filter(|v| v.attribute("target_obj_type") == Some("NUMANode")) {
            let target = file.number(v, "target_obj_gp_index", u64::MAX)?.and_then(|g| gp.get(&g)).copied();
            let value = file.number(v, "value", u64::MAX)?.filter(|n| *n > 0);
            let (Some(target), Some(value)) = (target, value) else { continue };
            let from = v.attribute("initiator_cpuset").unwrap_or("0x0");
            let mask = Mask::parse(from).map_err(|why| file.error(v, why, "hexadecimal words"))?;
            if latency && value <= 1_000_000 {
                let inside = |n: &FoundNode| n.cpus.first().is_some_and(|&c| mask.contains(c));
                let nodes: Vec<usize> = (0..found.nodes.len()).filter(|&i| inside(&found.nodes[i])).collect();
                nodes.into_iter().for_each(|i| {
                    found.latency_ns.insert((i, target), value as f64);
                });
            }
            let gbps = value as f64 * 1_048_576.0 / 1e9;
            let most = |known: Option<f64>| Some(known.map_or(gbps, |g| g.max(gbps)));
            let node = &mut found.nodes[target];
            if bandwidth {
                node.gbps = most(node.gbps);
            }
            if writes {
                node.write_gbps = most(node.write_gbps);
            }
        }
    }
    Ok(())
}
