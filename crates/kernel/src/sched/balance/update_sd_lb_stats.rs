//! Statistics of the groups of a domain (kernel: `update_sd_lb_stats`, `update_sg_lb_stats`, kernel-scheduler.md §2,
//! §4.4).
//!
//! Counts come first. Load averages are brought up to date only where they can change the decision.

use super::idle_scan::scan_limit;
use super::lb_env::LbEnv;
use crate::sched::domains::{Flags, GroupId};
use crate::sched::rules::{Balancer, Form};
use crate::sched::state::node_tasks::NodeTasks;
use crate::sched::state::sg_lb_stats::{GroupType, SgLbStats};
use crate::sched::state::{CpuIdleType, Scheduler};

impl Scheduler {
    pub(super) fn update_sd_lb_stats(&mut self, env: &LbEnv) -> SdLbStats {
        let domain = self.topo.domain(env.dom);
        let count = domain.groups.len();
        let top = self.topo.parent(env.dom).is_none();
        let cache = self.topo.cache_of(env.dst);
        let update_idle_scan = env.idle != CpuIdleType::NewlyIdle && domain.weight == self.topo.cache(cache).size;
        let pct = domain.imbalance_pct;
        let domain_shares_cache = domain.flags.has(Flags::SHARE_LLC);
        let mut tally = Tally::default();
        self.sg_lb_stats.clear();
        for i in 0..count {
            let (s, stacked) = self.count_group_tasks(env, i);
            let group = self.topo.domain(env.dom).groups[i];
            tally.add(&s, stacked, self.topo.group(group).span.contains(env.dst));
            self.sg_lb_stats.push(s);
        }
        if top {
            self.overload = tally.stacked;
        }
        let caches = self.cache_aware.active && !domain_shares_cache;
        let full = update_idle_scan || caches || env.thorough || tally.needs_averages();
        if !full && tally.others == 0 {
            return SdLbStats::default();
        }
        let mut scan = SdLbStats::default();
        let mut util = 0;
        for i in 0..count {
            let group = self.topo.domain(env.dom).groups[i];
            let local = self.topo.group(group).span.contains(env.dst);
            let s = self.update_sg_lb_stats(env, i, local, full);
            scan.load += s.load;
            scan.capacity += s.capacity;
            util += s.util;
            if local {
                scan.local = s;
            } else if s.update_sd_pick_busiest(
                scan.busiest.as_ref().map(|b| &b.1),
                self.params.form,
                self.params.balancer >= Balancer::V56,
            ) {
                scan.busiest = Some((group, s));
            }
        }
        if update_idle_scan {
            let llc = self.topo.cache(cache).size;
            self.caches[cache as usize].nr_idle_scan = scan_limit(util, llc, pct);
        }
        scan
    }
    /// Averages (if wanted) and type of the `i`-th group, whose tasks have been counted.
    fn update_sg_lb_stats(&mut self, env: &LbEnv, i: usize, local: bool, averages: bool) -> SgLbStats {
        if averages {
            self.add_group_averages(env, i);
        }
        let mut s = self.sg_lb_stats[i];
        let idle = env.idle != CpuIdleType::NotIdle;
        if self.cache_aware.active && !self.topo.domain(env.dom).flags.has(Flags::SHARE_LLC) {
            self.look_at_caches(env, i, local, &mut s);
        }
        s.smt_balance = self.params.form == Form::V612 && idle && !local && s.smt && s.nr > 1;
        s.kind = s.group_classify(self.topo.domain(env.dom).imbalance_pct);
        if s.kind == GroupType::Overloaded {
            s.avg_load = s.load * 1024 / s.capacity;
        }
        s
    }
    /// Publishes the utilisation of the group if it is one cache and the pass is a periodic one, and tells whether the
    /// group has tasks that belong on the cache of the destination.
    fn look_at_caches(&mut self, env: &LbEnv, i: usize, local: bool, s: &mut SgLbStats) {
        let group = self.topo.domain(env.dom).groups[i];
        let span = &self.topo.group(group).span;
        let Some(first) = span.iter().next() else { return };
        let cache = self.topo.cache_of(first);
        if env.idle != CpuIdleType::NewlyIdle && self.topo.cache(cache).size == s.weight {
            self.cache_aware.publish(cache, s.util, s.capacity);
        }
        let tries = self.topo.domain(env.dom).cache_nice_tries;
        let may = !local && self.dom[env.dom as usize].nr_balance_failed < tries + 1;
        s.llc_balance = may && self.group_has_tasks_for(self.topo.group(group).span.iter(), env.dst);
    }
    /// Tasks and idle CPUs of the `i`-th group, and whether some CPU has two tasks; no averages.
    pub(in crate::sched) fn count_group_tasks(&self, env: &LbEnv, i: usize) -> (SgLbStats, bool) {
        let domain = self.topo.domain(env.dom);
        let g = self.topo.group(domain.groups[i]);
        let mut s = SgLbStats::of(g, self.imbalanced[g.record as usize]);
        let mut sum = NodeTasks::default();
        if !g.nodes.is_empty() && !env.narrowed {
            g.nodes.iter().for_each(|n| sum.add(&self.node_tasks[*n as usize]));
        } else {
            let counts = |c: &u32| !env.narrowed || self.candidates.contains(*c);
            sum.idle = match env.narrowed {
                true => g.span.iter_and(&self.idle).filter(counts).count() as u32,
                false => g.span.count_and(&self.idle),
            };
            let busy = g.span.iter_and_not(&self.idle).filter(counts);
            busy.for_each(|c| sum.add(&NodeTasks::of(&self.rqs[c as usize])));
        }
        (s.nr, s.idle_cpus, s.nr_numa, s.nr_preferred) = (sum.nr, sum.idle, sum.nr_numa, sum.nr_preferred);
        (s, sum.stacked > 0)
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
