//! The idlest group and CPU from 3.11 to 5.4: by load averages (kernel: `find_idlest_group`, `find_idlest_cpu`).

use super::find_idlest_v37::fork_leaves;
use crate::sched::domains::{DomId, Flags, GroupId};
use crate::sched::rq::sched_entity::TaskId;
use crate::sched::rules::Balancer;
use crate::sched::state::Scheduler;

/// Loads of a group that a task may go to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GroupLoads {
    /// Σ loads of queued tasks, per capacity.
    pub queued: u64,
    /// Σ loads of queued and sleeping tasks, per capacity.
    pub load: u64,
}

/// The search of 4.10 to 5.4 for the idlest group.
#[derive(Clone, Copy, Debug)]
pub struct Idlest {
    least: (u64, u64),
    this: (u64, u64),
    idlest: Option<GroupId>,
    slack: u64,
    scale: u64,
}

impl Idlest {
    /// A search that has seen no group, in a domain with this threshold.
    pub fn new(imbalance_pct: u32) -> Self {
        let over = u64::from(imbalance_pct) - 100;
        let unknown = (u64::MAX, u64::MAX);
        let slack = 1024 * over / 100;
        let scale = 100 + over / 2;
        Self { least: unknown, this: unknown, idlest: None, slack, scale }
    }
    /// Adds the group that the task comes from.
    pub fn see_local(&mut self, loads: GroupLoads) {
        self.this = (loads.queued, loads.load);
    }
    /// Adds another group.
    pub fn see(&mut self, id: GroupId, loads: GroupLoads) {
        let (queued, load) = self.least;
        if queued > loads.queued + self.slack {
            self.least = (loads.queued, loads.load);
            self.idlest = Some(id);
        } else if loads.queued < queued.saturating_add(self.slack) && load.saturating_mul(100) > self.scale * loads.load
        {
            // Queued loads are close, so loads with sleeping tasks decide.
            self.least.1 = loads.load;
            self.idlest = Some(id);
        }
    }
    /// The group that the task goes to; `None` to stay. `prefers_node`: the domain crosses nodes, which the kernel
    /// considers from 4.17 on.
    pub fn choose(&self, prefers_node: bool) -> Option<GroupId> {
        let idlest = self.idlest?;
        let (least, this) = (self.least.0.saturating_add(self.slack), self.this.0.wrapping_add(self.slack));
        if prefers_node && least >= self.this.0 {
            return None;
        }
        // The kernel's sum wraps if the task may not run in its own group.
        if self.least.0 > this {
            return None;
        }
        let close = self.this.0 < least && self.this.1.saturating_mul(100) < self.scale.saturating_mul(self.least.1);
        (!close).then_some(idlest)
    }
}

impl Scheduler {
    /// The group that a fork goes to; `None` to stay in the group of `cpu`. Loads are those of all CPUs of a group,
    /// whether the task may use them or not.
    pub(in crate::sched) fn find_idlest_group_v311(&mut self, d: DomId, task: TaskId, cpu: u32) -> Option<GroupId> {
        let domain = self.topo.domain(d);
        let (pct, numa, groups) = (domain.imbalance_pct, domain.flags.has(Flags::NUMA), domain.groups.len());
        let rules = self.params.balancer;
        let mut search = Idlest::new(pct);
        let (mut this, mut least) = (0, None::<(u64, GroupId)>);
        for i in 0..groups {
            let id = self.topo.domain(d).groups[i];
            let allowed = &self.masks[self.tasks[task as usize].allowed as usize];
            if !self.topo.group(id).span.intersects(allowed) {
                continue;
            }
            let loads = self.group_loads_v311(id);
            if self.topo.group(id).span.contains(cpu) {
                this = loads.queued;
                search.see_local(loads);
                continue;
            }
            search.see(id, loads);
            if least.is_none_or(|l| loads.queued < l.0) {
                least = Some((loads.queued, id));
            }
        }
        if rules < Balancer::V413 {
            return least.filter(|l| fork_leaves(this, l.0, pct)).map(|l| l.1);
        }
        search.choose(numa && rules >= Balancer::V417)
    }
    /// Loads of a group.
    fn group_loads_v311(&mut self, id: GroupId) -> GroupLoads {
        let (full, _) = self.capacities(id);
        let Self { topo, rqs, tasks, now, .. } = self;
        let mut loads = GroupLoads::default();
        for c in topo.group(id).span.iter() {
            loads.queued += rqs[c as usize].queued_load(tasks, *now);
            rqs[c as usize].refresh(*now);
            loads.load += rqs[c as usize].pelt.load;
        }
        loads.queued = loads.queued * 1024 / full.max(1);
        loads.load = loads.load * 1024 / full.max(1);
        loads
    }
    /// The CPU of a group to start on: the one that became idle last (3.18 on), else the one with the least load. Up to
    /// 4.15 `cpu` itself wins among equals.
    pub(in crate::sched) fn find_idlest_cpu_v311(&mut self, group: GroupId, task: TaskId, cpu: u32) -> u32 {
        let rules = self.params.balancer;
        let Self { topo, rqs, tasks, masks, idle, now, .. } = self;
        let allowed = &masks[tasks[task as usize].allowed as usize];
        let mut idled: Option<(u64, u32)> = None;
        let mut lightest = (u64::MAX, cpu);
        for c in topo.group(group).span.iter_and(allowed) {
            if rules >= Balancer::V318 && idle.contains(c) {
                let stamp = rqs[c as usize].idle_stamp;
                if idled.is_none_or(|(latest, _)| stamp > latest) {
                    idled = Some((stamp, c));
                }
            } else if idled.is_none() {
                let load = rqs[c as usize].queued_load(tasks, *now);
                let own = load == lightest.0 && c == cpu && rules < Balancer::V417;
                if load < lightest.0 || own {
                    lightest = (load, c);
                }
            }
        }
        idled.map_or(lightest.1, |(_, c)| c)
    }
}
