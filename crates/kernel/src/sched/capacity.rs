//! Capacity of CPUs and groups; before 5.0 threads share that of their core (`smt_gain`).

use crate::sched::domains::{Domains, Group, GroupId};
use crate::sched::rq::runqueue::Rq;
use crate::sched::rules::Balancer;
use crate::sched::state::Scheduler;

/// What all threads of a core do together, against one alone.
const SMT_GAIN: u64 = 1178;

/// Power of a CPU whose core has `threads`.
pub fn cpu_power(threads: u32) -> u64 {
    match threads {
        0 | 1 => 1024,
        n => SMT_GAIN / u64::from(n),
    }
}

/// Whole CPUs of a group with this power; `core`: its domain is a core's.
pub fn capacity(power: u64, core: bool) -> u32 {
    match ((power + 512) / 1024) as u32 {
        // Threads of a core with many of them still hold a task each.
        0 => u32::from(core),
        n => n,
    }
}

/// Tasks a group of `weight` threads has cores for: as many as cores, nor more than its capacity has whole CPUs, but one
/// for a thread (`core`: its domain is a core's).
pub fn cores_of(weight: u32, full: u64, core: bool) -> u32 {
    let threads = (1024 * u64::from(weight)).div_ceil(full.max(1)) as u32;
    match (weight / threads.max(1)).min(((full + 512) / 1024) as u32) {
        0 => u32::from(core),
        n => n,
    }
}

/// Power of a group of equal cores.
pub(in crate::sched) fn power_of(topo: &Domains, group: &Group) -> u64 {
    let threads = group.span.first().map_or(1, |c| topo.siblings(c).len());
    u64::from(group.weight) * cpu_power(threads)
}

/// Utilisation of a CPU, at most its capacity; from 4.17 on with the estimate of its tasks.
pub(in crate::sched) fn util_of(rules: Balancer, rq: &mut Rq, capacity: u64, now_ns: u64) -> u64 {
    rq.refresh(now_ns);
    let util = if rules < Balancer::V417 { rq.pelt.util } else { rq.util() };
    util.min(capacity)
}

impl Scheduler {
    /// Capacity of a CPU: threads of a core share 1178/1024 of one before 5.0 (`smt_gain`).
    pub fn capacity_of(&self, cpu: u32) -> u64 {
        match self.params.balancer < Balancer::V50 {
            true => cpu_power(self.topo.siblings(cpu).len()),
            false => 1024,
        }
    }
    /// Capacity of a group of equal cores, and of each of its CPUs.
    pub(in crate::sched) fn capacities(&self, group: GroupId) -> (u64, u64) {
        let g = self.topo.group(group);
        let each = g.span.first().map_or(1024, |c| self.capacity_of(c));
        (u64::from(g.weight) * each, each)
    }
}
