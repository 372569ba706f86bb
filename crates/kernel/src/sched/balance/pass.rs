//! One balance pass of a CPU at a domain (load_balance, kernel-scheduler.md §4.3 and §4.8).

use super::super::domains::{DomId, Flags, GroupId};
use super::super::event::Why;
use super::super::numa::NumaView;
use super::super::place::scan_limit;
use super::super::rq::task::NONE;
use super::super::rules::{Balancer, Form};
use super::super::scheduler::Scheduler;
use super::decide::{decide, MoveKind, PullEnv};
use super::stats::{GroupStats, GroupType};
use super::Idle;

/// Limit of the interval while everything is pinned, ms.
const MAX_PINNED_INTERVAL_MS: u64 = 512;

/// Mean weight of a task off its home: tasks have no other nice value than 0 here.
const TASK_LOAD: i64 = 1024;

/// State of a pass.
#[derive(Clone, Copy, Debug)]
pub(in crate::sched) struct Env {
    /// CPU the pass is made for.
    pub cpu: u32,
    /// CPU tasks go to (another of the group when affinity forbids `cpu`).
    pub dst: u32,
    pub src: u32,
    pub dom: DomId,
    pub idle: Idle,
    pub why: Why,
    pub kind: MoveKind,
    /// What is still to be moved.
    pub amount: i64,
    /// Nothing moves, but this group is better off than the busiest one and than the domain (`Balancer::V37`).
    pub near: bool,
    /// Highest NUMA class of queue to pull from.
    pub class: u8,
    /// Candidates are fewer than the domain's CPUs.
    pub narrowed: bool,
    /// Read averages even where they cannot change the outcome (to check that they cannot).
    pub thorough: bool,
    pub all_pinned: bool,
    pub some_pinned: bool,
    pub other_dst: Option<u32>,
    pub examined: u32,
}

impl Env {
    /// A pass that has looked at nothing yet: for which CPU and domain, how idle the CPU is, and what caused it.
    pub fn new(cpu: u32, dom: DomId, idle: Idle, why: Why) -> Self {
        Self {
            cpu,
            dst: cpu,
            src: cpu,
            dom,
            idle,
            why,
            kind: MoveKind::Tasks,
            amount: 0,
            near: false,
            class: 2,
            narrowed: false,
            thorough: false,
            all_pinned: false,
            some_pinned: false,
            other_dst: None,
            examined: 0,
        }
    }
}

/// What a pass did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sched) struct PassResult {
    /// Tasks moved.
    pub moved: u32,
    /// Whether larger domains may be balanced too.
    pub go_on: bool,
}

/// How a pass ends without having moved anything it wanted to move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rest {
    Balanced,
    AllPinned,
    OnePinned,
}

