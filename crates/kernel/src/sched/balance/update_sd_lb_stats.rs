//! Statistics of the groups of a domain (kernel: `update_sd_lb_stats`, `update_sg_lb_stats`, kernel-scheduler.md §2,
//! §4.4).
//!
//! Counts come first. Load averages are brought up to date only where they can change the decision.

use super::idle_scan::scan_limit;
use super::lb_env::LbEnv;
use crate::sched::domains::{Flags, GroupId};
use crate::sched::rules::{Balancer, Form};
use crate::sched::state::sg_lb_stats::{GroupType, SgLbStats};
use crate::sched::state::task_counts::TaskCounts;
use crate::sched::state::{CpuIdleType, Scheduler};

impl Scheduler {
    pub(super) fn update_sd_lb_stats(&mut self, env: &LbEnv) -> SdLbStats {
        let domain = self.topo.domain(env.dom);
        let count = domain.groups.len();
        let top = self.topo.parent(env.dom).is_none();
        let cache = self.topo.cache_of(env.dst);
        let update_idle_scan = env.idle != CpuIdleType::NewlyIdle && domain.weight == self.topo.cache(cache).size;
        let domain_shares_cache = domain.flags.has(Flags::SHARE_LLC);
        let mut tally = Tally::default();
        self.sg_lb_stats.clear();
        for i in 0..count {
            let stacked = self.count_group_tasks(env, i);
            tally.add(&self.sg_lb_stats[i], stacked, self.is_local(env, i));
        }
        if top {
            self.overload = tally.stacked;
        }
        let caches = self.cache_aware.active && !domain_shares_cache;
        let full = update_idle_scan || caches || env.thorough || tally.needs_averages();
        if !full && tally.others == 0 {
            return SdLbStats::default();
        }
        if full {
            (0..count).for_each(|i| self.add_group_averages(env, i));
        }
        (0..count).for_each(|i| self.update_sg_lb_stats(env, i));
        let scan = self.sum_up(env);
        if update_idle_scan {
            let util = self.sg_lb_stats.iter().map(|s| s.util).sum();
            let pct = self.topo.domain(env.dom).imbalance_pct;
            self.caches[cache as usize].nr_idle_scan = scan_limit(util, self.topo.cache(cache).size, pct);
        }
        scan
    }
    /// Whether the destination is in the `i`-th group.
    fn is_local(&self, env: &LbEnv, i: usize) -> bool {
        self.topo.group(self.topo.domain(env.dom).groups[i]).span.contains(env.dst)
    }
    /// The sums over all groups, the local one, and the busiest of the others.
    fn sum_up(&self, env: &LbEnv) -> SdLbStats {
        let ties = self.params.balancer >= Balancer::V56;
        let mut scan = SdLbStats::default();
        let mut busiest: Option<usize> = None;
        for (i, s) in self.sg_lb_stats.iter().enumerate() {
            scan.load += s.load;
            scan.capacity += s.capacity;
            if self.is_local(env, i) {
                scan.local = *s;
            } else if s.update_sd_pick_busiest(busiest.map(|b| &self.sg_lb_stats[b]), self.params.form, ties) {
                busiest = Some(i);
            }
        }
        scan.busiest = busiest.map(|i| (self.topo.domain(env.dom).groups[i], self.sg_lb_stats[i]));
        scan
    }
    /// Type of the `i`-th group, whose tasks have been counted and whose averages are added if they are wanted.
    fn update_sg_lb_stats(&mut self, env: &LbEnv, i: usize) {
        let idle = env.idle != CpuIdleType::NotIdle;
        let local = self.is_local(env, i);
        if self.cache_aware.active && !self.topo.domain(env.dom).flags.has(Flags::SHARE_LLC) {
            self.look_at_caches(env, i, local);
        }
        let (form, pct) = (self.params.form, self.topo.domain(env.dom).imbalance_pct);
        let s = &mut self.sg_lb_stats[i];
        s.smt_balance = form == Form::V612 && idle && !local && s.smt && s.nr > 1;
        s.kind = s.group_classify(pct);
        if s.kind == GroupType::Overloaded {
            s.avg_load = s.load * 1024 / s.capacity;
        }
    }
    /// Publishes the utilisation of the group if it is one cache and the pass is a periodic one, and tells whether the
    /// group has tasks that belong on the cache of the destination.
    fn look_at_caches(&mut self, env: &LbEnv, i: usize, local: bool) {
        let s = self.sg_lb_stats[i];
        let group = self.topo.domain(env.dom).groups[i];
        let span = &self.topo.group(group).span;
        let Some(first) = span.iter().next() else { return };
        let cache = self.topo.cache_of(first);
        if env.idle != CpuIdleType::NewlyIdle && self.topo.cache(cache).size == s.weight {
            self.cache_aware.publish(cache, s.util, s.capacity);
        }
        let tries = self.topo.domain(env.dom).cache_nice_tries;
        let may = !local && self.dom[env.dom as usize].nr_balance_failed < tries + 1;
        let wanted = may && self.group_has_tasks_for(self.topo.group(group).span.iter(), env.dst);
        self.sg_lb_stats[i].llc_balance = wanted;
    }
    /// Notes tasks and idle CPUs of the `i`-th group, the next to be noted, without averages. Returns whether some CPU
    /// has two tasks.
    pub(in crate::sched) fn count_group_tasks(&mut self, env: &LbEnv, i: usize) -> bool {
        let Self { topo, rqs, idle, candidates, imbalanced, node_tasks, cache_tasks, sg_lb_stats, .. } = self;
        let g = topo.group(topo.domain(env.dom).groups[i]);
        let mut sum = TaskCounts::default();
        if env.narrowed {
            let counts = |c: &u32| candidates.contains(*c);
            sum.idle = g.span.iter_and(idle).filter(counts).count() as u32;
            g.span.iter_and_not(idle).filter(counts).for_each(|c| sum.add(&TaskCounts::of(&rqs[c as usize])));
        } else if !g.nodes.is_empty() {
            g.nodes.iter().for_each(|n| sum.add(&node_tasks[*n as usize]));
        } else if !g.caches.is_empty() {
            g.caches.iter().for_each(|c| sum.add(&cache_tasks[*c as usize]));
        } else {
            sum.idle = g.span.count_and(idle);
            g.span.iter_and_not(idle).for_each(|c| sum.add(&TaskCounts::of(&rqs[c as usize])));
        }
        let TaskCounts { nr, nr_numa, nr_preferred, stacked, idle: idle_cpus } = sum;
        let none = SgLbStats::of(g, imbalanced[g.record as usize]);
        sg_lb_stats.push(SgLbStats { nr, nr_numa, nr_preferred, idle_cpus, ..none });
        stacked > 0
    }
    /// Adds the averages of the `i`-th group to its counts.
    pub(in crate::sched) fn add_group_averages(&mut self, env: &LbEnv, i: usize) {
        let Self { params, topo, rqs, candidates, sg_lb_stats, now, .. } = self;
        let s = &mut sg_lb_stats[i];
        let waiting = params.balancer >= Balancer::V57;
        for c in topo.group(topo.domain(env.dom).groups[i]).span.iter() {
            if env.narrowed && !candidates.contains(c) {
                continue;
            }
            let rq = &mut rqs[c as usize];
            rq.refresh(*now);
            s.load += rq.pelt.load;
            s.util += rq.util();
            s.runnable += if waiting { rq.pelt.runnable } else { 0 };
        }
    }
}

