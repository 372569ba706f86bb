//! What the designs of 2012 taught CFS about the node a task should be on (designs-2012.md sections 1.8 and 2.6).
//!
//! The node is the scheduler's own [preferred node](super::Scheduler::set_preferred_nid): AutoNUMA's *selected* node is
//! a soft preference, honoured first and given up for fairness; schednuma's *home* makes tasks on it as good as
//! cache-hot, puts those off it on a list that pulls look at first, and lets the balancer pull one of them at random
//! when everything else is balanced.

use super::lb_env::LbEnv;
use crate::sched::config::Params;
use crate::sched::domains::{Flags, GroupId};
use crate::sched::rq::task::{TaskId, NONE, NO_NODE};
use crate::sched::rules::{Balancer, Locality};
use crate::sched::state::{CpuIdleType, Scheduler};

/// Which tasks a pass over a source queue may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    /// Any.
    Any,
    /// Those that locality puts first. Of schednuma's two lists the other pass is about the rest only.
    First,
}

/// Passes over a source queue.
pub(super) fn passes(params: &Params) -> &'static [Wanted] {
    match params.locality {
        Locality::Preferred => &[Wanted::Any],
        Locality::Selected | Locality::Home => &[Wanted::First, Wanted::Any],
    }
}

impl Scheduler {
    /// Whether a pass on behalf of `dst`, which is this `idle`, may look at a task at all.
    pub(super) fn in_pass(&self, (dst, idle): (u32, CpuIdleType), task: TaskId, pass: Wanted) -> bool {
        match self.params.locality {
            Locality::Preferred => true,
            Locality::Selected => {
                let strict = self.params.locality_strict && idle == CpuIdleType::NotIdle;
                self.selected_allows(task, dst) || (pass == Wanted::Any && !strict)
            }
            Locality::Home => self.off_home(task) == (pass == Wanted::First),
        }
    }
    /// Place in the queue of the next task that a pass looks at: the first, or with schednuma the first of the list that the
    /// pass is about (`offnode_tasks`, then `cfs_tasks`).
    pub(super) fn next_in_queue(&self, env: &LbEnv, pass: Wanted) -> Option<usize> {
        let list = &self.rqs[env.src as usize].list;
        list.iter().position(|t| self.params.locality != Locality::Home || self.in_pass((env.dst, env.idle), *t, pass))
    }
    /// NUMA_HOT: whether non-idle balancing must treat the task as cache-hot.
    pub(super) fn home_hot(&self, env: &LbEnv, task: TaskId) -> bool {
        let home = self.tasks[task as usize].preferred_nid;
        if self.params.locality != Locality::Home || env.idle != CpuIdleType::NotIdle || home == NO_NODE {
            return false;
        }
        let (src, dst) = (self.topo.node_of(env.src), self.topo.node_of(env.dst));
        self.topo.distance(dst, home) >= self.topo.distance(src, home)
    }
    /// NUMA_PULL_BIAS: with everything balanced, a random queue with a task off its home, in another group of a domain
    /// that crosses nodes, provided this group has a task to trade (off its home, or without one) and is less loaded than
    /// the domain and its busiest group, if not by enough to balance: patch 23 of the posting sends a group that is at or
    /// above either past the bias.
    pub(super) fn pull_bias(&mut self, env: &LbEnv) -> Option<u32> {
        if self.params.locality != Locality::Home {
            return None;
        }
        let domain = self.topo.domain(env.dom);
        if !domain.flags.has(Flags::NUMA) {
            return None;
        }
        let own = *domain.groups.first()?;
        let width = domain.weight / self.topo.group(own).weight.max(1);
        let better_off = match self.params.balancer {
            Balancer::V37 => env.near,
            _ => self.least_loaded_side(env),
        };
        let to_trade = |t: TaskId| self.tasks[t as usize].preferred_nid == NO_NODE || self.off_home(t);
        if !better_off || !self.group_has(own, to_trade) {
            return None;
        }
        let mut chosen = None;
        for i in 1..self.topo.domain(env.dom).groups.len() {
            let group = self.topo.domain(env.dom).groups[i];
            if self.group_has(group, |t| self.off_home(t)) && (chosen.is_none() || self.one_in(width)) {
                chosen = Some(group);
            }
        }
        self.queue_off_home(chosen?)
    }
    /// A queue of the group with a task off its home: the first, unless one of the later ones, each with a chance of one
    /// in the CPUs of the group, takes its place (`find_busiest_numa_queue`).
    fn queue_off_home(&mut self, group: GroupId) -> Option<u32> {
        let mut chosen = None;
        let (first, end) = (self.topo.group(group).span.first()?, self.topo.cpus() as u32);
        for c in first..end {
            let group = self.topo.group(group);
            let weight = group.weight;
            let has = group.span.contains(c) && self.rqs[c as usize].list.iter().any(|t| self.off_home(*t));
            if has && (chosen.is_none() || self.one_in(weight)) {
                chosen = Some(c);
            }
        }
        chosen
    }
    /// `pick_numa_rand`: true in one case of `n`.
    fn one_in(&mut self, n: u32) -> bool {
        draw(&mut self.random_state) % u64::from(n.max(1)) == 0
    }
    /// Whether the balancing group's average load is below that of the domain and of its busiest other group.
    fn least_loaded_side(&mut self, env: &LbEnv) -> bool {
        self.sg_lb_stats.clear();
        let (mut load, mut capacity, mut busiest) = (0, 0, 0);
        for i in 0..self.topo.domain(env.dom).groups.len() {
            let (s, _) = self.count_group_tasks(env, i);
            self.sg_lb_stats.push(s);
            self.add_group_averages(env, i);
            let s = &self.sg_lb_stats[i];
            load += s.load;
            capacity += s.capacity;
            if i > 0 {
                busiest = busiest.max(s.load * 1024 / s.capacity.max(1));
            }
        }
        let own = &self.sg_lb_stats[0];
        let own = own.load * 1024 / own.capacity.max(1);
        own < busiest && own < load * 1024 / capacity.max(1)
    }
    fn group_has(&self, group: GroupId, what: impl Fn(TaskId) -> bool) -> bool {
        self.topo.group(group).span.iter().any(|c| self.rqs[c as usize].list.iter().any(|t| what(*t)))
    }
    /// Whether `src` runs one task, which is off its home: it is pushed here wherever its home is, because the stopper
    /// moves it as for an idle CPU, which NUMA_HOT does not refuse.
    pub(super) fn lone_off_home(&self, env: &LbEnv) -> bool {
        let rq = &self.rqs[env.src as usize];
        rq.nr() == 1 && rq.cur != NONE && self.off_home(rq.cur) && self.allowed(rq.cur, env.cpu)
    }
}

/// Next number of the scheduler's own lots (xorshift).
fn draw(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state >> 11
}
