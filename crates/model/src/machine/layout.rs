//! Nodes, last-level caches, cores and CPUs of a machine file.
//!
//! Problem: presets are regular and should read like a data sheet. Real machines are irregular (memory-only and
//! CPU-only nodes, sparse ids, odd caches) and must be described CPU by CPU.
//! Approach: `[layout]` states a regular machine, numbered as in machines.md section 2.9: one thread of every core in
//! node order, then all second threads; LLCs are runs of cores. `[[node]]`, `[[llc]]` and `cores` state an irregular
//! machine. Beside `[layout]`, a `[[node]]` changes the memory of a node or adds a node without CPUs. Either form
//! becomes a [`Draft`], which [`Draft::build`] checks and indexes. A `[[node]]` of a file that is extended falls away
//! if the own `[layout]` lacks its socket.
//! Invariant: nodes and CPUs ascend by id. Every CPU has a node, an LLC and a core; a core lies inside an LLC, and an
//! LLC inside a node.

use super::index::{Draft, Entry, Layout, Memory, Shared};
use super::layers::{opt_within, Layers};
use super::limits::{GBPS, MAX_CPUS, MAX_MEMORY, MAX_NODES};
use super::MemoryKind;
use super::{cpulist, size};
use crate::spec::{clip, SpecError, Spot, Table};
use std::collections::BTreeMap;
use std::ops::RangeInclusive;

/// Legal parts of the bandwidth that random lines reach.
pub(super) const SHARE: RangeInclusive<f64> = 0.01..=1.0;

/// What `[memory]` states for nodes that state nothing themselves.
struct Defaults {
    bytes: Option<Spot<u64>>,
    peak_gbps: Option<f64>,
    sustained_gbps: Option<f64>,
    random_share: Option<f64>,
    /// The error for a node that needs what is missing in `[memory]`.
    lacks: Option<SpecError>,
}

/// Reads the layout of a machine; `llc_bytes` is the size of an LLC that states none.
///
/// # Errors
/// Anything inconsistent, at its place: a CPU in two nodes, a core across two LLCs, a machine without
/// CPUs or memory, more than [`MAX_CPUS`] CPUs or [`MAX_NODES`] nodes.
pub(super) fn read(root: &Layers, llc_bytes: u64) -> Result<Layout, SpecError> {
    let defaults = Defaults::read(root)?;
    let layout = root.sub("layout")?;
    let nodes = root.list("node")?;
    let llcs = root.list("llc")?;
    let cores = root.strs("cores")?;
    let mut draft = Draft { nodes: BTreeMap::new(), cores: Vec::new(), llcs: Vec::new() };
    if layout.is_empty() {
        draft.read_nodes(nodes, None, &defaults)?;
        draft.read_sets(llcs, &cores, llc_bytes)?;
    } else {
        if let Some(t) = llcs.first() {
            return Err(t.error("`[[llc]]` beside `[layout]`", "one of the two"));
        }
        if let Some(c) = cores.first() {
            return Err(c.error("`cores` beside `[layout]`", "one of the two"));
        }
        let shape = Regular::read(layout)?;
        draft.read_nodes(nodes, Some(&shape), &defaults)?;
        draft.fill(&shape, &defaults, llc_bytes)?;
    }
    if draft.nodes.values().all(|n| n.cpus.value.is_empty()) {
        return Err(root.error("the machine has no CPU", "a `[layout]`, or a `[[node]]` with `cpus`"));
    }
    if draft.nodes.values().all(|n| n.memory.bytes == 0) {
        // Some node states a size of 0; nodes without CPUs may do so too.
        let place = draft.nodes.values().next().map(|n| n.memory_at.clone());
        let what = ("the machine has no memory", "at least one node with `memory` above 0");
        return Err(place.map_or_else(|| root.error(what.0, what.1), |at| at.error(what.0, what.1)));
    }
    draft.refuse_too_much_memory()?;
    draft.build()
}

/// A regular machine, as `[layout]` states it.
struct Regular {
    place: Spot<()>,
    sockets: usize,
    nodes_per_socket: usize,
    cores_per_node: usize,
    threads: usize,
    llcs_per_node: usize,
}

