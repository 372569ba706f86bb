//! From ids to dense indices: nodes, cores, LLCs and CPUs are checked against each other here and nowhere else.
//!
//! Problem: files speak of CPU 64 and node 252, but backends index arrays.
//! Approach: a [`Draft`] holds what a file says, by id and with its place. [`Draft::build`] numbers nodes and CPUs in
//! ascending order of id, and cores and LLCs in order of their first CPU.
//! Invariant of a [`Layout`]: every CPU has a node, an LLC and a core. A core lies inside an LLC, and an LLC inside a
//! node.

use super::limits::MAX_CPUS;
use super::{Cpu, Llc, MemoryKind, Node};
use crate::spec::{SpecError, Spot};
use std::collections::BTreeMap;

/// Sockets, nodes, LLCs, cores and CPUs of a machine, with dense indices.
pub(super) struct Layout {
    pub sockets: usize,
    pub nodes: Vec<Node>,
    pub llcs: Vec<Llc>,
    pub cores: usize,
    pub cpus: Vec<Cpu>,
}

/// A list of CPU ids and its place in a file.
pub(super) type CpuSet = Spot<Vec<u32>>;

/// A machine by the operating system's ids, before it is checked.
pub(super) struct Draft {
    pub nodes: BTreeMap<u32, Entry>,
    /// Cores; together they must name every CPU once.
    pub cores: Vec<CpuSet>,
    /// LLCs; together they must name every CPU once.
    pub llcs: Vec<Shared>,
}

/// An LLC of a [`Draft`].
pub(super) struct Shared {
    pub cpus: CpuSet,
    pub bytes: u64,
    /// Socket, where it is another than that of its node.
    pub socket: Option<u32>,
}

/// A node of a [`Draft`].
pub(super) struct Entry {
    pub cpus: CpuSet,
    pub socket: u32,
    pub memory: Memory,
    /// Place of the size of that memory.
    pub memory_at: Spot<()>,
    pub kind: MemoryKind,
    pub tier: u8,
}

/// Memory of a node.
#[derive(Clone, Copy)]
pub(super) struct Memory {
    pub bytes: u64,
    pub peak_gbps: f64,
    pub sustained_gbps: f64,
    pub random_share: f64,
}

impl Draft {
    /// Checks the draft and numbers everything densely.
    ///
    /// # Errors
    /// A CPU in two nodes, cores or LLCs or in none; a core across LLCs; an LLC across nodes; too many CPUs.
    pub(super) fn build(self) -> Result<Layout, SpecError> {
        let node_of = owners(self.nodes.values().map(|n| &n.cpus), "node")?;
        if node_of.len() > MAX_CPUS {
            let n = self.nodes.values().find(|n| !n.cpus.value.is_empty());
            let what = format!("{} CPUs", node_of.len());
            let expected = format!("at most {MAX_CPUS}");
            return Err(
                n.map_or_else(|| SpecError::plain("machine", &what, &expected), |n| n.cpus.error(&what, &expected))
            );
        }
        let ids: Vec<u32> = node_of.keys().copied().collect();
        let mut llcs: Vec<Shared> = self.llcs.into_iter().filter(|l| !l.cpus.value.is_empty()).collect();
        llcs.sort_by_key(|l| l.cpus.value[0]);
        let mut sockets: Vec<u32> = self.nodes.values().map(|n| n.socket).collect();
        sockets.extend(llcs.iter().filter_map(|l| l.socket));
        sockets.sort_unstable();
        sockets.dedup();
        let place = |socket: &u32| sockets.binary_search(socket).unwrap_or(0);
        let socket_of: Vec<usize> = self.nodes.values().map(|n| place(&n.socket)).collect();
        let mut cores: Vec<CpuSet> = self.cores.into_iter().filter(|s| !s.value.is_empty()).collect();
        cores.sort_by_key(|s| s.value[0]);
        let llc_of = within(llcs.iter().map(|l| &l.cpus), "LLC", &node_of, "node")?;
        let core_of = within(cores.iter(), "core", &llc_of, "LLC")?;
        let cpus: Vec<Cpu> = ids
            .iter()
            .map(|id| {
                let (node, llc) = (node_of[id], llc_of[id]);
                let socket = llcs[llc].socket.as_ref().map_or(socket_of[node], place);
                Cpu { id: *id, node, llc, core: core_of[id], socket }
            })
            .collect();
        let dense = |set: &[u32]| -> Vec<usize> { set.iter().filter_map(|c| ids.binary_search(c).ok()).collect() };
        let nodes = self
            .nodes
            .iter()
            .zip(&socket_of)
            .map(|((&id, n), &socket)| Node {
                id,
                socket,
                memory_bytes: n.memory.bytes,
                cpus: sorted(dense(&n.cpus.value)),
                kind: n.kind,
                dram_peak_gbps: n.memory.peak_gbps,
                dram_sustained_gbps: n.memory.sustained_gbps,
                tier: n.tier,
                random_share: n.memory.random_share,
            })
            .collect();
        let llcs = llcs
            .iter()
            .map(|l| Llc { node: node_of[&l.cpus.value[0]], size_bytes: l.bytes, cpus: sorted(dense(&l.cpus.value)) })
            .collect();
        Ok(Layout { sockets: sockets.len(), nodes, llcs, cores: cores.len(), cpus })
    }
}

fn sorted(mut list: Vec<usize>) -> Vec<usize> {
    list.sort_unstable();
    list
}

/// The index of the set that each CPU is in.
///
/// # Errors
/// A CPU in two of `sets`.
fn owners<'a>(sets: impl Iterator<Item = &'a CpuSet>, what: &str) -> Result<BTreeMap<u32, usize>, SpecError> {
    let mut owner = BTreeMap::new();
    for (n, set) in sets.enumerate() {
        for &cpu in &set.value {
            if owner.insert(cpu, n).is_some() {
                return Err(set.error(format!("CPU {cpu} is in two {what}s"), format!("every CPU in one {what}")));
            }
        }
    }
    Ok(owner)
}

/// The index of the set that each CPU is in. Each set must lie inside one of the sets of `outer`, and the sets together
/// must have every CPU of `outer`.
fn within<'a>(
    sets: impl Iterator<Item = &'a CpuSet> + Clone,
    what: &str,
    outer: &BTreeMap<u32, usize>,
    outer_what: &str,
) -> Result<BTreeMap<u32, usize>, SpecError> {
    for set in sets.clone() {
        let first = set.value[0];
        let home = outer.get(&first);
        for cpu in &set.value {
            match outer.get(cpu) {
                None => {
                    return Err(set.error(format!("{what} with CPU {cpu}, which no node has"), "CPUs of `[[node]]`"));
                }
                other if other != home => {
                    let what = format!("{what} with CPUs {first} and {cpu}, which are in different {outer_what}s");
                    return Err(set.error(what, format!("CPUs of one {outer_what}")));
                }
                _ => {}
            }
        }
    }
    let owner = owners(sets.clone(), what)?;
    let lost = outer.keys().find(|c| !owner.contains_key(c));
    match (lost, sets.last()) {
        (Some(cpu), Some(set)) => {
            Err(set.error(format!("CPU {cpu} is in no {what}"), format!("every CPU in one {what}")))
        }
        _ => Ok(owner),
    }
}
