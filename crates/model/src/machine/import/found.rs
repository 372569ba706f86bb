//! What an import found, and how it is made to fit a machine file.
//!
//! Problem: sources contradict the rules of a machine file in harmless ways (caches across nodes, cores without a
//! cache, memory-only nodes without a socket, several packages in a node).
//! Approach: [`Found`] holds what was read. [`Found::partition`] turns the sharing lists of CPUs into sets that nest,
//! and notes what it had to change.
//! Units: bytes, GB/s, ns, GHz.

use super::declared::Declared;
use super::origin::Origin;
use crate::machine::distance::{complete, Completed, Place, OPEN};
use crate::machine::{cpulist, MemoryKind, DOUBT, MAX_CPUS, MAX_NODES};
use crate::spec::SpecError;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A node as a source describes it.
#[derive(Clone, Debug, Default)]
pub(super) struct FoundNode {
    pub id: u32,
    /// Packages of its CPUs, or that hold its memory, ascending; empty if not known.
    pub packages: Vec<u32>,
    pub cpus: Vec<u32>,
    pub memory_bytes: Option<u64>,
    /// Bandwidth of the node for its own CPUs, as the source states it: reads, and writes.
    pub gbps: Option<f64>,
    pub write_gbps: Option<f64>,
    /// Peak of its memory modules.
    pub peak_gbps: Option<f64>,
    pub tier: Option<u8>,
    /// Technology of the memory, if the source names it.
    pub kind: Option<MemoryKind>,
    /// Technology in the file, and how it is known; set by `kind::settle`.
    pub settled: Option<(MemoryKind, Origin)>,
}

impl FoundNode {
    /// Technology of the memory in the file.
    pub(super) fn memory_kind(&self) -> MemoryKind {
        self.settled.map_or(MemoryKind::Dram, |(kind, _)| kind)
    }
}

/// The package of a CPU, and the CPUs that share its core and its LLC, ascending, itself included; empty if not known.
/// The CPUs of a set hold it together: with a list each, memory would grow with the square of their number.
#[derive(Clone, Debug, Default)]
pub(super) struct Sharing {
    pub core: Arc<Vec<u32>>,
    pub llc: Arc<Vec<u32>>,
    pub llc_bytes: Option<u64>,
    pub package: Option<u32>,
}

/// CPUs of one node that the source leaves out, and their package.
pub(super) type Lost = (Vec<u32>, Option<u32>);

/// Cores and LLCs as sets of CPUs that nest.
pub(super) struct Sets {
    /// The cores of more than one CPU.
    pub cores: Vec<Vec<u32>>,
    pub llcs: Vec<CacheSet>,
}

/// An LLC: its CPUs, and its size in bytes and its package, if known.
pub(super) struct CacheSet {
    pub cpus: Vec<u32>,
    pub bytes: Option<u64>,
    pub package: Option<u32>,
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
    /// Nodes that were made for CPUs outside any node of the source.
    pub adopted: Vec<u32>,
    /// Sharing by CPU id; nothing is known of a CPU without an entry.
    pub sharing: BTreeMap<u32, Sharing>,
    /// Whether the cores in `sharing` are a guess.
    pub siblings_assumed: bool,
    /// Whether the packages in `sharing` are a guess.
    pub packages_assumed: bool,
    /// Whether the sizes of caches are a guess.
    pub caches_assumed: bool,
    pub l2_bytes: Option<u64>,
    /// Distances from 10 to 254, in the order of `nodes`; `None` where the source says nothing of a pair.
    pub distance: Option<Vec<Vec<Option<u8>>>>,
    /// Idle latency from node to node (indices into `nodes`) where the source states it, ns.
    pub latency_ns: BTreeMap<(usize, usize), f64>,
    pub base_ghz: Option<f64>,
    pub single_ghz: Option<f64>,
    /// Totals that the source states.
    pub declared: Declared,
    /// Whether the totals were compared.
    pub is_checked: bool,
    /// Whether the machine has CPUs that the source hides, and whose nodes it does not tell.
    pub hidden_cpus: bool,
    /// Latency of sampled loads from remote memory by that from local memory.
    pub remote_ratio: Option<f64>,
    /// How cores, and last-level caches, were guessed, one phrase each.
    pub sibling_notes: Vec<String>,
    pub cache_notes: Vec<String>,
    /// What else was odd or had to be assumed, one phrase each.
    pub notes: Vec<String>,
}