impl Regular {
    fn read(t: Layers) -> Result<Self, SpecError> {
        let nodes = 1..=MAX_NODES as i64;
        let cpus = 1..=MAX_CPUS as i64;
        let r = Self {
            place: t.place(),
            sockets: t.int("sockets", nodes.clone())? as usize,
            nodes_per_socket: t.opt_int("nodes_per_socket", nodes)?.unwrap_or(1) as usize,
            cores_per_node: t.int("cores_per_node", cpus.clone())? as usize,
            threads: t.opt_int("threads_per_core", 1..=8)?.unwrap_or(1) as usize,
            llcs_per_node: t.opt_int("llcs_per_node", cpus)?.unwrap_or(1) as usize,
        };
        t.finish()?;
        if r.nodes() > MAX_NODES || r.cores() * r.threads > MAX_CPUS {
            let what = format!("{} nodes with {} CPUs", r.nodes(), r.cores() * r.threads);
            return Err(r.place.error(what, format!("at most {MAX_NODES} nodes and {MAX_CPUS} CPUs")));
        }
        if !r.cores_per_node.is_multiple_of(r.llcs_per_node) {
            let what = format!("{} cores of a node do not divide among {} LLCs", r.cores_per_node, r.llcs_per_node);
            return Err(r.place.error(what, "a divisor of `cores_per_node` as `llcs_per_node`"));
        }
        Ok(r)
    }
    fn nodes(&self) -> usize {
        self.sockets * self.nodes_per_socket
    }
    fn cores(&self) -> usize {
        self.nodes() * self.cores_per_node
    }
    /// CPU ids of a run of cores: the first threads, then the second threads.
    fn cpus(&self, cores: std::ops::Range<usize>) -> Vec<u32> {
        let threads = (0..self.threads).map(|t| t * self.cores());
        threads.flat_map(|base| cores.clone().map(move |c| (base + c) as u32)).collect()
    }
}

impl Defaults {
    fn read(root: &Layers) -> Result<Self, SpecError> {
        let t = root.sub("memory")?;
        let bytes = t.opt_str("per_node")?.map(|s| size::read(&s).map(|bytes| s.map(|_| bytes))).transpose()?;
        let (peak, sustained) = (t.opt_spot("peak_gbps", &GBPS)?, t.opt_spot("sustained_gbps", &GBPS)?);
        if let (Some(peak), Some(sustained)) = (&peak, &sustained) {
            at_most_peak(sustained, peak.value)?;
        }
        let random_share = t.opt_within("random_share", &SHARE)?;
        let given =
            [("per_node", bytes.is_some()), ("peak_gbps", peak.is_some()), ("sustained_gbps", sustained.is_some())];
        let absent = given.iter().find(|(_, given)| !given).map(|(key, _)| *key);
        let expected = "`per_node`, `peak_gbps` and `sustained_gbps`, for nodes that say nothing themselves";
        let lacks = match absent {
            Some(_) if t.is_empty() => Some(root.missing("memory", expected)),
            absent => absent.map(|key| t.missing(key, expected)),
        };
        t.finish()?;
        let (peak_gbps, sustained_gbps) = (peak.map(|p| p.value), sustained.map(|s| s.value));
        Ok(Self { bytes, peak_gbps, sustained_gbps, random_share, lacks })
    }
    /// The memory of a node that states nothing itself, and the place of its size.
    fn memory(&self) -> Option<(Memory, Spot<()>)> {
        let bytes = self.bytes.clone()?;
        let memory = Memory {
            bytes: bytes.value,
            peak_gbps: self.peak_gbps?,
            sustained_gbps: self.sustained_gbps?,
            random_share: self.random_share.unwrap_or(MemoryKind::Dram.usual_random_share()),
        };
        Some((memory, bytes.map(|_| ())))
    }
}