/// Statistics of a domain (kernel: `struct sd_lb_stats`).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SdLbStats {
    pub local: SgLbStats,
    pub busiest: Option<(GroupId, SgLbStats)>,
    pub load: u64,
    pub capacity: u64,
}

/// Counts that tell whether averages can change the decision.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    /// Some CPU has two tasks.
    stacked: bool,
    /// Some group has more tasks than CPUs.
    crowded: bool,
    /// The local group has at least as many tasks as CPUs.
    local_full: bool,
    /// Number of other groups that have tasks.
    others: u32,
    /// Some other group has at least as many tasks as CPUs.
    others_full: bool,
}

impl Tally {
    fn add(&mut self, s: &SgLbStats, stacked: bool, local: bool) {
        self.stacked |= stacked;
        self.crowded |= s.nr > s.weight;
        if local {
            self.local_full = s.nr >= s.weight;
        } else {
            self.others += u32::from(s.nr > 0);
            self.others_full |= s.nr >= s.weight;
        }
    }
    /// Averages only distinguish overloaded groups from others, and fully busy groups from groups with CPUs to spare.
    /// The latter changes nothing when the local group has CPUs to spare and only one group can be pulled from.
    fn needs_averages(&self) -> bool {
        self.crowded || self.local_full || (self.others_full && self.others > 1)
    }
}