impl Found {
    /// Notes that two things which were read do not agree.
    pub(super) fn doubt(&mut self, what: impl std::fmt::Display) {
        self.notes.push(format!("{DOUBT}{what}"));
    }

    /// Makes a node without memory of each group of CPUs that no node of the source has, with the group's package. The
    /// nodes get the ids of `free` and then new ones. To be called before the nodes are settled.
    pub(super) fn adopt(&mut self, groups: Vec<Lost>, free: &[u32]) {
        if groups.is_empty() {
            return;
        }
        let last = self.nodes.iter().map(|n| n.id).chain(free.iter().copied()).max();
        let new = last.map_or(0, |l| l + 1)..;
        let mut cpus = Vec::new();
        for ((own, package), id) in groups.into_iter().zip(free.iter().copied().chain(new)) {
            cpus.extend(own.iter().copied());
            self.adopted.push(id);
            let packages = package.into_iter().collect();
            self.nodes.push(FoundNode { id, packages, cpus: own, memory_bytes: Some(0), ..FoundNode::default() });
        }
        cpus.sort_unstable();
        self.notes.push(format!(
            "no node of the source has CPU {}: they are nodes without memory, {}",
            cpulist::format(&cpus),
            cpulist::format(&self.adopted)
        ));
    }

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

    /// A distance as a source states it; `None` for 255 and 0, which say nothing.
    ///
    /// # Errors
    /// The value is not from 10 to 255, and not 0.
    pub(super) fn distance_value(value: u64, from: u32, to: u32) -> Result<Option<u8>, String> {
        match u8::try_from(value) {
            Ok(0 | OPEN) => Ok(None),
            Ok(d @ 10..) => Ok(Some(d)),
            _ => Err(format!("distance {value} from node {from} to {to}")),
        }
    }

    /// The socket of every node: the first package of its CPUs, or one of its own where the source names none. Memory
    /// without CPUs is on the socket of the nearest node with CPUs.
    pub(super) fn sockets(&self) -> Vec<u32> {
        let known = self.nodes.iter().filter_map(|n| n.packages.first()).max();
        let free = |i: usize| match known {
            // Ids of packages and nodes may coincide.
            Some(most) => most + 1 + i as u32,
            None => self.nodes[i].id,
        };
        let own = |i: usize| self.nodes[i].packages.first().copied().unwrap_or_else(|| free(i));
        let with_cpus: Vec<usize> = (0..self.nodes.len()).filter(|&n| !self.nodes[n].cpus.is_empty()).collect();
        let table = self.distance.as_ref();
        let far = |c: usize, n: usize| table.and_then(|t| t[c][n].or(t[n][c])).unwrap_or(OPEN);
        let socket = |n: usize| {
            let node = &self.nodes[n];
            if !node.packages.is_empty() || !node.cpus.is_empty() {
                return own(n);
            }
            with_cpus.iter().min_by_key(|&&c| (far(c, n), c)).map_or_else(|| own(n), |&c| own(c))
        };
        (0..self.nodes.len()).map(socket).collect()
    }

    /// Distances as read. What the source leaves open follows from the rest (`machine::distance`), or is 10 and 20, as
    /// Linux assumes without a table.
    pub(super) fn distances(&mut self, sockets: &[u32]) -> Vec<Vec<u8>> {
        let n = self.nodes.len();
        let Some(table) = &self.distance else {
            if n > 1 {
                self.notes.push("no distances in the source: 10 and 20, as Linux does without a table".into());
            }
            return (0..n).map(|i| (0..n).map(|j| if i == j { 10 } else { 20 }).collect()).collect();
        };
        let place = |i: usize| Place { socket: sockets[i] as usize, has_cpus: !self.nodes[i].cpus.is_empty() };
        let Completed { distance, open } = complete(table, &(0..n).map(place).collect::<Vec<_>>());
        if let Some(&(i, j)) = open.first() {
            let (a, b, d) = (self.nodes[i].id, self.nodes[j].id, distance[i][j]);
            self.notes.push(format!(
                "{} distance{} that the source does not tell (255 or missing): from the opposite direction or from nodes \
                 so related, such as {d} from node {a} to {b}",
                open.len(),
                if open.len() == 1 { "" } else { "s" },
            ));
        }
        distance
    }

