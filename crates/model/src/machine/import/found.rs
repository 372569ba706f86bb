//! What an import found, and how it is made to fit a machine file.
//!
//! Problem: sources contradict the rules of a machine file in harmless ways (caches across nodes, cores without a
//! cache, memory-only nodes without a socket).
//! Approach: [`Found`] holds what was read. [`Found::partition`] turns the sharing lists of CPUs into sets that nest,
//! and notes what it had to change.
//! Units: bytes, GB/s, ns, GHz.

use crate::machine::{cpulist, MAX_CPUS, MAX_NODES};
use crate::spec::SpecError;
use std::collections::BTreeMap;

/// A node as a source describes it.
#[derive(Clone, Debug, Default)]
pub(super) struct FoundNode {
    pub id: u32,
    pub socket: Option<u32>,
    pub cpus: Vec<u32>,
    pub memory_bytes: Option<u64>,
    /// Bandwidth of the node for its own CPUs, as the source states it.
    pub gbps: Option<f64>,
    pub tier: Option<u8>,
    /// Whether the memory is CXL, if the source says so.
    pub cxl: Option<bool>,
}

impl FoundNode {
    /// Whether the node counts as CXL: as the source says, or else if it has memory and no CPUs.
    pub(super) fn is_cxl(&self) -> bool {
        self.cxl.unwrap_or(self.cpus.is_empty() && self.memory_bytes != Some(0))
    }
}

/// The CPUs that share the core and the LLC of a CPU, ascending, itself included; empty if not known.
#[derive(Clone, Debug, Default)]
pub(super) struct Sharing {
    pub core: Vec<u32>,
    pub llc: Vec<u32>,
    pub llc_bytes: Option<u64>,
}

/// Cores and LLCs as sets of CPUs that nest.
pub(super) struct Sets {
    /// The cores of more than one CPU.
    pub cores: Vec<Vec<u32>>,
    /// LLCs with their size in bytes, if known.
    pub llcs: Vec<(Vec<u32>, Option<u64>)>,
}

/// Everything that a source states.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// Name of the source: `sysfs`, `hwloc XML 2.x`, `numactl -H`.
    pub source: String,
    /// File or folder, for messages.
    pub file: String,
    /// CPU model, if known.
    pub model: Option<String>,
    pub nodes: Vec<FoundNode>,
    /// Sharing by CPU id; nothing is known of a CPU without an entry.
    pub sharing: BTreeMap<u32, Sharing>,
    /// Whether the cores in `sharing` are a guess.
    pub siblings_assumed: bool,
    pub l2_bytes: Option<u64>,
    /// Distances from 10 to 254, in the order of `nodes`.
    pub distance: Option<Vec<Vec<u8>>>,
    /// Idle latency from node to node (indices into `nodes`) where the source states it, ns.
    pub latency_ns: BTreeMap<(usize, usize), f64>,
    pub base_ghz: Option<f64>,
    pub single_ghz: Option<f64>,
    /// What was odd or had to be assumed, one phrase each.
    pub notes: Vec<String>,
}

impl Found {
    /// Sorts the nodes by id and refuses what no machine has. Distances and latencies must not be set yet.
    ///
    /// # Errors
    /// There is no CPU, there are too many CPUs or nodes, or a node or CPU is named twice.
    pub(super) fn settle_nodes(&mut self) -> Result<(), SpecError> {
        self.nodes.sort_by_key(|n| n.id);
        let refuse = |what: String, expected: &str| Err(SpecError::plain(&self.file, what, expected));
        if let Some(w) = self.nodes.windows(2).find(|w| w[0].id == w[1].id) {
            return refuse(format!("node {} is described twice", w[0].id), "every node once");
        }
        if self.nodes.len() > MAX_NODES {
            return refuse(format!("{} nodes", self.nodes.len()), &format!("at most {MAX_NODES}"));
        }
        let mut cpus: Vec<u32> = self.nodes.iter().flat_map(|n| n.cpus.iter().copied()).collect();
        if cpus.is_empty() {
            return refuse("no CPU belongs to any node".into(), "at least one CPU");
        }
        if cpus.len() > MAX_CPUS {
            return refuse(format!("{} CPUs", cpus.len()), &format!("at most {MAX_CPUS}"));
        }
        cpus.sort_unstable();
        if let Some(w) = cpus.windows(2).find(|w| w[0] == w[1]) {
            return refuse(format!("CPU {} is in two nodes", w[0]), "every CPU in one node");
        }
        for n in &mut self.nodes {
            n.cpus.sort_unstable();
        }
        Ok(())
    }

