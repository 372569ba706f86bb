//! Scheduling domains: which CPUs balance with which, at what intervals (kernel-scheduler.md §1).
//!
//! Problem: placement and balancing walk a tower of ever larger CPU sets, private to each CPU, whose shape
//! (and whose *removed* levels) decide thresholds, flags and intervals.
//! Approach: [`Domains::build`] makes the complete tower from the level list, computes groups and `imb_numa_nr` on
//! it, and only then removes levels without effect, in the kernel's order. Domains of a CPU lie contiguously,
//! bottom first; groups of non-NUMA levels are shared, those of NUMA levels are private to their domain.
//! Units: CPUs; intervals in ms. Invariants: the first group of a domain's ring contains its CPU; a child's span is a
//! subset of its parent's; the top domain of a CPU spans the machine.

mod build;
mod constants;
mod degenerate;
mod describe;
mod flags;
mod groups;
mod levels;

pub use constants::{BusyPace, Constants};
pub use flags::Flags;
pub use levels::{Level, NumaTopology};

use super::config::Form;
use super::cpuset::CpuSet;

/// Index of a domain (CPU, level) in [`Domains::domain`].
pub type DomId = u32;
/// Index of a group in [`Domains::group`].
pub type GroupId = u32;

/// Capacity of a CPU of a symmetric machine.
pub const CAPACITY: u64 = 1024;

/// A domain of one CPU.
#[derive(Clone, Debug)]
pub struct Domain {
    /// CPU it belongs to.
    pub cpu: u32,
    /// Level.
    pub level: Level,
    /// Flags.
    pub flags: Flags,
    /// CPUs.
    pub span: CpuSet,
    /// Number of CPUs.
    pub weight: u32,
    /// Minimum balance interval, ms: the CPUs of the level's mask, or 1 inside a node before 3.16.
    pub interval_ms: u32,
    /// Maximum balance interval, ms.
    pub max_interval_ms: u32,
    /// Intervals of a busy CPU.
    pub busy: BusyPace,
    /// Groups in ring order, the own one first.
    pub groups: Vec<GroupId>,
    /// How much busier counts as imbalanced, percent.
    pub imbalance_pct: u32,
    /// Failed passes before hot tasks move; two more before running ones do.
    pub cache_nice_tries: u32,
    /// Tolerated tasks of the local node, computed on the undegenerated tower; read on NUMA domains only.
    pub imb_numa_nr: u32,
}

/// A group of a domain.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// CPUs.
    pub span: CpuSet,
    /// Number of CPUs.
    pub weight: u32,
    /// Flags of the child domain it was made from.
    pub flags: Flags,
    /// Distinct SMT cores.
    pub cores: u32,
    /// CPUs that may balance on behalf of the group.
    pub balance_mask: CpuSet,
    /// Lowest of them.
    pub balance_cpu: u32,
    /// Capacity record (carries the `imbalance` flag); groups of one level with one balance CPU share it.
    pub record: u32,
}

/// What every pass of a domain asks for, in one place: most passes find that another CPU balances, and end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sched) struct Lead {
    /// CPU that balances for the domain's own group, if it has one, while no CPU is idle.
    pub balance_cpu: Option<u32>,
    /// Capacity record of the parent's own group.
    pub parent_record: Option<u32>,
}

/// A last-level cache as the scheduler sees it (`sd_llc`).
#[derive(Clone, Debug)]
pub struct Cache {
    /// CPUs.
    pub span: CpuSet,
    /// Number of CPUs (`llc_size`).
    pub size: u32,
    /// Whether a domain with SHARE_LLC exists (not for a cache of one CPU).
    pub has_domain: bool,
}

