//! How long a CPU waits for a cache line that another CPU has written, and what a balance pass reads.
//!
//! A pass over a domain reads one line of the run queue of each of its CPUs (`update_sg_lb_stats`). A queue in the own
//! last-level cache costs what the machine's `balance_cpu_ns` says. One in another cache costs in addition what its
//! line takes longer from there than from the own cache ([`Machine::core_to_core_ns`]).

use crate::sched::domains::{DomId, Domains};
use numalab_nouns::machine::Machine;

/// Latencies of lines between last-level caches, and the lines of a pass over each domain.
#[derive(Clone, Debug)]
pub(in crate::sched) struct Lines {
    caches: usize,
    /// By CPU, its last-level cache.
    cache_of: Vec<u32>,
    /// By reading cache and owning cache, ns.
    ns: Vec<u32>,
    /// By domain, time for the lines of other caches, ns.
    far_ns: Vec<u64>,
}

impl Lines {
    /// The lines of `machine`, whose domains are `topo`.
    pub fn new(machine: &Machine, topo: &Domains) -> Self {
        let caches = machine.llcs.len();
        let between = |to: usize, from: usize| machine.core_to_core_ns(to, from).clamp(0.0, 1e6) as u32;
        let ns =
            (0..caches).flat_map(|to| (0..caches).map(move |from| (to, from))).map(|(t, f)| between(t, f)).collect();
        let cache_of = machine.cpus.iter().map(|c| c.llc as u32).collect();
        let mut lines = Self { caches, cache_of, ns, far_ns: Vec::new() };
        // Domains above a cache are the same for all of its CPUs.
        let mut known: Vec<Vec<(DomId, u64)>> = vec![Vec::new(); caches];
        for id in 0..topo.domain_count() as DomId {
            let d = topo.domain(id);
            let cache = lines.cache_of[d.cpu as usize] as usize;
            let same = known[cache].iter().find(|(other, _)| topo.domain(*other).span == d.span);
            let ns = same.map_or_else(|| lines.far_of(cache, d.span.iter()), |(_, ns)| *ns);
            if ns > 0 && same.is_none() {
                known[cache].push((id, ns));
            }
            lines.far_ns.push(ns);
        }
        lines
    }
    /// Lines that come at once, wherever they are.
    pub fn free(mut self) -> Self {
        self.ns.fill(0);
        self.far_ns.fill(0);
        self
    }
    fn far_of(&self, cache: usize, span: impl Iterator<Item = u32>) -> u64 {
        let row = &self.ns[cache * self.caches..][..self.caches];
        span.map(|c| u64::from(row[self.cache_of[c as usize] as usize].saturating_sub(row[cache]))).sum()
    }
    /// Time for CPU `to` to get a line that CPU `from` has written, ns.
    pub fn between_ns(&self, to: u32, from: u32) -> u64 {
        let (to, from) = (self.cache_of[to as usize] as usize, self.cache_of[from as usize] as usize);
        u64::from(self.ns[to * self.caches + from])
    }
    /// What a pass over a domain waits for lines of other caches, ns.
    pub fn far_ns(&self, dom: DomId) -> u64 {
        self.far_ns[dom as usize]
    }
}
