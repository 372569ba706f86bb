//! The idlest group and CPU before 3.11: by weights (kernel: `find_idlest_group`, `find_idlest_cpu`).

use crate::sched::capacity::power_of;
use crate::sched::domains::{DomId, GroupId};
use crate::sched::rq::sched_entity::TaskId;
use crate::sched::state::Scheduler;

/// Whether a fork leaves a group of average load `this` for the least loaded other group, of average load `least`.
pub fn fork_leaves(this: u64, least: u64, pct: u32) -> bool {
    100 * this >= u64::from(100 + (pct - 100) / 2) * least
}

impl Scheduler {
    /// The group that a fork goes to; `None` to stay in the group of `cpu`. Loads are those of all CPUs of a group,
    /// whether the task may use them or not.
    pub(in crate::sched) fn find_idlest_group_v37(&self, d: DomId, task: TaskId, cpu: u32) -> Option<GroupId> {
        let domain = self.topo.domain(d);
        let allowed = &self.masks[self.tasks[task as usize].allowed as usize];
        let mut this = 0;
        let mut least: Option<(u64, GroupId)> = None;
        for id in domain.groups.iter() {
            let group = self.topo.group(*id);
            if !group.span.intersects(allowed) {
                continue;
            }
            let load: u64 = group.span.iter().map(|c| self.rqs[c as usize].weight).sum();
            let average = load * 1024 / power_of(&self.topo, group);
            if group.span.contains(cpu) {
                this = average;
            } else if least.is_none_or(|l| average < l.0) {
                least = Some((average, *id));
            }
        }
        least.filter(|l| fork_leaves(this, l.0, domain.imbalance_pct)).map(|l| l.1)
    }
    /// The lightest CPU of the group; among equals `cpu` itself, else the first. If AutoNUMA has selected a node for
    /// the task, only CPUs of that node count; `None` if the group has none.
    pub(in crate::sched) fn find_idlest_cpu_v37(&self, group: GroupId, task: TaskId, cpu: u32) -> Option<u32> {
        let allowed = &self.masks[self.tasks[task as usize].allowed as usize];
        let key = |c: u32| (self.rqs[c as usize].weight, c != cpu, c);
        let cpus = self.topo.group(group).span.iter_and(allowed).filter(|c| self.selected_allows(task, *c));
        cpus.min_by_key(|c| key(*c))
    }
}
