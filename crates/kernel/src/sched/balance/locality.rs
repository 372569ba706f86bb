//! What the designs of 2012 add to balancing: the node a task should be on (designs-2012.md sections 1.8 and 2.6).
//!
//! The node is the scheduler's own [preferred node](crate::sched::Scheduler::set_preferred_nid). AutoNUMA's *selected*
//! node is a soft preference: it is tried first and given up for fairness. schednuma's *home* node makes tasks on it as
//! good as cache-hot. Tasks off their home are on a list that pulls look at first. When everything else is balanced,
//! the balancer pulls one of them at random.

use super::lb_env::LbEnv;
use crate::sched::config::Params;
use crate::sched::domains::{Flags, GroupId};
use crate::sched::rq::sched_entity::{TaskId, NONE, NO_NODE};
use crate::sched::rules::{Balancer, Locality};
use crate::sched::state::{CpuIdleType, Scheduler};

/// Which tasks a pass over a source queue may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    /// Any task.
    Any,
    /// The tasks that locality prefers. With schednuma's two lists, `Any` is then the other list only.
    First,
}

/// The passes over a source queue.
pub(super) fn passes(params: &Params) -> &'static [Wanted] {
    match params.locality {
        Locality::Preferred => &[Wanted::Any],
        Locality::Selected | Locality::Home => &[Wanted::First, Wanted::Any],
    }
}

impl Scheduler {
    /// Whether a pass may look at a task; the pass is made for CPU `dst`, whose state is `idle`.
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
    /// Index of the next task that a pass looks at: the first of the queue, or with schednuma the first of the pass's
    /// list (`offnode_tasks`, then `cfs_tasks`).
    pub(super) fn next_in_queue(&self, env: &LbEnv, pass: Wanted) -> Option<usize> {
        let list = &self.rqs[env.src as usize].list;
        list.iter().position(|t| self.params.locality != Locality::Home || self.in_pass((env.dst, env.idle), *t, pass))
    }
    /// Whether non-idle balancing must treat the task as cache-hot (NUMA_HOT).
    pub(super) fn home_hot(&self, env: &LbEnv, task: TaskId) -> bool {
        let home = self.tasks[task as usize].preferred_nid;
        if self.params.locality != Locality::Home || env.idle != CpuIdleType::NotIdle || home == NO_NODE {
            return false;
        }
        let (src, dst) = (self.topo.node_of(env.src), self.topo.node_of(env.dst));
        self.topo.distance(dst, home) >= self.topo.distance(src, home)
    }
    /// A queue to pull from although everything is balanced (NUMA_PULL_BIAS): a random one with a task off its home, in
    /// another group of a domain that crosses nodes. The local group must have a task to trade, off its home or without
    /// one. It must also be less loaded than the domain and its busiest group, though not by enough to balance. In
    /// patch 23 of the posting, a group at or above either does not reach the bias.
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
    /// A queue of the group with a task off its home (`find_busiest_numa_queue`). It is the first one, unless a later
    /// one replaces it; each has a chance of one in the number of the group's CPUs.
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
    /// True in one case of `n` (`pick_numa_rand`).
    fn one_in(&mut self, n: u32) -> bool {
        draw(&mut self.random_state).is_multiple_of(u64::from(n.max(1)))
    }
    /// Whether the local group's average load is below that of the domain and of its busiest other group.
    fn least_loaded_side(&mut self, env: &LbEnv) -> bool {
        self.sg_lb_stats.clear();
        let (mut load, mut capacity, mut busiest) = (0, 0, 0);
        for i in 0..self.topo.domain(env.dom).groups.len() {
            self.count_group_tasks(env, i);
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
    /// Whether `src` runs a single task that is off its home. The push goes here wherever its home is, because the
    /// stopper moves tasks as for an idle CPU, to which NUMA_HOT does not apply.
    pub(super) fn lone_off_home(&self, env: &LbEnv) -> bool {
        let rq = &self.rqs[env.src as usize];
        rq.nr() == 1 && rq.cur != NONE && self.off_home(rq.cur) && self.allowed(rq.cur, env.cpu)
    }
}

/// Next random number (xorshift).
fn draw(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state >> 11
}