impl Draft {
    /// Reads `[[node]]`. In a regular machine a node of `[layout]` keeps its socket, and no `[[node]]` has `cpus`.
    fn read_nodes(
        &mut self,
        tables: Vec<Table>,
        shape: Option<&Regular>,
        defaults: &Defaults,
    ) -> Result<(), SpecError> {
        let ids = 0..=i64::from(cpulist::MAX_ID);
        for t in tables {
            let id = t.int("id", ids.clone())?;
            let inherited = shape.is_some_and(|s| s.place.file != id.file);
            let node = id.value as usize;
            let own = shape.filter(|s| node < s.nodes());
            let socket = match own {
                Some(s) => (node / s.nodes_per_socket) as u32,
                None if inherited && t.opt_int("socket", ids.clone())?.is_none() => continue,
                None => t.int("socket", ids.clone())?.value as u32,
            };
            if inherited && shape.is_some_and(|s| socket as usize >= s.sockets) {
                continue;
            }
            if shape.is_some_and(|s| socket as usize >= s.sockets) {
                return Err(id.error(format!("node {node} is on socket {socket}"), "a socket of `[layout]`"));
            }
            let cpus = if shape.is_some() { None } else { t.opt_str("cpus")? };
            let cpus = match (cpus, own, shape) {
                (Some(list), _, _) => read_list(&list)?,
                (None, Some(_), Some(s)) => {
                    let first = node * s.cores_per_node;
                    id.clone().map(|_| s.cpus(first..first + s.cores_per_node))
                }
                _ => id.clone().map(|_| Vec::new()),
            };
            let entry = Entry::read(t, cpus, socket, defaults)?;
            if self.nodes.insert(node as u32, entry).is_some() {
                return Err(id.error(format!("node {node} is declared twice"), "one `[[node]]` for each id"));
            }
            if self.nodes.len() > MAX_NODES {
                return Err(id.error(format!("more than {MAX_NODES} nodes"), "fewer nodes"));
            }
        }
        Ok(())
    }

    /// Reads `[[llc]]` and `cores` of an irregular machine. Without any `[[llc]]` each node has one LLC. A CPU that
    /// `cores` does not name is a core of its own.
    fn read_sets(&mut self, llcs: Vec<Table>, cores: &[Spot<String>], llc_bytes: u64) -> Result<(), SpecError> {
        for t in llcs {
            let cpus = read_list(&t.str("cpus")?)?;
            let bytes = t.opt_str("size")?.map(|s| size::read(&s)).transpose()?.unwrap_or(llc_bytes);
            let socket = t.opt_int("socket", 0..=i64::from(cpulist::MAX_ID))?.map(|s| s.value as u32);
            t.finish()?;
            self.llcs.push(Shared { cpus, bytes, socket });
        }
        if self.llcs.is_empty() {
            let nodes = self.nodes.values().filter(|n| !n.cpus.value.is_empty());
            self.llcs = nodes.map(|n| Shared { cpus: n.cpus.clone(), bytes: llc_bytes, socket: None }).collect();
        }
        self.cores = cores.iter().map(read_list).collect::<Result<_, _>>()?;
        let mut named: Vec<u32> = self.cores.iter().flat_map(|c| c.value.iter().copied()).collect();
        named.sort_unstable();
        for node in self.nodes.values() {
            let single = node.cpus.value.iter().filter(|c| named.binary_search(c).is_err());
            self.cores.extend(single.map(|&c| node.cpus.clone().map(|_| vec![c])));
        }
        Ok(())
    }

    /// Refuses more than [`MAX_MEMORY`] in all; the error is placed at the size of the largest node.
    fn refuse_too_much_memory(&self) -> Result<(), SpecError> {
        let total = self.nodes.values().fold(0u64, |sum, n| sum.saturating_add(n.memory.bytes));
        match self.nodes.values().max_by_key(|n| n.memory.bytes) {
            Some(largest) if total > MAX_MEMORY => {
                let what = format!("the nodes have {} of memory in all", size::short(total));
                Err(largest.memory_at.error(what, format!("at most {}", size::short(MAX_MEMORY))))
            }
            _ => Ok(()),
        }
    }

