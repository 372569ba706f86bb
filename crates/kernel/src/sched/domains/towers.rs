//! The scheduling domains of all CPUs, and the topology that placement and balancing read.

use super::distances::NumaTopology;
use super::domain::{Cache, DomId, Domain, Group, Lead};
use super::ring::GroupId;
use crate::sched::rules::Form;
use numalab_base::cpu_set::CpuSet;

/// All towers of a machine.
#[derive(Clone, Debug)]
pub struct Domains {
    pub(super) cpus: usize,
    pub(super) form: Form,
    pub(super) ids: Vec<u32>,
    pub(super) start: Vec<u32>,
    pub(super) domains: Vec<Domain>,
    pub(super) leads: Vec<Lead>,
    pub(super) groups: Vec<Group>,
    pub(super) records: usize,
    pub(super) caches: Vec<Cache>,
    pub(super) cache_of: Vec<u32>,
    pub(super) cores: Vec<CpuSet>,
    pub(super) core_of: Vec<u32>,
    pub(super) nodes: Vec<CpuSet>,
    pub(super) node_of: Vec<u32>,
    pub(super) sd_numa: Vec<Option<DomId>>,
    pub(super) class: NumaTopology,
    pub(super) distance: Vec<u32>,
    pub(super) smt: bool,
}

impl Domains {
    /// Number of CPUs.
    pub fn cpus(&self) -> usize {
        self.cpus
    }
    /// The tower of `cpu`, bottom first. It is empty for an absent CPU and on a machine of one CPU.
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
    /// The domain with index `id`.
    pub fn domain(&self, id: DomId) -> &Domain {
        &self.domains[id as usize]
    }
    /// The CPU that balances for a domain's own group, and its parent's capacity record.
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
    /// The group with index `id`.
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
    /// Index of the last-level cache of a CPU.
    pub fn cache_of(&self, cpu: u32) -> u32 {
        self.cache_of[cpu as usize]
    }
    /// The last-level cache with this index.
    pub fn cache(&self, index: u32) -> &Cache {
        &self.caches[index as usize]
    }
    /// Number of last-level caches.
    pub fn cache_count(&self) -> usize {
        self.caches.len()
    }
    /// Whether two CPUs share the last-level cache.
    pub fn share_cache(&self, a: u32, b: u32) -> bool {
        self.cache_of[a as usize] == self.cache_of[b as usize]
    }
    /// SMT siblings of a CPU, including itself.
    pub fn siblings(&self, cpu: u32) -> &CpuSet {
        &self.cores[self.core_of[cpu as usize] as usize]
    }
    /// Whether any core has two threads.
    pub fn has_smt(&self) -> bool {
        self.smt
    }
    /// Number of nodes, including memory-only ones.
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
    /// Class of the distances between nodes.
    pub fn class(&self) -> NumaTopology {
        self.class
    }
    /// Distance between two nodes, as the firmware reports it (10 is local).
    pub fn distance(&self, a: u32, b: u32) -> u32 {
        self.distance[a as usize * self.nodes.len() + b as usize]
    }
}
