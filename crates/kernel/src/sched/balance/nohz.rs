//! Balancing on behalf of tickless idle CPUs (kernel-scheduler.md §4.2).
//!
//! Idle CPUs have no tick. A busy CPU asks the lowest idle CPU to balance for all of them, but only if it has two tasks
//! or its cache has a second busy CPU. With one busy CPU per cache and no queue of two, no CPU asks and no task moves.
//! Before 3.13 the own group of a domain inside the cache must have a second busy CPU (`nr_busy_cpus` of `sd->groups`):
//! that group is the threads of a core.
//!
//! From 4.17 on a CPU whose idle periods are short keeps its tick. It stays a busy CPU of its cache, is not in the set
//! of tickless CPUs, and balances for itself if a tick finds it idle.

use super::due_domains::Work;
use crate::sched::domains::Flags;
use crate::sched::event::{Event, Why};
use crate::sched::numa_view::NumaView;
use crate::sched::rules::{Balancer, NohzKick};
use crate::sched::state::{CpuIdleType, Scheduler};

/// Shortest time between two updates of blocked load, ms.
const STATS_PERIOD_MS: u64 = 32;

/// What a busy CPU's tick asks of the idle CPUs (kernel: NOHZ_STATS_KICK, NOHZ_BALANCE_KICK, NOHZ_NEXT_KICK).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sched) struct Kick {
    asker: u32,
    stats: bool,
    balance: bool,
    next: bool,
}