    /// Adds the nodes, cores and LLCs of a regular machine.
    fn fill(&mut self, shape: &Regular, defaults: &Defaults, llc_bytes: u64) -> Result<(), SpecError> {
        let set = |cores: std::ops::Range<usize>| shape.place.clone().map(|()| shape.cpus(cores));
        for node in 0..shape.nodes() {
            let first = node * shape.cores_per_node;
            if let std::collections::btree_map::Entry::Vacant(free) = self.nodes.entry(node as u32) {
                let lacks = || match &defaults.lacks {
                    Some(e) => e.clone(),
                    None => shape.place.error("`[memory]` is missing", "the memory of a node"),
                };
                let (memory, memory_at) = defaults.memory().ok_or_else(lacks)?;
                free.insert(Entry {
                    cpus: set(first..first + shape.cores_per_node),
                    socket: (node / shape.nodes_per_socket) as u32,
                    memory,
                    memory_at,
                    kind: MemoryKind::Dram,
                    tier: 0,
                });
            }
        }
        self.cores = (0..shape.cores()).map(|c| set(c..c + 1)).collect();
        let run = shape.cores_per_node / shape.llcs_per_node;
        let llc = |c: usize| Shared { cpus: set(c..c + run), bytes: llc_bytes, socket: None };
        self.llcs = (0..shape.cores()).step_by(run).map(llc).collect();
        Ok(())
    }
}

/// Refuses a sustained bandwidth above the peak, at its place.
pub(super) fn at_most_peak(sustained: &Spot<f64>, peak: f64) -> Result<(), SpecError> {
    if sustained.value <= peak {
        return Ok(());
    }
    let what = format!("sustained {} GB/s is above the peak of {peak}", sustained.value);
    Err(sustained.error(what, "at most the peak"))
}

impl Entry {
    /// Reads the keys of a `[[node]]` other than its id, socket and CPUs.
    fn read(t: Table, cpus: Spot<Vec<u32>>, socket: u32, defaults: &Defaults) -> Result<Self, SpecError> {
        let own = t.opt_str("memory")?.map(|s| size::read(&s).map(|bytes| s.map(|_| bytes))).transpose()?;
        let bytes = own.or_else(|| defaults.bytes.clone());
        let peak_gbps = opt_within(&t, "peak_gbps", &GBPS)?.map(|p| p.value).or(defaults.peak_gbps);
        let sustained = opt_within(&t, "sustained_gbps", &GBPS)?;
        let sustained_gbps = sustained.as_ref().map(|s| s.value).or(defaults.sustained_gbps);
        let bandwidth = "a number above 0, GB/s, here or in `[memory]`";
        let bytes = bytes.ok_or_else(|| t.missing("memory", size::EXPECTED))?;
        let kind = match t.opt_str("kind")? {
            None => MemoryKind::Dram,
            Some(k) => kind(&k)?,
        };
        let random_share = opt_within(&t, "random_share", &SHARE)?.map(|s| s.value).or(defaults.random_share);
        let memory = Memory {
            bytes: bytes.value,
            random_share: random_share.unwrap_or(kind.usual_random_share()),
            peak_gbps: peak_gbps.ok_or_else(|| t.missing("peak_gbps", bandwidth))?,
            sustained_gbps: sustained_gbps.ok_or_else(|| t.missing("sustained_gbps", bandwidth))?,
        };
        // A default of `[memory]` above the node's own peak is reported at the node.
        let sustained = sustained.unwrap_or_else(|| cpus.clone().map(|_| memory.sustained_gbps));
        at_most_peak(&sustained, memory.peak_gbps)?;
        let tier = t.opt_int("tier", 0..=255)?.map_or(0, |n| n.value as u8);
        t.finish()?;
        Ok(Self { cpus, socket, memory, memory_at: bytes.map(|_| ()), kind, tier })
    }
}

fn kind(k: &Spot<String>) -> Result<MemoryKind, SpecError> {
    MemoryKind::parse(&k.value).ok_or_else(|| {
        let expected = format!("one of {}", MemoryKind::WORDS.join(", "));
        k.error(format!("no memory kind `{}`", clip(&k.value)), expected).near(&k.value, MemoryKind::WORDS)
    })
}

/// Parses a CPU list and keeps its place.
fn read_list(list: &Spot<String>) -> Result<Spot<Vec<u32>>, SpecError> {
    match cpulist::parse(&list.value) {
        Ok(ids) => Ok(list.clone().map(|_| ids)),
        Err(why) => Err(list.error(format!("wrong CPU list: {why}"), "a list such as \"0-7,64-71\"")),
    }
}