/// All towers of a machine.
#[derive(Clone, Debug)]
pub struct Domains {
    cpus: usize,
    form: Form,
    ids: Vec<u32>,
    start: Vec<u32>,
    domains: Vec<Domain>,
    leads: Vec<Lead>,
    groups: Vec<Group>,
    records: usize,
    caches: Vec<Cache>,
    cache_of: Vec<u32>,
    cores: Vec<CpuSet>,
    core_of: Vec<u32>,
    nodes: Vec<CpuSet>,
    node_of: Vec<u32>,
    sd_numa: Vec<Option<DomId>>,
    class: NumaTopology,
    distance: Vec<u32>,
    smt: bool,
}

impl Domains {
    /// Number of CPUs.
    pub fn cpus(&self) -> usize {
        self.cpus
    }
    /// The tower of `cpu`, bottom first; empty for an absent CPU or a one-CPU machine.
    pub fn tower(&self, cpu: u32) -> &[Domain] {
        self.range(cpu).and_then(|r| self.domains.get(r)).unwrap_or(&[])
    }
    fn range(&self, cpu: u32) -> Option<std::ops::Range<usize>> {
        let c = cpu as usize;
        Some(*self.start.get(c)? as usize..*self.start.get(c + 1)? as usize)
    }
    /// Domain indices of `cpu`, bottom first.
    pub fn ids(&self, cpu: u32) -> std::ops::Range<DomId> {
        self.start[cpu as usize]..self.start[cpu as usize + 1]
    }
    /// A domain.
    pub fn domain(&self, id: DomId) -> &Domain {
        &self.domains[id as usize]
    }
    /// Who balances for a domain's own group.
    pub(in crate::sched) fn lead(&self, id: DomId) -> Lead {
        self.leads[id as usize]
    }
    /// The next larger domain of the same CPU.
    pub fn parent(&self, id: DomId) -> Option<DomId> {
        (id + 1 < self.start[self.domains[id as usize].cpu as usize + 1]).then_some(id + 1)
    }
    /// The next smaller domain of the same CPU.
    pub fn child(&self, id: DomId) -> Option<DomId> {
        (id > self.start[self.domains[id as usize].cpu as usize]).then(|| id - 1)
    }
    /// A group.
    pub fn group(&self, id: GroupId) -> &Group {
        &self.groups[id as usize]
    }
    /// Number of domains of all CPUs.
    pub fn domain_count(&self) -> usize {
        self.domains.len()
    }
    /// Number of capacity records.
    pub fn record_count(&self) -> usize {
        self.records
    }
    /// Cache index of a CPU.
    pub fn cache_of(&self, cpu: u32) -> u32 {
        self.cache_of[cpu as usize]
    }
    /// A cache.
    pub fn cache(&self, index: u32) -> &Cache {
        &self.caches[index as usize]
    }
    /// Number of caches.
    pub fn cache_count(&self) -> usize {
        self.caches.len()
    }
    /// Whether both CPUs share the last-level cache.
    pub fn share_cache(&self, a: u32, b: u32) -> bool {
        self.cache_of[a as usize] == self.cache_of[b as usize]
    }
    /// SMT siblings of a CPU, itself included.
    pub fn siblings(&self, cpu: u32) -> &CpuSet {
        &self.cores[self.core_of[cpu as usize] as usize]
    }
    /// Whether any core has two threads.
    pub fn has_smt(&self) -> bool {
        self.smt
    }
    /// Number of nodes, memory-only ones included.
    pub fn node_count(&self) -> usize {
        self.nodes.len()
    }
    /// CPUs of a node.
    pub fn node(&self, node: u32) -> &CpuSet {
        &self.nodes[node as usize]
    }
    /// Node of a CPU.
    pub fn node_of(&self, cpu: u32) -> u32 {
        self.node_of[cpu as usize]
    }
    /// Lowest NUMA domain of a CPU.
    pub fn sd_numa(&self, cpu: u32) -> Option<DomId> {
        self.sd_numa[cpu as usize]
    }
    /// Topology class.
    pub fn class(&self) -> NumaTopology {
        self.class
    }
    /// Firmware distance between nodes.
    pub fn distance(&self, a: u32, b: u32) -> u32 {
        self.distance[a as usize * self.nodes.len() + b as usize]
    }
}
