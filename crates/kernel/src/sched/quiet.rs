//! Ticks that nobody has to see: those of a CPU whose only task goes on.
//!
//! Such a tick accounts for the running task and changes nothing that another CPU reads. A caller may leave out the
//! calls of [`Scheduler::tick`] for as many ticks as [`Scheduler::plain_ticks`] tells. The scheduler then accounts for
//! them as soon as something touches the queue of the CPU, and reports [`Event::Disturbed`]: from then on the caller
//! ticks again. Load averages need no ticks (see [`pelt`](super::pelt)).
//!
//! While every CPU has exactly one task, a periodic balance pass finds nothing to move, whatever the averages are: no
//! group has more tasks than CPUs, and groups of equal size have equally many. So the passes of unseen ticks only
//! advance the intervals of their domains. Passes that publish something stay with their ticks
//! ([`Scheduler::is_plain_pass`]).

use crate::sched::domains::{DomId, Domains, Flags};
use crate::sched::event::Event;
use crate::sched::rq::eevdf;
use crate::sched::rq::sched_entity::NONE;
use crate::sched::rq::task_group::NO_GROUP;
use crate::sched::rules::{Form, Locality};
use crate::sched::state::task_counts::TaskCounts;
use crate::sched::state::{CpuIdleType, Scheduler};

/// The unseen ticks of a CPU.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::sched) struct Unseen {
    /// The first of them, ns; 0 if all ticks are seen.
    pub tick_ns: u64,
    /// They include balance passes, which find nothing.
    passes: bool,
}

/// Balance work of an unseen tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnseenPass {
    /// The CPU that balanced.
    pub cpu: u32,
    /// Its tick, ns.
    pub tick_ns: u64,
    /// Time of the passes, ns.
    pub ns: u64,
}

/// By domain, whether a pass that finds nothing changes nothing but the domain's own interval. The pass over a whole
/// cache publishes how far idle searches go, the one over the machine whether some CPU has two tasks. One over nodes
/// keeps other CPUs from such a pass. Groups of unequal size differ in their tasks even if every CPU has one.
pub(in crate::sched) fn plain_domains(topo: &Domains) -> Vec<bool> {
    let plain = |id: DomId| {
        let d = topo.domain(id);
        let mut weights = d.groups.iter().map(|g| topo.group(*g).weight);
        let first = weights.next();
        let even = weights.all(|w| Some(w) == first);
        let alone = d.flags.has(Flags::SERIALIZE);
        even && !alone && topo.parent(id).is_some() && d.weight != topo.cache(topo.cache_of(d.cpu)).size
    };
    (0..topo.domain_count() as DomId).map(plain).collect()
}

