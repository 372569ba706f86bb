//! One balance pass of a CPU over a domain (before 6.10 `load_balance`, kernel-scheduler.md §4.3 and §4.8).

use super::finish_pass::PassEnd;
use super::lb_env::{LbEnv, PassResult};
use super::migration_type::MigrationType;
use crate::sched::cache_aware::state::CachePull;
use crate::sched::domains::{DomId, Flags};
use crate::sched::event::Why;
use crate::sched::numa_view::NumaView;
use crate::sched::rq::sched_entity::NONE;
use crate::sched::rules::{Balancer, Form};
use crate::sched::state::counters::counted;
use crate::sched::state::{CpuIdleType, Scheduler};

/// Weight of a task off its home. Tasks that schednuma moves have nice 0.
const TASK_LOAD: i64 = 1024;

impl Scheduler {
    /// Makes one balance pass.
    pub(in crate::sched) fn sched_balance_rq<V: NumaView>(
        &mut self,
        cpu: u32,
        dom: DomId,
        idle: CpuIdleType,
        why: Why,
        view: &V,
    ) -> PassResult {
        let mut env = LbEnv::new(cpu, dom, idle, why);
        if !self.should_we_balance(&env) {
            self.counters.not_designated += 1;
            self.finish_pass(&env, PassEnd::Balanced);
            return PassResult { moved: 0, go_on: false, skipped: false };
        }
        if idle != CpuIdleType::NewlyIdle && self.token_busy(cpu, dom) {
            self.counters.serialized += 1;
            self.finish_pass(&env, PassEnd::Balanced);
            return PassResult { moved: 0, go_on: true, skipped: false };
        }
        if idle != CpuIdleType::NewlyIdle && !self.take_token(dom) {
            self.counters.serialized += 1;
            return PassResult { moved: 0, go_on: true, skipped: true };
        }
        let level = counted(self.topo.domain(dom).level);
        self.counters.passes += 1;
        self.counters.levels[level].passes += 1;
        let moved = self.pull(&mut env, view);
        self.counters.levels[level].gained += u64::from(moved);
        PassResult { moved, go_on: true, skipped: false }
    }

