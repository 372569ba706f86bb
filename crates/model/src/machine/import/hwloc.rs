//! hwloc XML (`lstopo file.xml`) of versions 2 and 3 as a source.
//!
//! Problem: NUMA nodes are not in the tree of CPUs but beside it, several may have the same CPUs in their set, and
//! version 3 writes memory-side caches as L3.
//! Approach: one walk over the object tree, without recursion, collects CPUs (with their package, outermost cache and
//! core) and nodes (with their CPU set). A CPU belongs to the node with the smallest set that has it, where nodes of
//! ordinary memory come first. Distances come from `distances2`, latencies and bandwidths from `memattr`, if present.
//! Units of the file: bytes, ns, MiB/s. `xml::gate` has limited size, nesting and counts before.

use super::found::{Found, FoundNode, Sharing};
use super::xml;
use crate::machine::{cpulist, size, MAX_CPUS, MAX_NODES};
use crate::spec::{clip, position, SpecError};
use roxmltree::{Document, Node};
use std::collections::BTreeMap;

/// Most objects of a file.
const MAX_OBJECTS: usize = 65_536;

/// A CPU set in words of 32 bits, lowest first. An `infinite` set has every CPU beyond its words.
#[derive(Clone, Debug, Default)]
struct Mask {
    words: Vec<u32>,
    infinite: bool,
}

impl Mask {
    /// Parses words of 32 bits, highest first: `0x000000ff`, `0x1,0x0`, `0xf...f,0x0`.
    fn parse(text: &str) -> Result<Self, String> {
        let (infinite, text) = match text.strip_prefix("0xf...f") {
            Some(rest) => (true, rest.trim_start_matches(',')),
            None => (false, text),
        };
        if text.len() > 11 * (cpulist::MAX_ID as usize / 32 + 1) {
            return Err(format!("a set beyond CPU {}", cpulist::MAX_ID));
        }
        let mut words = Vec::new();
        for word in text.split(',').filter(|w| !w.is_empty()) {
            let digits = word.strip_prefix("0x").unwrap_or(word);
            let plain = digits.bytes().all(|b| b.is_ascii_hexdigit());
            let value = u32::from_str_radix(digits, 16).ok().filter(|_| plain);
            words.push(value.ok_or_else(|| format!("`{}` in a CPU set", clip(word)))?);
        }
        words.reverse();
        Ok(Self { words, infinite })
    }
    fn contains(&self, cpu: u32) -> bool {
        match self.words.get(cpu as usize / 32) {
            Some(w) => w >> (cpu % 32) & 1 == 1,
            None => self.infinite,
        }
    }
    fn len(&self) -> usize {
        let bits: usize = self.words.iter().map(|w| w.count_ones() as usize).sum();
        if self.infinite {
            usize::MAX
        } else {
            bits
        }
    }
}

/// A NUMA node of the file.
struct Memory {
    id: u32,
    gp_index: Option<u64>,
    mask: Mask,
    bytes: Option<u64>,
    subtype: String,
    tier: Option<u8>,
    package: Option<u32>,
}

/// A CPU of the file.
struct Pu {
    id: u32,
    package: Option<u32>,
    /// Ordinals of the core and of the outermost cache among the objects, and that cache's size.
    core: Option<usize>,
    llc: Option<(usize, Option<u64>)>,
}

/// What an object inherits from the objects that contain it.
#[derive(Clone, Copy, Default)]
struct Around {
    package: Option<u32>,
    core: Option<usize>,
    llc: Option<(usize, Option<u64>)>,
}

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

/// The objects of a file from which a machine is made.
#[derive(Default)]
struct Objects {
    nodes: Vec<Memory>,
    pus: Vec<Pu>,
    l2_bytes: Option<u64>,
    model: Option<String>,
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
        return Err(file.error(root, format!("hwloc XML version {}", clip(version)), "version 2.x or 3.x"));
    }
    let objects = walk(&file, root)?;
    let mut found = Found { source: format!("hwloc XML {}", clip(version)), file: name.into(), ..Found::default() };
    let gp = assign(&file, root, objects, &mut found)?;
    distances(&file, root, &gp, &mut found)?;
    attributes(&file, root, &gp, &mut found)?;
    Ok(found)
}

/// Collects nodes and CPUs from the object tree.
fn walk(file: &File, root: Node) -> Result<Objects, SpecError> {
    let mut out = Objects::default();
    let mut count = 0;
    let is_object = |n: &Node| n.has_tag_name("object");
    let mut todo: Vec<(Node, Around)> = root.children().filter(is_object).map(|n| (n, Around::default())).collect();
    while let Some((at, mut around)) = todo.pop() {
        count += 1;
        if count > MAX_OBJECTS {
            return Err(file.error(at, format!("more than {MAX_OBJECTS} objects"), "a smaller machine"));
        }
        let kind = at.attribute("type").ok_or_else(|| file.error(at, "an object without `type`", "`type=\"...\"`"))?;
        match kind {
            "Package" => {
                around.package = Some(file.id(at)?);
                out.model = out.model.take().or_else(|| info(at, "CPUModel").map(str::to_string));
            }
            "Core" => around.core = Some(count),
            "NUMANode" => out.nodes.push(memory(file, at, around.package)?),
            "PU" => out.pus.push(Pu { id: file.id(at)?, package: around.package, core: around.core, llc: around.llc }),
            _ => cache(file, at, kind, count, &mut around, &mut out.l2_bytes)?,
        }
        if out.pus.len() > MAX_CPUS || out.nodes.len() > MAX_NODES {
            return Err(file.error(
                at,
                "more CPUs or nodes than a machine may have",
                &format!("at most {MAX_CPUS} CPUs, {MAX_NODES} nodes"),
            ));
        }
        todo.extend(at.children().filter(is_object).map(|n| (n, around)));
    }
    Ok(out)
}