    /// Cores and LLCs as sets that nest: a core inside an LLC, an LLC inside a node. If the LLC of some CPU is not
    /// known, no LLC is returned; but where a node has several packages, each has one.
    pub(super) fn partition(&mut self) -> Sets {
        let (mut llcs, split) = self.told_caches();
        let known: usize = llcs.iter().map(|l| l.cpus.len()).sum();
        let all: usize = self.nodes.iter().map(|n| n.cpus.len()).sum();
        let several = self.nodes.iter().any(|n| n.packages.len() > 1);
        if known < all && several {
            llcs = self.package_sets();
            self.notes.push("one last-level cache for each package of a node".into());
        }
        let bounds: Vec<&Vec<u32>> = llcs.iter().map(|l| &l.cpus).collect();
        let cores = self.nodes.iter().flat_map(|n| self.cores_of(&n.cpus, &bounds)).collect();
        if known < all && !several {
            if known > 0 {
                self.notes.push("some CPUs have no last-level cache in the source: one for each node".into());
            }
            llcs.clear();
        } else if !split.is_empty() && known == all {
            let ids = cpulist::format(&split.into_iter().collect::<Vec<_>>());
            self.notes.push(format!("last-level caches across nodes, cut at the border of nodes {ids}"));
        }
        Sets { cores, llcs }
    }

    /// The LLCs that the source tells, cut at the borders of nodes, and the nodes where one was cut.
    fn told_caches(&self) -> (Vec<CacheSet>, BTreeSet<u32>) {
        let (mut llcs, mut split) = (Vec::new(), BTreeSet::new());
        for node in &self.nodes {
            let mut free: Vec<u32> = node.cpus.clone();
            while let Some(&cpu) = free.first() {
                let Some(s) = self.sharing.get(&cpu).filter(|s| s.llc.binary_search(&cpu).is_ok()) else {
                    free.remove(0);
                    continue;
                };
                let cpus: Vec<u32> = free.iter().copied().filter(|c| s.llc.binary_search(c).is_ok()).collect();
                let outside = s.llc.iter().filter(|c| node.cpus.binary_search(c).is_err()).count();
                // An LLC across nodes is cut at the border, and its capacity is divided in proportion.
                let part = s.llc_bytes.map(|b| b / s.llc.len() as u64 * (s.llc.len() - outside) as u64);
                if outside > 0 {
                    split.insert(node.id);
                }
                free.retain(|c| !cpus.contains(c));
                let bytes = if outside > 0 { part } else { s.llc_bytes };
                llcs.push(CacheSet { cpus, bytes, package: s.package });
            }
        }
        (llcs, split)
    }

    /// The CPUs of each package of each node.
    fn package_sets(&self) -> Vec<CacheSet> {
        let mut sets = Vec::new();
        for node in &self.nodes {
            let mut packages: BTreeMap<Option<u32>, Vec<u32>> = BTreeMap::new();
            for &cpu in &node.cpus {
                packages.entry(self.sharing.get(&cpu).and_then(|s| s.package)).or_default().push(cpu);
            }
            sets.extend(packages.into_iter().map(|(package, cpus)| CacheSet { cpus, bytes: None, package }));
        }
        sets
    }

    /// Notes that the source names no package.
    pub(super) fn note_sockets(&mut self) {
        let with = self.nodes.iter().filter(|n| !n.cpus.is_empty());
        if with.clone().count() > 1 && with.clone().all(|n| n.packages.is_empty()) {
            self.notes.push("one socket for each node with CPUs (the source names no sockets)".into());
        }
    }

    /// Notes packages that share a node, and packages that no LLC of their own tells from the others.
    pub(super) fn note_packages(&mut self, llcs: &[CacheSet]) {
        let shared: Vec<&FoundNode> = self.nodes.iter().filter(|n| n.packages.len() > 1).collect();
        let Some(first) = shared.first() else { return };
        let (packages, id) = (cpulist::format(&first.packages), first.id);
        let more =
            if shared.len() > 1 { format!(", and more in {} other nodes", shared.len() - 1) } else { String::new() };
        let kept: BTreeSet<u32> = llcs.iter().filter_map(|l| l.package).collect();
        let lost: Vec<u32> = shared.iter().flat_map(|n| &n.packages).copied().filter(|p| !kept.contains(p)).collect();
        self.notes.push(format!(
            "packages {packages} are all in node {id}{more}: sockets of their own, which share the memory and its \
             latency; Linux too knows nothing of packages inside a node"
        ));
        if !lost.is_empty() {
            let ids = cpulist::format(&lost);
            self.notes.push(format!("package {ids} shares its last-level cache with another, whose socket it is on"));
        }
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
