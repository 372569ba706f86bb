//! The slow path of fork: the idlest group, then the idlest CPU, level by level (kernel-scheduler.md §3.5–3.7).

use crate::sched::domains::{DomId, Flags, GroupId};
use crate::sched::imbalance::ForkSides;
use crate::sched::rq::sched_entity::{TaskId, NO_NODE};
use crate::sched::rules::Balancer;
use crate::sched::state::sg_lb_stats::{GroupType, SgLbStats};
use crate::sched::state::Scheduler;

/// Load to which `imbalance_pct` applies when average loads are compared by difference.
const LOAD_SCALE: u64 = 1024;

/// A group that a task may go to.
#[derive(Clone, Copy, Debug)]
struct Choice {
    group: GroupId,
    stats: SgLbStats,
}

/// Whether `new` is idler than `best`. With `ties`, utilisation decides between groups with as many idle CPUs (5.9 on).
fn update_pick_idlest(new: &SgLbStats, best: &SgLbStats, ties: bool) -> bool {
    if new.kind != best.kind {
        return new.kind < best.kind;
    }
    match new.kind {
        GroupType::Overloaded | GroupType::FullyBusy => new.avg_load < best.avg_load,
        GroupType::HasSpare => {
            new.idle_cpus > best.idle_cpus || (ties && new.idle_cpus == best.idle_cpus && new.util < best.util)
        }
        GroupType::Imbalanced | GroupType::LlcBalance | GroupType::SmtBalance => false,
    }
}

/// Whether a task leaves `local` for the idlest group, both loaded. The arguments are average loads.
pub fn load_leaves(local: u64, idlest: u64, imbalance_pct: u32, numa: bool) -> bool {
    let pct = u64::from(imbalance_pct);
    let slack = LOAD_SCALE * (pct - 100) / 100;
    if numa && idlest + slack >= local {
        return false;
    }
    idlest < local + slack && 100 * local > pct * idlest
}