/// Notes a data cache, `L2Cache` to `L5Cache`; the outermost one around a CPU is its LLC. Memory-side caches, which
/// version 3 writes as such objects too, are skipped.
fn cache(
    file: &File,
    at: Node,
    kind: &str,
    ordinal: usize,
    around: &mut Around,
    l2_bytes: &mut Option<u64>,
) -> Result<(), SpecError> {
    let data = matches!(kind, "L2Cache" | "L3Cache" | "L4Cache" | "L5Cache");
    if !data || at.attribute("subtype") == Some("MemorySideCache") || at.attribute("cache_type") == Some("2") {
        return Ok(());
    }
    let bytes = file.number(at, "cache_size", size::MAX_BYTES)?.filter(|b| *b > 0);
    if kind == "L2Cache" {
        *l2_bytes = l2_bytes.or(bytes);
    }
    around.llc = around.llc.or(Some((ordinal, bytes)));
    Ok(())
}

fn memory(file: &File, at: Node, package: Option<u32>) -> Result<Memory, SpecError> {
    let text = at.attribute("cpuset").unwrap_or("0x0");
    let mask =
        Mask::parse(text).map_err(|why| file.error(at, why, "hexadecimal words such as 0x000000ff,0xffffffff"))?;
    let tier = info(at, "MemoryTier").and_then(|t| t.parse().ok());
    Ok(Memory {
        id: file.id(at)?,
        gp_index: file.number(at, "gp_index", u64::MAX)?,
        mask,
        bytes: file.number(at, "local_memory", size::MAX_BYTES)?,
        subtype: at.attribute("subtype").unwrap_or("").to_string(),
        tier,
        package,
    })
}

/// The value of an `<info name=...>` below an object.
fn info<'a>(at: Node<'a, '_>, name: &str) -> Option<&'a str> {
    let mut infos = at.children().filter(|n| n.has_tag_name("info"));
    infos.find(|n| n.attribute("name") == Some(name))?.attribute("value")
}

/// Gives every CPU its node, and returns the position of each node by its `gp_index`.
fn assign(file: &File, root: Node, objects: Objects, found: &mut Found) -> Result<BTreeMap<u64, usize>, SpecError> {
    let mut memories = objects.nodes;
    memories.sort_by_key(|m| m.id);
    if memories.is_empty() {
        return Err(file.error(root, "no `NUMANode` object", "at least one, as every hwloc since 2.0 writes"));
    }
    let ordinary = |m: &Memory| m.subtype.is_empty() || m.subtype == "DRAM";
    // Nodes in order of preference: ordinary memory first, then the smallest set, then the lowest id.
    let mut order: Vec<usize> = (0..memories.len()).collect();
    order.sort_by_key(|&i| (!ordinary(&memories[i]), memories[i].mask.len(), memories[i].id));
    let mut cpus = vec![Vec::new(); memories.len()];
    let mut packages = vec![None; memories.len()];
    let (mut cores, mut llcs): (BTreeMap<usize, Vec<u32>>, BTreeMap<usize, Vec<u32>>) = Default::default();
    let mut lost = 0;
    for pu in &objects.pus {
        let Some(&home) = order.iter().find(|&&i| memories[i].mask.contains(pu.id)) else {
            lost += 1;
            continue;
        };
        cpus[home].push(pu.id);
        packages[home] = packages[home].or(pu.package);
        pu.core.into_iter().for_each(|c| cores.entry(c).or_default().push(pu.id));
        pu.llc.into_iter().for_each(|(l, _)| llcs.entry(l).or_default().push(pu.id));
    }
    if lost > 0 {
        found.notes.push(format!("{lost} CPUs left out: no node has them in its set"));
    }
    cores.values_mut().chain(llcs.values_mut()).for_each(|s| s.sort_unstable());
    for pu in &objects.pus {
        let core = pu.core.and_then(|c| cores.get(&c)).cloned().unwrap_or_default();
        let llc = pu.llc.and_then(|(l, _)| llcs.get(&l)).cloned().unwrap_or_default();
        found.sharing.insert(pu.id, Sharing { core, llc, llc_bytes: pu.llc.and_then(|(_, b)| b) });
    }
    let gp = memories.iter().enumerate().filter_map(|(i, m)| Some((m.gp_index?, i))).collect();
    found.l2_bytes = objects.l2_bytes;
    found.model = objects.model;
    found.nodes = memories
        .into_iter()
        .zip(cpus)
        .zip(packages)
        .map(|((m, cpus), package)| FoundNode {
            id: m.id,
            socket: package.or(m.package),
            cpus,
            memory_bytes: Some(m.bytes.unwrap_or(0)),
            gbps: None,
            tier: m.tier,
            cxl: (!m.subtype.is_empty()).then(|| m.subtype.starts_with("CXL")),
        })
        .collect();
    found.settle_nodes()?;
    Ok(gp)
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
    let n = found.nodes.len();
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
        found.nodes.iter().position(|n| u64::from(n.id) == index)
    };
    let mut order = Vec::new();
    for word in &indexes {
        let p = place(word).filter(|p| !order.contains(p));
        order.push(p.ok_or_else(|| file.error(at, format!("index `{}`", clip(word)), "every NUMA node once"))?);
    }
    let mut distance = vec![vec![0; n]; n];
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
        let values = at.children().filter(|v| v.has_tag_name("memattr_value") && (latency || bandwidth));
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
            if bandwidth && gbps < 1e5 {
                let most = found.nodes[target].gbps.map_or(gbps, |g| g.max(gbps));
                found.nodes[target].gbps = Some(most);
            }
        }
    }
    Ok(())
}