    /// Whether this CPU balances for its group.
    fn should_we_balance(&self, env: &LbEnv) -> bool {
        if env.idle == CpuIdleType::NewlyIdle {
            return self.rqs[env.cpu as usize].list.is_empty();
        }
        let lead = self.topo.lead(env.dom);
        let Some(balance_cpu) = lead.balance_cpu else { return false };
        let none_idle = || self.node_tasks[self.topo.node_of(env.cpu) as usize].idle == 0;
        if lead.in_node && none_idle() || self.idle.is_empty() {
            return balance_cpu == env.cpu;
        }
        let domain = self.topo.domain(env.dom);
        let group = self.topo.group(domain.groups[0]);
        let mut idle = group.balance_mask.iter_and(&self.idle);
        let single = match self.params.form {
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
    /// Finds the source and moves tasks until balanced; returns how many.
    pub(in crate::sched) fn pull<V: NumaView>(&mut self, env: &mut LbEnv, view: &V) -> u32 {
        loop {
            let Some(group) = self.sched_balance_find_src_group(env) else {
                return match self.pull_bias(env) {
                    Some(src) => self.pull_towards_home(env, src, view),
                    None => {
                        self.counters.no_busy_group += 1;
                        self.finish_pass(env, PassEnd::Balanced)
                    }
                };
            };
            let Some(src) = self.sched_balance_find_src_rq(env, group) else {
                self.counters.no_busy_queue += 1;
                return self.finish_pass(env, PassEnd::Balanced);
            };
            env.src = src;
            env.all_pinned = true;
            env.examined = 0;
            let mut moved = 0;
            if self.rqs[src as usize].nr() > 1 {
                moved = self.move_tasks(env, view);
                if env.all_pinned {
                    self.exclude_cpu(env, src);
                    let domain = self.topo.domain(env.dom);
                    let own = &self.topo.group(domain.groups[0]).balance_mask;
                    if !self.candidates.is_subset(own) {
                        continue;
                    }
                    return self.finish_pass(env, PassEnd::AllPinned);
                }
            }
            return self.update_after_pull(env, moved);
        }
    }
    /// Takes a task that is off its home from `src` although everything is balanced. A task that NUMA_HOT refuses
    /// counts as a failure, as with cache heat, and is taken after some failures.
    fn pull_towards_home<V: NumaView>(&mut self, env: &mut LbEnv, src: u32, view: &V) -> u32 {
        env.src = src;
        env.kind = MigrationType::Load;
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
            self.dom[dom].nr_balance_failed += u32::from(env.idle != CpuIdleType::NewlyIdle);
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
    /// Detaches and attaches tasks. Tasks that may not run on the first CPU go to another CPU of the group.
    fn move_tasks<V: NumaView>(&mut self, env: &mut LbEnv, view: &V) -> u32 {
        let mut moved = 0;
        loop {
            let got = self.detach_tasks(env, view);
            moved += got;
            let by = self.worker.unwrap_or(env.cpu);
            self.lock_to_pull(by, (env.src, env.dst), env.examined, got);
            while let Some(t) = self.detached.pop() {
                self.attach_task(t, env.src, env.dst, env.why);
            }
            match env.other_dst.take() {
                Some(dst) if env.amount > 0 => {
                    self.exclude_cpu(env, env.dst);
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
    fn exclude_cpu(&mut self, env: &mut LbEnv, without: u32) {
        if !env.narrowed {
            self.candidates.copy_from(&self.topo.domain(env.dom).span);
            env.narrowed = true;
        }
        self.candidates.remove(without);
    }

    /// Updates failures and interval after a pull from a source queue. May push a running task.
    fn update_after_pull(&mut self, env: &mut LbEnv, moved: u32) -> u32 {
        let dom = env.dom as usize;
        let mut push = false;
        if moved == 0 {
            self.counters.failed += 1;
            if env.idle != CpuIdleType::NewlyIdle && !env.llc_pinned {
                self.dom[dom].nr_balance_failed += 1;
            }
            let tries = self.topo.domain(env.dom).cache_nice_tries;
            let pushes = env.kind == MigrationType::Task || self.params.balancer < Balancer::Types;
            let failed = pushes && self.dom[dom].nr_balance_failed > tries + 2;
            let pull = CachePull { src: env.src, dst: env.dst };
            let gathers = env.kind == MigrationType::LlcTask;
            if (failed || gathers) && !self.breaks_cache(pull) {
                let cur = self.rqs[env.src as usize].cur;
                if cur != NONE && !self.allowed(cur, env.cpu) {
                    return self.finish_pass(env, PassEnd::OnePinned);
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
            if self.params.balancer < Balancer::Types {
                self.back_off(env.dom, interval);
            }
            self.start_active_balance(env);
        }
        moved
    }
    /// Before 5.12 a CPU that asked for a push waits longer. Its failures stay near the limit, so that it asks again
    /// soon unless a task moves.
    fn back_off(&mut self, dom: DomId, interval_ms: u64) {
        let domain = self.topo.domain(dom);
        let state = &mut self.dom[dom as usize];
        state.nr_balance_failed = domain.cache_nice_tries + 1;
        let longer = interval_ms < u64::from(domain.max_interval_ms);
        state.interval_ms = if longer { 2 * interval_ms } else { interval_ms };
    }
    /// Takes the token of domains that one CPU balances at a time (`sched_balance_running`; before 6.10 the lock
    /// `balancing`) for a periodic pass over `dom`. Returns whether it was free; the pass stays due if it was not.
    /// The CPU that works holds it for as long as the pass takes.
    fn take_token(&mut self, dom: DomId) -> bool {
        if !self.topo.domain(dom).flags.has(Flags::SERIALIZE) {
            return true;
        }
        let worker = self.worker.unwrap_or(self.topo.domain(dom).cpu);
        let (holder, until_ns) = self.serialized;
        let free = holder == worker || until_ns <= self.now;
        if free {
            self.serialized = (worker, until_ns.max(self.now) + self.pass_ns(dom));
        }
        free
    }
    /// Whether another CPU holds the token of domains that are balanced by one CPU at a time (6.19: 522fb20fbdbe,
    /// 3324b2180c17).
    pub(super) fn token_busy(&self, cpu: u32, dom: DomId) -> bool {
        let serialized = |d: DomId| self.topo.domain(d).flags.has(Flags::SERIALIZE);
        let (holder, until_ns) = self.serialized;
        let periodic = until_ns > self.now && holder != self.worker.unwrap_or(cpu);
        self.params.serialize_busy
            && serialized(dom)
            && (periodic
                || self.searching.is_some_and(|other| {
                    let at = self.rqs[other as usize].newidle.as_ref().map(|s| s.at);
                    other != cpu && at.is_some_and(serialized)
                }))
    }
}