impl Scheduler {
    pub(super) fn sched_balance_find_dst_cpu(&mut self, task: TaskId, from: u32, top: DomId) -> u32 {
        let mask = self.tasks[task as usize].allowed as usize;
        if !self.topo.domain(top).span.intersects(&self.masks[mask]) {
            return from;
        }
        let mut cpu = from;
        let mut chosen = Some(from);
        let mut at = Some(top);
        while let Some(d) = at {
            if !self.topo.domain(d).flags.has(Flags::FORK) {
                at = self.topo.child(d);
                continue;
            }
            let group = self.sched_balance_find_dst_group(d, task, cpu);
            if let Some(g) = group {
                chosen = self.sched_balance_find_dst_group_cpu(g, task, cpu);
            }
            let Some(next) = chosen.filter(|c| group.is_some() && *c != cpu) else {
                at = self.topo.child(d);
                continue;
            };
            cpu = next;
            let limit = self.topo.domain(d).weight;
            let below = self.topo.ids(cpu).take_while(|d| self.topo.domain(*d).weight < limit);
            at = below.filter(|d| self.topo.domain(*d).flags.has(Flags::FORK)).last();
        }
        chosen.unwrap_or(from)
    }
    /// The group that `task` goes to; `None` to stay in the group of `cpu`.
    fn sched_balance_find_dst_group(&mut self, d: DomId, task: TaskId, cpu: u32) -> Option<GroupId> {
        if self.params.balancer.by_load() {
            return match self.params.balancer {
                Balancer::V37 => self.find_idlest_group_v37(d, task, cpu),
                _ => self.find_idlest_group_v311(d, task, cpu),
            };
        }
        let mut local: Option<Choice> = None;
        let mut idlest: Option<Choice> = None;
        for i in 0..self.topo.domain(d).groups.len() {
            let group = self.topo.domain(d).groups[i];
            let mask = self.tasks[task as usize].allowed as usize;
            if !self.topo.group(group).span.intersects(&self.masks[mask]) {
                continue;
            }
            let stats = self.update_sg_wakeup_stats(d, group, task);
            let choice = Choice { group, stats };
            if self.topo.group(group).span.contains(cpu) {
                local = Some(choice);
            } else if idlest
                .is_none_or(|best| update_pick_idlest(&stats, &best.stats, self.params.balancer >= Balancer::V59))
            {
                idlest = Some(choice);
            }
        }
        let idlest = idlest?;
        match local {
            Some(local) if !self.leaves(d, task, cpu, &local, &idlest) => None,
            _ => Some(idlest.group),
        }
    }
    fn leaves(&self, d: DomId, task: TaskId, cpu: u32, local: &Choice, idlest: &Choice) -> bool {
        let domain = self.topo.domain(d);
        let numa = domain.flags.has(Flags::NUMA);
        let (l, i) = (&local.stats, &idlest.stats);
        if l.kind != i.kind {
            return l.kind > i.kind;
        }
        match l.kind {
            GroupType::Overloaded | GroupType::FullyBusy => {
                load_leaves(l.avg_load, i.avg_load, domain.imbalance_pct, numa)
            }
            GroupType::Imbalanced | GroupType::LlcBalance | GroupType::SmtBalance => false,
            GroupType::HasSpare => {
                if numa {
                    let first = self.topo.group(idlest.group).span.first().unwrap_or(cpu);
                    let preferred = self.tasks[task as usize].preferred_nid;
                    if preferred != NO_NODE && self.topo.node_of(cpu) == preferred {
                        return false;
                    }
                    if preferred != NO_NODE && self.topo.node_of(first) == preferred {
                        return true;
                    }
                    if self.fork_allowance(d, task, local, i) {
                        return false;
                    }
                }
                l.idle_cpus < i.idle_cpus
            }
        }
    }
    /// Whether the release's NUMA imbalance rule keeps the task local (§5.2).
    fn fork_allowance(&self, d: DomId, task: TaskId, local: &Choice, idlest: &SgLbStats) -> bool {
        let domain = self.topo.domain(d);
        let mask = &self.masks[self.tasks[task as usize].allowed as usize];
        self.params.rule.fork_stays(&ForkSides {
            local_nr: local.stats.nr,
            local_idle: local.stats.idle_cpus,
            idlest_idle: idlest.idle_cpus,
            local_weight: local.stats.weight,
            local_allowed: self.topo.group(local.group).span.count_and(mask),
            span_weight: domain.weight,
            imb_numa_nr: domain.imb_numa_nr,
        })
    }
    /// Statistics of a group over the CPUs that the task may use (82d6e01a0699, 6.18), or over all of them.
    fn update_sg_wakeup_stats(&mut self, d: DomId, group: GroupId, task: TaskId) -> SgLbStats {
        let pct = self.topo.domain(d).imbalance_pct;
        let Self { params, topo, rqs, tasks, masks, idle, imbalanced, now, .. } = self;
        let g = topo.group(group);
        let t = &tasks[task as usize];
        let counted = if params.fork_counts_allowed { &masks[t.allowed as usize] } else { &g.span };
        let mut s = SgLbStats::of(g, imbalanced[g.record as usize]);
        for c in g.span.iter_and(counted) {
            let rq = &mut rqs[c as usize];
            rq.refresh(*now);
            s.load += rq.pelt.load;
            s.util += rq.util();
            s.runnable += rq.pelt.runnable;
            s.nr += rq.nr();
            s.idle_cpus += u32::from(idle.contains(c));
        }
        if params.balancer < Balancer::V57 {
            s.runnable = 0;
        }
        // Before 5.6 forks leave the number of CPUs at 0: a group with a task may be overloaded.
        let weight = if params.balancer < Balancer::V56 { 0 } else { s.weight };
        s.kind = SgLbStats { weight, ..s }.group_classify(pct);
        // Before 5.7 the average is computed for groups with CPUs to spare, where it is not used.
        let loaded = matches!(s.kind, GroupType::FullyBusy | GroupType::Overloaded);
        if loaded && params.balancer >= Balancer::V57 {
            s.avg_load = s.load * 1024 / s.capacity;
        }
        s
    }
    /// The CPU of a group to start on: the one that became idle last, else the least loaded, else `cpu`. `None` if
    /// AutoNUMA has selected a node of which the group has no CPU; the walk then continues in the group of `cpu`.
    fn sched_balance_find_dst_group_cpu(&mut self, group: GroupId, task: TaskId, cpu: u32) -> Option<u32> {
        if self.params.balancer == Balancer::V37 {
            return self.find_idlest_cpu_v37(group, task, cpu);
        }
        let allowed = &self.masks[self.tasks[task as usize].allowed as usize];
        let mut cpus = self.topo.group(group).span.iter_and(allowed);
        cpus.any(|c| self.selected_allows(task, c)).then(|| match self.params.balancer.by_load() {
            true => self.find_idlest_cpu_v311(group, task, cpu),
            false => self.find_dst_group_cpu_by_idleness(group, task, cpu),
        })
    }
    fn find_dst_group_cpu_by_idleness(&mut self, group: GroupId, task: TaskId, cpu: u32) -> u32 {
        let Self { topo, rqs, tasks, masks, idle, now, .. } = self;
        let g = topo.group(group);
        if g.weight == 1 {
            return g.span.first().unwrap_or(cpu);
        }
        let allowed = &masks[tasks[task as usize].allowed as usize];
        let mut idled: Option<(u64, u32)> = None;
        let mut lightest = (u64::MAX, cpu);
        for c in g.span.iter_and(allowed) {
            let rq = &mut rqs[c as usize];
            if idle.contains(c) {
                if idled.is_none_or(|(stamp, _)| rq.idle_stamp > stamp) {
                    idled = Some((rq.idle_stamp, c));
                }
            } else if idled.is_none() {
                rq.refresh(*now);
                if rq.pelt.load < lightest.0 {
                    lightest = (rq.pelt.load, c);
                }
            }
        }
        idled.map_or(lightest.1, |(_, c)| c)
    }
}