    /// A distance as a source states it.
    ///
    /// # Errors
    /// The value is not from 10 to 254; 255 and 0 mean that there is no path.
    pub(super) fn distance_value(value: u64, from: u32, to: u32) -> Result<u8, String> {
        match u8::try_from(value) {
            Ok(d @ 10..=254) => Ok(d),
            Ok(0 | 255) => Err(format!("node {from} has no path to node {to} (distance {value})")),
            _ => Err(format!("distance {value} from node {from} to {to}")),
        }
    }

    /// Cores and LLCs as sets that nest: a core inside an LLC, an LLC inside a node. If the LLC of some CPU is not
    /// known, no LLC is returned at all.
    pub(super) fn partition(&mut self) -> Sets {
        let (mut cores, mut llcs) = (Vec::new(), Vec::new());
        let mut split = Vec::new();
        for node in &self.nodes {
            let mut free: Vec<u32> = node.cpus.clone();
            while let Some(&cpu) = free.first() {
                let Some(s) = self.sharing.get(&cpu).filter(|s| s.llc.binary_search(&cpu).is_ok()) else {
                    free.remove(0);
                    continue;
                };
                let set: Vec<u32> = free.iter().copied().filter(|c| s.llc.binary_search(c).is_ok()).collect();
                let outside = s.llc.iter().filter(|c| node.cpus.binary_search(c).is_err()).count();
                // An LLC across nodes is cut at the border, and its capacity is divided in proportion.
                let part = s.llc_bytes.map(|b| b / s.llc.len() as u64 * (s.llc.len() - outside) as u64);
                if outside > 0 {
                    split.push(node.id);
                }
                free.retain(|c| !set.contains(c));
                llcs.push((set, if outside > 0 { part } else { s.llc_bytes }));
            }
            let bounds: Vec<&Vec<u32>> = llcs.iter().map(|(s, _): &(Vec<u32>, _)| s).collect();
            cores.extend(self.cores_of(&node.cpus, &bounds));
        }
        let known: usize = llcs.iter().map(|(s, _)| s.len()).sum();
        let all: usize = self.nodes.iter().map(|n| n.cpus.len()).sum();
        if known < all {
            if known > 0 {
                self.notes.push("some CPUs have no last-level cache in the source: one for each node".into());
            }
            llcs.clear();
        } else if !split.is_empty() {
            let ids = cpulist::format(
                &split.iter().copied().collect::<std::collections::BTreeSet<_>>().into_iter().collect::<Vec<_>>(),
            );
            self.notes.push(format!("last-level caches across nodes, cut at the border of nodes {ids}"));
        }
        Sets { cores, llcs }
    }

    /// Cores of more than one CPU among `cpus`, cut at the borders of LLCs.
    fn cores_of(&self, cpus: &[u32], llcs: &[&Vec<u32>]) -> Vec<Vec<u32>> {
        let mut free = cpus.to_vec();
        let mut out = Vec::new();
        while let Some(&cpu) = free.first() {
            let llc = llcs.iter().find(|l| l.contains(&cpu));
            let own = |c: u32| self.sharing.get(&cpu).is_some_and(|s| s.core.binary_search(&c).is_ok());
            let together = |c: u32| c == cpu || (own(c) && llc.is_none_or(|l| l.contains(&c)));
            let set: Vec<u32> = free.iter().copied().filter(|&c| together(c)).collect();
            free.retain(|c| !set.contains(c));
            if set.len() > 1 {
                out.push(set);
            }
        }
        out
    }
}