impl Scheduler {
    /// Makes one pass.
    pub(in crate::sched) fn balance_pass<V: NumaView>(
        &mut self,
        cpu: u32,
        dom: DomId,
        idle: Idle,
        why: Why,
        view: &V,
    ) -> PassResult {
        let mut env = Env::new(cpu, dom, idle, why);
        if !self.designated(&env) {
            self.counters.not_designated += 1;
            self.rest(&env, Rest::Balanced);
            return PassResult { moved: 0, go_on: false };
        }
        self.counters.passes += 1;
        let moved = self.pull(&mut env, view);
        PassResult { moved, go_on: true }
    }
    /// Whether this CPU balances for its group.
    fn designated(&self, env: &Env) -> bool {
        if env.idle == Idle::Newly {
            return self.rqs[env.cpu as usize].list.is_empty();
        }
        let Some(balance_cpu) = self.topo.lead(env.dom).balance_cpu else { return false };
        if self.idle.is_empty() {
            return balance_cpu == env.cpu;
        }
        let domain = self.topo.domain(env.dom);
        let group = self.topo.group(domain.groups[0]);
        let mut idle = group.balance_mask.iter_and(&self.idle);
        let single = match self.p.form {
            Form::V61 => idle.next(),
            Form::V612 if domain.flags.has(Flags::SHARE_CPUCAPACITY) => idle.next(),
            Form::V612 => {
                let mut half = None;
                for c in idle {
                    if self.topo.siblings(c).is_subset(&self.idle) {
                        return c == env.cpu;
                    }
                    half = half.or(Some(c));
                }
                half
            }
        };
        single.unwrap_or(balance_cpu) == env.cpu
    }
    /// Finds the source and moves tasks until balanced.
    pub(in crate::sched) fn pull<V: NumaView>(&mut self, env: &mut Env, view: &V) -> u32 {
        loop {
            let Some(group) = self.find_source_group(env) else {
                return match self.pull_bias(env) {
                    Some(src) => self.pull_home(env, src, view),
                    None => self.rest(env, Rest::Balanced),
                };
            };
            let Some(src) = self.find_source_queue(env, group) else {
                return self.rest(env, Rest::Balanced);
            };
            env.src = src;
            env.all_pinned = true;
            env.examined = 0;
            let mut moved = 0;
            if self.rqs[src as usize].nr() > 1 {
                moved = self.move_tasks(env, view);
                if env.all_pinned {
                    self.narrow(env, src);
                    let domain = self.topo.domain(env.dom);
                    let own = &self.topo.group(domain.groups[0]).balance_mask;
                    if !self.candidates.is_subset(own) {
                        continue;
                    }
                    return self.rest(env, Rest::AllPinned);
                }
            }
            return self.conclude(env, moved);
        }
    }
    /// Takes a task that is off its home from `src` although everything is balanced. What NUMA_HOT refuses counts as a
    /// failure like what the cache does, and is taken after some.
    fn pull_home<V: NumaView>(&mut self, env: &mut Env, src: u32, view: &V) -> u32 {
        env.src = src;
        env.kind = MoveKind::Load;
        env.amount = TASK_LOAD;
        env.all_pinned = false;
        env.examined = 0;
        let moved = self.move_tasks(env, view);
        let (shortest, longest, tries) = {
            let domain = self.topo.domain(env.dom);
            (u64::from(domain.interval_ms), u64::from(domain.max_interval_ms), domain.cache_nice_tries)
        };
        let dom = env.dom as usize;
        if moved > 0 {
            self.dom[dom].nr_balance_failed = 0;
        } else {
            self.dom[dom].nr_balance_failed += u32::from(env.idle != Idle::Newly);
            if self.lone_off_home(env) {
                self.ask_stopper(env);
                self.dom[dom].nr_balance_failed = tries + 1;
                if self.dom[dom].interval_ms < longest {
                    self.dom[dom].interval_ms *= 2;
                }
                return 0;
            }
        }
        self.dom[dom].interval_ms = shortest;
        moved
    }
    /// Detaches and attaches, going on with another CPU of the group for tasks that may not run on the first.
    fn move_tasks<V: NumaView>(&mut self, env: &mut Env, view: &V) -> u32 {
        let mut moved = 0;
        loop {
            let got = self.detach_tasks(env, view);
            moved += got;
            while let Some(t) = self.detached.pop() {
                self.give(t, env.src, env.dst, env.why);
            }
            match env.other_dst.take() {
                Some(dst) if env.amount > 0 => {
                    self.narrow(env, env.dst);
                    env.dst = dst;
                    env.examined = 0;
                }
                _ => break,
            }
        }
        if env.some_pinned && env.amount > 0 {
            self.set_parent_imbalanced(env.dom, true);
        }
        self.counters.pulled += u64::from(moved);
        moved
    }
    fn narrow(&mut self, env: &mut Env, without: u32) {
        if !env.narrowed {
            self.candidates.copy_from(&self.topo.domain(env.dom).span);
            env.narrowed = true;
        }
        self.candidates.remove(without);
    }
    fn set_parent_imbalanced(&mut self, dom: DomId, value: bool) {
        if let Some(record) = self.topo.lead(dom).parent_record {
            self.imbalanced[record as usize] = value;
        }
    }
    /// Counters and interval after tasks were looked for on a source queue; may push a running task.
    fn conclude(&mut self, env: &mut Env, moved: u32) -> u32 {
        let dom = env.dom as usize;
        let mut push = false;
        if moved == 0 {
            if env.idle != Idle::Newly {
                self.dom[dom].nr_balance_failed += 1;
            }
            let tries = self.topo.domain(env.dom).cache_nice_tries;
            let pushes = env.kind == MoveKind::Tasks || self.p.balancer < Balancer::Types;
            if pushes && self.dom[dom].nr_balance_failed > tries + 2 {
                let cur = self.rqs[env.src as usize].cur;
                if cur != NONE && !self.allowed(cur, env.cpu) {
                    return self.rest(env, Rest::OnePinned);
                }
                env.all_pinned = false;
                push = true;
            }
        } else {
            self.dom[dom].nr_balance_failed = 0;
        }
        let interval = self.dom[dom].interval_ms;
        self.dom[dom].interval_ms = u64::from(self.topo.domain(env.dom).interval_ms);
        if push {
            if self.p.balancer < Balancer::Types {
                self.back_off(env.dom, interval);
            }
            self.push_from(env);
        }
        moved
    }
    /// Having asked for a push, kernels before 5.12 wait longer, and are about to ask again until something moves.
    fn back_off(&mut self, dom: DomId, interval_ms: u64) {
        let domain = self.topo.domain(dom);
        let state = &mut self.dom[dom as usize];
        state.nr_balance_failed = domain.cache_nice_tries + 1;
        let longer = interval_ms < u64::from(domain.max_interval_ms);
        state.interval_ms = if longer { 2 * interval_ms } else { interval_ms };
    }
    /// Ends a pass that found nothing to do (or nothing it may do).
    fn rest(&mut self, env: &Env, how: Rest) -> u32 {
        if how == Rest::Balanced && !env.all_pinned {
            self.set_parent_imbalanced(env.dom, false);
        }
        let max = u64::from(self.topo.domain(env.dom).max_interval_ms);
        let state = &mut self.dom[env.dom as usize];
        if how != Rest::OnePinned {
            state.nr_balance_failed = 0;
        }
        // A newly idle CPU's pass counts too until 4.20 (3f130a37c442, release from memory).
        let counts = self.p.balancer < Balancer::V420;
        if env.idle != Idle::Newly || counts {
            let pinned = env.all_pinned && state.interval_ms < MAX_PINNED_INTERVAL_MS;
            if pinned || state.interval_ms < max {
                state.interval_ms *= 2;
            }
        }
        0
    }
    /// Statistics of all groups; the busiest one if something should move from it (sets kind and amount).
    pub(in crate::sched) fn find_source_group(&mut self, env: &mut Env) -> Option<GroupId> {
        if self.p.balancer.by_load() {
            return match self.p.balancer {
                Balancer::V37 => self.find_source_group_v37(env),
                _ => self.find_source_group_v311(env),
            };
        }
        let scan = self.scan_groups(env);
        let (group, busiest) = scan.busiest?;
        let domain = self.topo.domain(env.dom);
        let prefer_sibling = match self.p.form {
            Form::V61 => {
                let child = self.topo.child(env.dom).map(|c| self.topo.domain(c).flags);
                child.is_some_and(|f| f.has(Flags::PREFER_SIBLING))
            }
            Form::V612 => self.topo.group(group).flags.has(Flags::PREFER_SIBLING),
        };
        let numa = domain.flags.has(Flags::NUMA);
        if numa {
            env.class = busiest.numa_class();
        }
        let pull = decide(
            &PullEnv {
                form: self.p.form,
                balancer: self.p.balancer,
                rule: self.p.rule,
                idle: env.idle != Idle::Busy,
                below_average: self.p.below_average,
                imbalance_pct: domain.imbalance_pct,
                numa,
                share_llc: domain.flags.has(Flags::SHARE_LLC),
                prefer_sibling,
                imb_numa_nr: domain.imb_numa_nr,
                total_load: scan.load,
                total_capacity: scan.capacity,
            },
            &scan.local,
            &busiest,
        )?;
        env.kind = pull.kind;
        env.amount = pull.amount;
        Some(group)
    }
    fn scan_groups(&mut self, env: &Env) -> Scan {
        let domain = self.topo.domain(env.dom);
        let count = domain.groups.len();
        let top = self.topo.parent(env.dom).is_none();
        let cache = self.topo.cache_of(env.dst);
        let teach_scan = env.idle != Idle::Newly && domain.weight == self.topo.cache(cache).size;
        let pct = domain.imbalance_pct;
        let mut tally = Tally::default();
        self.group_stats.clear();
        for i in 0..count {
            let (s, most) = self.count_group(env, i);
            let group = self.topo.domain(env.dom).groups[i];
            tally.add(&s, most, self.topo.group(group).span.contains(env.dst));
            self.group_stats.push(s);
        }
        if top {
            self.overload = tally.stacked;
        }
        let full = teach_scan || env.thorough || tally.needs_averages();
        if !full && tally.others == 0 {
            return Scan::default();
        }
        let mut scan = Scan::default();
        let mut util = 0;
        for i in 0..count {
            let group = self.topo.domain(env.dom).groups[i];
            if full {
                self.load_group(env, i);
            }
            let mut s = self.group_stats[i];
            let local = self.topo.group(group).span.contains(env.dst);
            s.smt_balance = self.p.form == Form::V612 && env.idle != Idle::Busy && !local && s.smt && s.nr > 1;
            s.kind = s.classify(pct);
            if s.kind == GroupType::Overloaded {
                s.avg_load = s.load * 1024 / s.capacity;
            }
            scan.load += s.load;
            scan.capacity += s.capacity;
            util += s.util;
            if local {
                scan.local = s;
            } else if s.busier(scan.busiest.as_ref().map(|b| &b.1), self.p.form, self.p.balancer >= Balancer::V56) {
                scan.busiest = Some((group, s));
            }
        }
        if teach_scan {
            let llc = self.topo.cache(cache).size;
            self.caches[cache as usize].nr_idle_scan = scan_limit(util, llc, pct);
        }
        scan
    }
}

/// What a pass knows of its domain.
#[derive(Clone, Copy, Debug, Default)]
struct Scan {
    local: GroupStats,
    busiest: Option<(GroupId, GroupStats)>,
    load: u64,
    capacity: u64,
}

/// Counts that tell whether averages matter at all.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    /// Some CPU has two tasks.
    stacked: bool,
    /// Some group has more tasks than CPUs.
    crowded: bool,
    /// The local group has no CPU to spare by count.
    local_full: bool,
    /// Other groups that have tasks.
    others: u32,
    /// One of them has as many tasks as CPUs.
    others_full: bool,
}

impl Tally {
    fn add(&mut self, s: &GroupStats, most: u32, local: bool) {
        self.stacked |= most > 1;
        self.crowded |= s.nr > s.weight;
        if local {
            self.local_full = s.nr >= s.weight;
        } else {
            self.others += u32::from(s.nr > 0);
            self.others_full |= s.nr >= s.weight;
        }
    }
    /// Averages only tell overloaded groups from others, and fully busy ones from ones with CPUs to spare. The latter
    /// changes nothing when the local group has CPUs to spare and there is but one group to pull from.
    fn needs_averages(&self) -> bool {
        self.crowded || self.local_full || (self.others_full && self.others > 1)
    }
}