impl Scheduler {
    /// How many ticks of `cpu`, the first of them at `first_ns`, would do nothing but account for its task, if nothing
    /// else happens to the CPU before [`Event::QuietEnds`].
    pub fn plain_ticks(&self, cpu: u32, first_ns: u64) -> u64 {
        let rq = &self.rqs[cpu as usize];
        // What others of its group do changes the weight of its task at ticks.
        if rq.cur != NONE && self.tasks[rq.cur as usize].group != NO_GROUP {
            return 0;
        }
        let alone = rq.cur != NONE && rq.list.len() == 1 && !rq.need_resched && !rq.tickless;
        if !alone || !self.nohz.set.is_empty() || self.cache_aware.active || self.params.balancer.by_past_load() {
            return 0;
        }
        let due = if self.one_task_each() { self.next_pass_seen(cpu) } else { rq.next_balance };
        let due_ns = due.saturating_mul(self.params.jiffy_ns);
        due_ns.saturating_sub(first_ns).div_ceil(self.params.jiffy_ns)
    }
    /// From the tick at `first_ns` on, `cpu` ticks unseen.
    pub fn begin_quiet(&mut self, cpu: u32, first_ns: u64) {
        self.unseen[cpu as usize] = Unseen { tick_ns: first_ns, passes: self.one_task_each() };
    }
    /// Accounts for the unseen ticks of `cpu` up to `last_ns`, and ends them.
    pub fn end_quiet(&mut self, cpu: u32, last_ns: u64) {
        self.account_unseen(cpu, last_ns);
        self.unseen[cpu as usize].tick_ns = 0;
    }
    /// The first unseen tick of `cpu` that has not been accounted for and balances, ns. `None` if none of its unseen
    /// ticks does.
    pub fn next_unseen_pass_ns(&self, cpu: u32) -> Option<u64> {
        let (Unseen { tick_ns, passes }, jiffy_ns) = (self.unseen[cpu as usize], self.params.jiffy_ns);
        let ticks = self.rqs[cpu as usize].next_balance.saturating_sub(tick_ns / jiffy_ns);
        (tick_ns > 0 && passes).then(|| tick_ns.saturating_add(ticks.saturating_mul(jiffy_ns)))
    }
    /// Accounts for the unseen ticks of `cpu` up to `last_ns`.
    pub fn account_unseen(&mut self, cpu: u32, last_ns: u64) {
        let Unseen { tick_ns, passes } = self.unseen[cpu as usize];
        if tick_ns == 0 || tick_ns > last_ns {
            return;
        }
        let jiffy_ns = self.params.jiffy_ns;
        let (mut at_ns, mut jiffy) = (tick_ns, tick_ns / jiffy_ns);
        while at_ns <= last_ns {
            if self.params.form == Form::V61 && self.tasks[self.rqs[cpu as usize].cur as usize].weight == 1024 {
                // Virtual time is real time, so that ticks without a pass are one.
                let last = (last_ns - at_ns) / jiffy_ns;
                let next = if passes { self.rqs[cpu as usize].next_balance.saturating_sub(jiffy) } else { last };
                at_ns += last.min(next) * jiffy_ns;
                jiffy += last.min(next);
            }
            self.account_tick(cpu, at_ns);
            if passes && jiffy >= self.rqs[cpu as usize].next_balance {
                self.balance_unseen(cpu, at_ns, jiffy);
            }
            (at_ns, jiffy) = (at_ns + jiffy_ns, jiffy + 1);
        }
        self.unseen[cpu as usize].tick_ns = at_ns;
    }
    /// Balance work of unseen ticks that have been accounted for. The caller charges it as time and removes it.
    pub fn unseen_passes(&mut self) -> &mut Vec<UnseenPass> {
        &mut self.unseen_passes
    }
    fn account_tick(&mut self, cpu: u32, at_ns: u64) {
        let rq = &mut self.rqs[cpu as usize];
        let t = &mut self.tasks[rq.cur as usize];
        let delta = at_ns as i64 - t.exec_start;
        if delta <= 0 {
            return;
        }
        t.exec_start = at_ns as i64;
        t.runtime_ns += delta as u64;
        t.vruntime += t.virtual_ns(delta);
        if self.params.form == Form::V612 {
            eevdf::update_deadline(&self.params, t);
        }
        rq.min_vruntime = rq.min_vruntime.max(t.vruntime);
    }
    /// The balance passes of an unseen tick.
    fn balance_unseen(&mut self, cpu: u32, tick_ns: u64, jiffy: u64) {
        let now = std::mem::replace(&mut self.jiffy, jiffy);
        let pass = |sched: &mut Self, dom, _| sched.pass_without_find(cpu, dom);
        let work = self.balance_due_domains(cpu, CpuIdleType::NotIdle, pass);
        self.jiffy = now;
        if work.passes > 0 {
            self.unseen_passes.push(UnseenPass { cpu, tick_ns, ns: work.ns });
        }
    }
    /// Whether every CPU has one task, and balance passes of busy CPUs find nothing because of that.
    pub fn one_task_each(&self) -> bool {
        let by_tasks = !self.params.balancer.by_load() && self.params.locality == Locality::Preferred;
        by_tasks && self.lone as usize == self.rqs.len() && self.idle.is_empty() && self.marked_imbalanced == 0
    }
    /// Whether the pass of a CPU over its domain `dom`, which finds nothing, may be made later.
    fn is_plain_pass(&self, cpu: u32, dom: DomId) -> bool {
        self.plain_domains[dom as usize] || self.topo.lead(dom).balance_cpu != Some(cpu)
    }
    /// First jiffy at which `cpu` may make a pass that must not be late.
    fn next_pass_seen(&self, cpu: u32) -> u64 {
        let seen = self.topo.ids(cpu).filter(|&d| !self.is_plain_pass(cpu, d));
        let due = seen.map(|d| self.dom[d as usize].last_balance + self.get_sd_balance_interval(d, true)).min();
        due.map_or(u64::MAX / self.params.jiffy_ns, |due| due.max(self.rqs[cpu as usize].next_balance))
    }
    /// The queue of `cpu` held `before` and holds `now`.
    pub(super) fn count_tasks(&mut self, cpu: u32, before: TaskCounts, now: TaskCounts) {
        self.node_tasks[self.topo.node_of(cpu) as usize].change(&before, &now);
        self.cache_tasks[self.topo.cache_of(cpu) as usize].change(&before, &now);
        if before.nr == 1 && now.nr != 1 && self.lone as usize == self.rqs.len() {
            self.events.push(Event::SecondTask);
        }
        self.lone = self.lone + u32::from(now.nr == 1) - u32::from(before.nr == 1);
    }
    /// Something touches the queue of a CPU that ticks unseen.
    #[cold]
    pub(super) fn disturb(&mut self, cpu: u32) {
        self.end_quiet(cpu, self.now);
        self.events.push(Event::Disturbed { cpu });
    }
}