impl Scheduler {
    /// Makes `cpu`, which has nothing to run, idle. It is tickless unless it expects work before the next tick.
    pub(in crate::sched) fn enter_idle(&mut self, cpu: u32) {
        let rq = &mut self.rqs[cpu as usize];
        if rq.in_idle {
            return;
        }
        rq.refresh(self.now);
        rq.in_idle = true;
        rq.idle_since = self.now;
        let keeps_tick = !rq.tickless && self.params.idle_tick && rq.expects_short_idle();
        self.set_idle(cpu, true);
        let cache = &mut self.caches[self.topo.cache_of(cpu) as usize];
        if !cache.has_idle_cores && self.topo.siblings(cpu).is_subset(&self.idle) {
            cache.has_idle_cores = true;
        }
        if keeps_tick {
            return;
        }
        self.nohz_balance_enter_idle(cpu);
    }
    fn nohz_balance_enter_idle(&mut self, cpu: u32) {
        let rq = &mut self.rqs[cpu as usize];
        if !rq.tickless {
            rq.tickless = true;
            if self.nohz.set.is_empty() {
                self.events.push(Event::QuietEnds);
            }
            self.nohz.set.insert(cpu);
            self.caches[self.topo.cache_of(cpu) as usize].nr_busy -= 1;
            self.nohz.needs_update = true;
        }
        self.nohz.has_blocked = true;
    }
    /// Whether `cpu` idles with its tick on. The caller then calls [`Scheduler::idle_tick`].
    pub fn idles_ticking(&self, cpu: u32) -> bool {
        let rq = &self.rqs[cpu as usize];
        rq.in_idle && !rq.tickless
    }
    /// Timer interrupt of a CPU that idles with its tick on. It balances when due. It stops the tick if it has nothing
    /// to run and expects no work soon. Does nothing on another CPU.
    pub fn idle_tick<V: NumaView>(&mut self, cpu: u32, now_ns: u64, view: &V) {
        self.clock(now_ns);
        if !self.idles_ticking(cpu) {
            return;
        }
        if self.jiffy >= self.rqs[cpu as usize].next_balance {
            self.sched_balance_softirq(cpu, view);
        }
        let rq = &mut self.rqs[cpu as usize];
        if !rq.list.is_empty() {
            return;
        }
        rq.idle_since = self.now;
        rq.short_idles <<= 1;
        if !rq.expects_short_idle() {
            self.nohz_balance_enter_idle(cpu);
        }
    }
    /// What the tick of the busy `cpu` asks of idle CPUs. A CPU's first tick also ends its own tickless idleness.
    pub(in crate::sched) fn nohz_balancer_kick(&mut self, cpu: u32) -> Option<Kick> {
        self.nohz_balance_exit_idle(cpu);
        let due = self.jiffy >= self.nohz.next_balance;
        let stale = self.nohz.has_blocked && self.jiffy > self.nohz.next_blocked;
        if !(due || stale || self.nohz.needs_update) || self.nohz.set.is_empty() {
            return None;
        }
        let balance = due && (self.rqs[cpu as usize].nr() >= 2 || self.crowded(cpu));
        let kick = Kick { asker: cpu, stats: balance || stale, balance, next: self.nohz.needs_update };
        (kick.stats || kick.next).then_some(kick)
    }
    fn nohz_balance_exit_idle(&mut self, cpu: u32) {
        let rq = &mut self.rqs[cpu as usize];
        if rq.tickless {
            rq.tickless = false;
            self.nohz.set.remove(cpu);
            self.caches[self.topo.cache_of(cpu) as usize].nr_busy += 1;
        }
    }
    /// Whether enough CPUs beside `cpu` are busy for an idle CPU to have something to pull.
    fn crowded(&self, cpu: u32) -> bool {
        match self.params.nohz_kick {
            NohzKick::V37 => {
                let domains = self.topo.ids(cpu).map(|d| self.topo.domain(d));
                let mut groups = domains.take_while(|d| d.flags.has(Flags::SHARE_LLC)).filter_map(|d| d.groups.first());
                let busy = |c: &u32| !self.rqs[*c as usize].tickless;
                groups.any(|g| self.topo.group(*g).span.iter().filter(busy).count() > 1)
            }
            NohzKick::V313 => {
                let cache = self.topo.cache_of(cpu);
                self.topo.cache(cache).has_domain && self.caches[cache as usize].nr_busy > 1
            }
        }
    }
    /// Carries a request out on the lowest idle CPU.
    pub(in crate::sched) fn nohz_idle_balance<V: NumaView>(&mut self, kick: Kick, view: &V) {
        if kick.balance {
            self.nohz.next_balance = self.jiffy + 1;
        }
        let Some(balancer) = self.nohz.set.iter_and(&self.idle).find(|c| *c != kick.asker) else { return };
        self.counters.nohz_runs += u64::from(kick.balance);
        if kick.stats {
            self.nohz.has_blocked = false;
        }
        if kick.next {
            self.nohz.needs_update = false;
        }
        let mut walk = std::mem::take(&mut self.nohz.walk);
        walk.copy_from(&self.nohz.set);
        let mut earliest: Option<u64> = None;
        let mut blocked = false;
        let mut aborted = false;
        let (mut work, mut stretch_ns) = (Work::default(), 0);
        self.worker = Some(balancer);
        // Before 4.1 the CPU that is asked balances for itself first, and for the others only if it finds nothing
        // (`run_rebalance_domains`; d4573c3e1c9b).
        let own_first = matches!(self.params.balancer, Balancer::V37 | Balancer::V311 | Balancer::V318);
        let others = walk.iter_wrap(if own_first { 0 } else { balancer + 1 }).filter(|c| !own_first || *c != balancer);
        for c in own_first.then_some(balancer).into_iter().chain(others) {
            if !self.idle.contains(c) {
                continue;
            }
            if !self.idle.contains(balancer) {
                blocked |= kick.stats;
                self.nohz.needs_update |= kick.next;
                aborted = true;
                break;
            }
            if kick.stats {
                let rq = &mut self.rqs[c as usize];
                rq.refresh(self.now);
                blocked |= !rq.pelt.is_zero();
            }
            if kick.balance && self.jiffy >= self.rqs[c as usize].next_balance {
                let own = self.sched_balance_domains(c, CpuIdleType::Idle, Why::Nohz, view);
                work.passes += own.passes;
                work.cpus += own.cpus;
                work.ns += own.ns;
                stretch_ns = stretch_ns.max(own.ns);
            }
            let next = self.rqs[c as usize].next_balance;
            earliest = Some(earliest.map_or(next, |e| e.min(next)));
        }
        self.nohz.walk = walk;
        self.worker = None;
        if !aborted {
            if let Some(next) = earliest {
                self.nohz.next_balance = next.min(self.jiffy + 60 * self.params.hz);
            }
            if kick.stats {
                self.nohz.next_blocked = self.jiffy + self.params.jiffies_of_ms(STATS_PERIOD_MS);
            }
        }
        self.nohz.has_blocked |= blocked;
        if work.passes > 0 {
            let Work { passes, cpus, ns } = work;
            self.events.push(Event::Balanced { cpu: balancer, why: Why::Nohz, passes, ns, cpus, stretch_ns });
        }
    }
}
