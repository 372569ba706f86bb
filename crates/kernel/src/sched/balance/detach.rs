//! Counting groups, choosing the source queue, and taking tasks off it (kernel-scheduler.md §4.5, §4.6).

use super::super::domains::{DomId, Flags, GroupId};
use super::super::event::{Event, Why};
use super::super::locality::{passes, Wanted};
use super::super::numa::{locality_verdict, NodePull, NumaView};
use super::super::rq::task::{State, TaskId, NONE};
use super::super::rules::{Balancer, Form};
use super::super::scheduler::Scheduler;
use super::decide::MoveKind;
use super::pass::Env;
use super::stats::{numa_class, GroupStats};
use super::Idle;

impl Scheduler {
    /// Tasks and idle CPUs of the `i`-th group, and the most tasks on one CPU. No averages yet.
    pub(in crate::sched) fn count_group(&self, env: &Env, i: usize) -> (GroupStats, u32) {
        let domain = self.topo.domain(env.dom);
        let g = self.topo.group(domain.groups[i]);
        let mut s = GroupStats::of(g, self.imbalanced[g.record as usize]);
        s.idle_cpus = g.span.count_and(&self.idle);
        let mut most = 0;
        if env.narrowed {
            s.idle_cpus = g.span.iter_and(&self.idle).filter(|c| self.candidates.contains(*c)).count() as u32;
        }
        for c in g.span.iter_and_not(&self.idle) {
            if env.narrowed && !self.candidates.contains(c) {
                continue;
            }
            let rq = &self.rqs[c as usize];
            s.nr += rq.nr();
            s.nr_numa += rq.nr_numa;
            s.nr_preferred += rq.nr_preferred;
            most = most.max(rq.nr());
        }
        (s, most)
    }
    /// Adds the averages of the `i`-th group to its counts.
    pub(in crate::sched) fn load_group(&mut self, env: &Env, i: usize) {
        let Self { p, topo, rqs, candidates, group_stats, now, .. } = self;
        let s = &mut group_stats[i];
        let waiting = p.balancer >= Balancer::V57;
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
    /// The queue of `group` to pull from.
    pub(super) fn find_source_queue(&mut self, env: &Env, group: GroupId) -> Option<u32> {
        if self.p.balancer.by_load() {
            return match self.p.balancer {
                Balancer::V37 => self.find_source_queue_v37(env, group),
                _ => self.find_source_queue_v311(env, group),
            };
        }
        let lone = self.p.balancer < Balancer::V57;
        let Self { topo, rqs, candidates, now, .. } = self;
        let mut best: Option<(u64, u32)> = None;
        for c in topo.group(group).span.iter() {
            let rq = &mut rqs[c as usize];
            let nr = rq.nr();
            let skip = nr == 0 || (env.narrowed && !candidates.contains(c));
            if skip || numa_class(nr, rq.nr_numa, rq.nr_preferred) > env.class {
                continue;
            }
            let key = match env.kind {
                MoveKind::Tasks => u64::from(nr),
                MoveKind::Load => {
                    rq.refresh(*now);
                    if nr == 1 && rq.pelt.load as i64 > env.amount {
                        continue;
                    }
                    rq.pelt.load
                }
                MoveKind::Util => {
                    if nr <= 1 && !lone {
                        continue;
                    }
                    rq.refresh(*now);
                    match self.p.form {
                        Form::V61 => rq.util(),
                        Form::V612 => rq.util().max(rq.pelt.runnable).min(1024),
                    }
                }
            };
            if key > best.map_or(0, |b| b.0) {
                best = Some((key, c));
            }
        }
        best.map(|b| b.1)
    }
    /// Takes tasks off the source queue into `self.detached`; returns how many.
    pub(in crate::sched) fn detach_tasks<V: NumaView>(&mut self, env: &mut Env, view: &V) -> u32 {
        let limit = self.rqs[env.src as usize].nr().min(self.p.nr_migrate);
        if self.rqs[env.src as usize].nr() <= 1 {
            env.all_pinned = false;
            return 0;
        }
        let mut count = 0;
        for pass in passes(&self.p) {
            env.examined = 0;
            count += self.detach_pass(env, limit, *pass, view);
            if count > 0 && env.idle == Idle::Newly && self.p.preempt_full {
                break;
            }
        }
        count
    }
    fn detach_pass<V: NumaView>(&mut self, env: &mut Env, limit: u32, pass: Wanted, view: &V) -> u32 {
        let mut count = 0;
        while env.amount > 0 {
            let nr = self.rqs[env.src as usize].nr();
            if nr == 0 || (env.idle != Idle::Busy && nr <= 1) || env.examined >= limit {
                break;
            }
            let Some(at) = self.next_in_queue(env, pass) else { break };
            env.examined += 1;
            let t = self.rqs[env.src as usize].list[at];
            let size = if !self.in_pass((env.dst, env.idle), t, pass) {
                None
            } else if self.p.balancer == Balancer::V37 {
                // A task that is too heavy is not even asked where it may run.
                self.size_of(env, t).filter(|_| self.may_migrate(env, t, view))
            } else if self.may_migrate(env, t, view) {
                self.size_of(env, t)
            } else {
                None
            };
            let Some(size) = size else {
                self.rqs[env.src as usize].requeue_tail(at);
                continue;
            };
            env.amount -= size;
            self.take(t);
            self.detached.push(t);
            count += 1;
            if env.idle == Idle::Newly && self.p.preempt_full {
                break;
            }
        }
        count
    }
    /// What moving the task takes off the amount; `None` if it is too large. Averages are those of when it last ran, came
    /// or moved, as `task_h_load` and `task_util_est` read them.
    pub(in crate::sched) fn size_of(&self, env: &Env, t: TaskId) -> Option<i64> {
        if env.kind == MoveKind::Tasks {
            return Some(1);
        }
        if self.p.balancer == Balancer::V37 {
            let weight = self.tasks[t as usize].weight as i64;
            return (weight / 2 <= env.amount).then_some(weight);
        }
        let task = &self.tasks[t as usize];
        if self.p.balancer.by_load() {
            return (task.pelt.load / 2 <= env.amount as u64).then_some(task.pelt.load as i64);
        }
        let size = match env.kind {
            MoveKind::Load => task.pelt.load.max(1),
            _ => task.util_estimate(),
        };
        if env.kind == MoveKind::Load && self.p.balancer < Balancer::V510 {
            // 6cf82d559e1a: after some failures any task will do.
            let tries = self.topo.domain(env.dom).cache_nice_tries;
            let any = self.dom[env.dom as usize].nr_balance_failed > tries;
            return (any || (size / 2) as i64 <= env.amount).then_some(size as i64);
        }
        let relaxed = env.kind == MoveKind::Load || self.p.relax_util;
        let failed = if relaxed { self.dom[env.dom as usize].nr_balance_failed.min(63) } else { 0 };
        ((size >> failed) as i64 <= env.amount).then_some(size as i64)
    }
    /// The per-task filter (can_migrate_task).
    fn may_migrate<V: NumaView>(&mut self, env: &mut Env, t: TaskId, view: &V) -> bool {
        if !self.allowed(t, env.dst) {
            env.some_pinned = true;
            if env.idle != Idle::Newly && env.other_dst.is_none() {
                env.other_dst = self.other_dst(env, t);
            }
            return false;
        }
        env.all_pinned = false;
        if self.rqs[env.src as usize].cur == t {
            return false;
        }
        let domain = self.topo.domain(env.dom);
        let mut verdict = -1;
        if domain.flags.has(Flags::NUMA) {
            let rq = &self.rqs[env.src as usize];
            let (src, dst) = (self.topo.node_of(env.src), self.topo.node_of(env.dst));
            let distance = self.topo.distance(src, dst);
            let pull = NodePull { src, dst, distance, nr: rq.nr(), nr_preferred: rq.nr_preferred, idle: env.idle };
            verdict = locality_verdict(t, self.preferred_nid(t), &pull, view);
        }
        if verdict < 0 {
            verdict = i32::from(self.is_hot(env, t) || self.home_hot(env, t));
        }
        let tries = domain.cache_nice_tries;
        let may = verdict <= 0 || self.dom[env.dom as usize].nr_balance_failed > tries;
        self.counters.hot_refused += u64::from(!may);
        may
    }
    /// Another CPU of the balancing group that the task may use.
    fn other_dst(&self, env: &Env, t: TaskId) -> Option<u32> {
        let domain = self.topo.domain(env.dom);
        let own = &self.topo.group(*domain.groups.first()?).balance_mask;
        let usable = |c: &u32| self.allowed(t, *c) && *c != env.dst && (!env.narrowed || self.candidates.contains(*c));
        own.iter().find(usable)
    }
    /// Whether the task's data is probably still in the cache of the source.
    fn is_hot(&self, env: &Env, t: TaskId) -> bool {
        let core = self.topo.domain(env.dom).flags.has(Flags::SHARE_CPUCAPACITY);
        if core && self.p.balancer >= Balancer::V510 {
            return false;
        }
        let src = &self.rqs[env.src as usize];
        let buddy = src.next_buddy == t || src.last_buddy == t;
        if buddy && self.rqs[env.dst as usize].nr() > 0 {
            return true;
        }
        match self.p.migration_cost_ns {
            cost if cost < 0 => true,
            0 => false,
            cost => self.now as i64 - self.tasks[t as usize].exec_start < cost,
        }
    }
    /// Has the stopper of the source push a task. It runs while a periodic pass goes on to other domains and CPUs, so that
    /// comes at once. A search before idling is over first: two CPUs that run dry with failures left from before would
    /// otherwise hand one task to each other for ever in no time.
    pub(super) fn push_from(&mut self, env: &Env) {
        if env.idle == Idle::Newly {
            self.ask_stopper(env);
        } else if !self.rqs[env.src as usize].pushing {
            self.active_balance(env.src, env.cpu);
        }
    }
    /// Asks the stopper of the source to push a task, unless it has been asked already.
    pub(super) fn ask_stopper(&mut self, env: &Env) {
        let asked = std::mem::replace(&mut self.rqs[env.src as usize].pushing, true);
        if !asked {
            let cpus = self.topo.domain(env.dom).weight;
            self.events.push(Event::Push { from: env.src, to: env.cpu, cpus });
        }
    }
    /// The stopper that [`Event::Push`] was about runs: pushes a task of `from`, if there still is one, to `to`.
    pub fn push(&mut self, from: u32, to: u32, now_ns: u64) {
        self.clock(now_ns);
        self.update_curr(from);
        self.update_curr(to);
        self.rqs[from as usize].pushing = false;
        self.active_balance(from, to);
    }
    /// Pushes the running (or any) task of `src` to `dst`: the stopper pre-empts it, then only affinity counts, and what
    /// locality puts first (`move_one_task`: both designs of 2012 go over the queue twice, as for an idle CPU). From 4.10 on
    /// that is a success of the lowest domain that spans both.
    fn active_balance(&mut self, src: u32, dst: u32) {
        let spanning = |d: &DomId| self.topo.domain(*d).span.contains(src);
        let Some(dom) = self.topo.ids(dst).find(spanning) else { return };
        if self.rqs[src as usize].list.is_empty() {
            return;
        }
        // The stopper is a second task there (add_nr_running counts it).
        self.overload = true;
        let running = self.rqs[src as usize].cur;
        self.put_prev(src);
        let may = |t: &&TaskId, pass: Wanted| self.allowed(**t, dst) && self.in_pass((dst, Idle::Idle), **t, pass);
        let list = &self.rqs[src as usize].list;
        let pushed = passes(&self.p).iter().find_map(|pass| list.iter().find(|t| may(t, *pass))).copied();
        if let Some(t) = pushed {
            self.take(t);
            self.give(t, src, dst, Why::Active);
            if self.p.balancer >= Balancer::V413 {
                self.dom[dom as usize].nr_balance_failed = 0;
            }
            self.counters.active += 1;
        }
        if running != NONE && self.rqs[src as usize].cur == NONE && self.tasks[running as usize].state != State::Dead {
            self.resched(src);
        }
    }
}
