//! Capacity of CPUs and groups. Before 5.0 the threads of a core share its capacity (`smt_gain`).

use crate::sched::domains::{Domains, Group, GroupId};
use crate::sched::rq::runqueue::Rq;
use crate::sched::rules::Balancer;
use crate::sched::state::Scheduler;

/// Capacity of all threads of a core together, where one thread alone has 1024.
const SMT_GAIN: u64 = 1178;

/// Capacity of a CPU whose core has `threads` (`cpu_power`), before 5.0.
pub fn cpu_power(threads: u32) -> u64 {
    match threads {
        0 | 1 => 1024,
        n => SMT_GAIN / u64::from(n),
    }
}

/// Number of whole CPUs in a group with this capacity; `core`: the group is in a domain of one core.
pub fn capacity(power: u64, core: bool) -> u32 {
    match ((power + 512) / 1024) as u32 {
        // A thread of a core with many threads still holds a task.
        0 => u32::from(core),
        n => n,
    }
}

/// Number of tasks for which a group of `weight` threads has cores (`group_capacity_factor`). It is at most the number
/// of cores and at most the whole CPUs of the capacity `full`. A thread holds one (`core`: the domain is a core).
pub fn cores_of(weight: u32, full: u64, core: bool) -> u32 {
    let threads = (1024 * u64::from(weight)).div_ceil(full.max(1)) as u32;
    match (weight / threads.max(1)).min(((full + 512) / 1024) as u32) {
        0 => u32::from(core),
        n => n,
    }
}

/// Capacity of a group of equal cores, before 5.0.
pub(in crate::sched) fn power_of(topo: &Domains, group: &Group) -> u64 {
    let threads = group.span.first().map_or(1, |c| topo.siblings(c).len());
    u64::from(group.weight) * cpu_power(threads)
}

/// Utilisation of a CPU, at most its capacity. From 4.17 on it includes the estimate of its tasks.
pub(in crate::sched) fn util_of(rules: Balancer, rq: &mut Rq, capacity: u64, now_ns: u64) -> u64 {
    rq.refresh(now_ns);
    let util = if rules < Balancer::V417 { rq.pelt.util } else { rq.util() };
    util.min(capacity)
}

impl Scheduler {
    /// Capacity of a CPU. Before 5.0 the threads of a core share 1178 (`smt_gain`), from 5.0 on each has 1024.
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
