//! The scheduler's state and the calls that do not choose a CPU.

use super::balance::newidle::Outcome;
use super::balance::stats::GroupStats;
use super::balance::{CacheState, DomState, Nohz};
use super::config::{Params, SchedConfig};
use super::domains::Domains;
use super::error::SchedError;
use super::event::{Event, Why};
use super::numa::NumaView;
use super::rq::task::{weight_of_nice, State, Task, TaskId, NONE};
use super::rq::{cfs, eevdf, Rq};
use super::rules::{Balancer, Form};
use numalab_base::cpu_set::CpuSet;
use numalab_model::machine::Machine;

/// What the scheduler did, for reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Balance passes that looked at their groups.
    pub passes: u64,
    /// Passes whose CPU was not the designated one.
    pub not_designated: u64,
    /// Tasks pulled by passes.
    pub pulled: u64,
    /// Running tasks pushed after failed passes.
    pub active: u64,
    /// Balance runs on behalf of tickless idle CPUs.
    pub nohz_runs: u64,
    /// Times a CPU went idle without searching.
    pub newidle_skipped: u64,
    /// Times a task waiting on a queue was refused as cache-hot or for NUMA locality.
    pub hot_refused: u64,
}

/// The modelled scheduler of one machine: a deterministic state machine without a clock of its own.
///
/// Every call takes the current time; it must not decrease. Calls that change other CPUs leave [`Event`]s, to be
/// taken with [`Scheduler::swap_events`]. A CPU named in [`Event::Resched`] must call [`Scheduler::pick_next`].
#[derive(Clone, Debug)]
pub struct Scheduler {
    pub(super) p: Params,
    pub(super) topo: Domains,
    pub(super) rqs: Vec<Rq>,
    pub(super) tasks: Vec<Task>,
    /// Interned affinity masks; 0 is every CPU.
    pub(super) masks: Vec<CpuSet>,
    pub(super) dom: Vec<DomState>,
    /// `imbalance` flag of each capacity record.
    pub(super) imbalanced: Vec<bool>,
    pub(super) caches: Vec<CacheState>,
    /// CPUs that run the idle task and have nothing queued.
    pub(super) idle: CpuSet,
    pub(super) nohz: Nohz,
    /// Some CPU had two tasks when last looked (root domain's flag).
    pub(super) overload: bool,
    pub(super) now: u64,
    pub(super) jiffy: u64,
    jiffy_end_ns: u64,
    pub(super) events: Vec<Event>,
    /// CPUs a pass may still pull from.
    pub(super) candidates: CpuSet,
    /// CPUs an idle search has still to visit.
    pub(super) unvisited: CpuSet,
    /// Statistics of the groups of the pass at hand.
    pub(super) group_stats: Vec<GroupStats>,
    pub(super) detached: Vec<TaskId>,
    pub(super) lots: u64,
    pub(super) counters: Counters,
}

impl Scheduler {
    /// A scheduler of `machine` with all CPUs idle and no task.
    ///
    /// # Errors
    /// As [`Domains::build`].
    pub fn new(machine: &Machine, config: &SchedConfig) -> Result<Self, SchedError> {
        let p = Params::new(machine, config)?;
        let topo = Domains::with_params(machine, &p)?;
        let cpus = topo.cpus();
        let cost = p.migration_cost_ns.max(0) as u64;
        let dom = (0..topo.domain_count() as u32).map(|d| DomState::new(topo.domain(d).interval_ms)).collect();
        let caches = (0..topo.cache_count() as u32).map(|c| CacheState::new(topo.cache(c).size)).collect();
        Ok(Self {
            rqs: vec![Rq::new(cost); cpus],
            tasks: Vec::new(),
            masks: vec![CpuSet::full(cpus)],
            dom,
            imbalanced: vec![false; topo.record_count()],
            caches,
            idle: CpuSet::full(cpus),
            nohz: Nohz::new(cpus),
            overload: false,
            now: 0,
            jiffy: 0,
            jiffy_end_ns: p.jiffy_ns,
            events: Vec::with_capacity(256),
            candidates: CpuSet::empty(cpus),
            unvisited: CpuSet::empty(cpus),
            group_stats: Vec::with_capacity(64),
            detached: Vec::with_capacity(64),
            lots: 0x9e37_79b9_7f4a_7c15,
            counters: Counters::default(),
            p,
            topo,
        })
    }
    /// Adds a task that does not run yet; `affinity` `None` is every CPU, `nice` is clamped to −20..=19.
    ///
    /// # Errors
    /// [`SchedError::Affinity`] for an empty list or a CPU the machine does not have.
    pub fn add_task(&mut self, affinity: Option<&[u32]>, nice: i32) -> Result<TaskId, SchedError> {
        let (mask, count, first) = self.intern(affinity)?;
        self.tasks.push(Task::new(weight_of_nice(nice), mask, count, first));
        Ok(self.tasks.len() as TaskId - 1)
    }
    pub(super) fn intern(&mut self, affinity: Option<&[u32]>) -> Result<(u32, u32, u32), SchedError> {
        let cpus = self.topo.cpus();
        let Some(list) = affinity else { return Ok((0, cpus as u32, 0)) };
        if let Some(absent) = list.iter().find(|c| **c as usize >= cpus) {
            return Err(SchedError::Affinity {
                what: format!("affinity to CPU {absent}, which the machine does not have"),
                expected: format!("CPUs 0 to {}", cpus - 1),
            });
        }
        let set = CpuSet::from_iter(cpus, list.iter().copied());
        let Some(first) = set.first() else {
            return Err(SchedError::Affinity {
                what: "an affinity without CPUs".into(),
                expected: "at least one CPU".into(),
            });
        };
        let count = set.len();
        let index = self.masks.iter().position(|m| *m == set).unwrap_or(self.masks.len());
        if index == self.masks.len() {
            self.masks.push(set);
        }
        Ok((index as u32, count, first))
    }
    /// Restricts (or frees, `None`) a task; one that is queued where it may no longer run moves at once.
    ///
    /// # Errors
    /// As [`Scheduler::add_task`].
    pub fn set_affinity(&mut self, task: TaskId, affinity: Option<&[u32]>, now_ns: u64) -> Result<(), SchedError> {
        self.clock(now_ns);
        let (mask, count, _) = self.intern(affinity)?;
        let t = &mut self.tasks[task as usize];
        t.allowed = mask;
        t.nr_allowed = count;
        if t.on_rq() && !self.masks[mask as usize].contains(t.cpu) {
            let dst = self.fallback_cpu(task, self.tasks[task as usize].cpu);
            self.move_task(task, dst, Why::Affinity);
        }
        Ok(())
    }
    /// `cpu` if `task` may run there, else the lowest allowed CPU of its node, else the lowest allowed one.
    pub(super) fn fallback_cpu(&self, task: TaskId, cpu: u32) -> u32 {
        let allowed = &self.masks[self.tasks[task as usize].allowed as usize];
        if allowed.contains(cpu) {
            return cpu;
        }
        let near = self.topo.node(self.topo.node_of(cpu)).iter_and(allowed).next();
        near.or_else(|| allowed.first()).unwrap_or(cpu)
    }
    pub(super) fn clock(&mut self, now_ns: u64) {
        self.now = self.now.max(now_ns);
        if self.now >= self.jiffy_end_ns {
            self.jiffy = self.now / self.p.jiffy_ns;
            self.jiffy_end_ns = (self.jiffy + 1) * self.p.jiffy_ns;
        }
    }
    pub(super) fn resched(&mut self, cpu: u32) {
        let rq = &mut self.rqs[cpu as usize];
        if !rq.need_resched {
            rq.need_resched = true;
            self.events.push(Event::Resched { cpu });
        }
    }
    /// Charges the current task of `cpu` up to now; returns the ns charged since the last accounting.
    ///
    /// Other calls account too (ticks, wake-ups onto the CPU, moves), so use [`Scheduler::runtime_ns`] for totals.
    pub fn account(&mut self, cpu: u32, now_ns: u64) -> u64 {
        self.clock(now_ns);
        self.update_curr(cpu)
    }
    pub(super) fn update_curr(&mut self, cpu: u32) -> u64 {
        let rq = &mut self.rqs[cpu as usize];
        if rq.cur == NONE {
            return 0;
        }
        let t = &mut self.tasks[rq.cur as usize];
        let delta = self.now as i64 - t.exec_start;
        if delta <= 0 {
            return 0;
        }
        t.exec_start = self.now as i64;
        t.runtime_ns += delta as u64;
        t.vruntime += t.virtual_ns(delta);
        let eevdf = self.p.form == Form::V612;
        let renewed = eevdf && eevdf::renew_deadline(&self.p, t);
        if rq.list.len() == 1 {
            rq.min_vruntime = rq.min_vruntime.max(t.vruntime);
        } else {
            rq.raise_min_vruntime(&self.tasks);
            if renewed || eevdf && self.p.complete_eevdf && eevdf::overstays(rq, &self.tasks) {
                self.resched(cpu);
            }
        }
        delta as u64
    }
    /// Timer interrupt of a busy CPU: accounting, fair tick, periodic balance when due, help for tickless idle CPUs.
    /// Does nothing on an idle CPU (they are tickless).
    pub fn tick<V: NumaView>(&mut self, cpu: u32, now_ns: u64, view: &V) {
        self.clock(now_ns);
        if self.rqs[cpu as usize].cur == NONE {
            return;
        }
        self.update_curr(cpu);
        if self.p.balancer.by_past_load() && self.rqs[cpu as usize].past_jiffy != self.jiffy {
            let load = match self.p.balancer {
                Balancer::V37 => self.rqs[cpu as usize].weight,
                _ => self.queued_load(cpu),
            };
            self.rqs[cpu as usize].remember_load(load, self.jiffy);
        }
        if self.p.form == Form::V61 && cfs::tick(&self.p, &mut self.rqs[cpu as usize], &self.tasks) {
            self.resched(cpu);
        }
        let kick = self.nohz_kick(cpu);
        if self.jiffy >= self.rqs[cpu as usize].next_balance {
            self.periodic_balance(cpu, view);
        }
        if let Some(kick) = kick {
            self.nohz_balance(kick, view);
        }
    }
    /// Chooses what `cpu` runs next: puts the current task back, searches other CPUs when nothing is queued, and makes
    /// the choice current. `None`: the CPU is idle, or looks for work ([`Scheduler::looks_ns`]).
    pub fn pick_next<V: NumaView>(&mut self, cpu: u32, now_ns: u64, view: &V) -> Option<TaskId> {
        self.clock(now_ns);
        // Suppresses a request to reschedule that this very call answers.
        self.rqs[cpu as usize].need_resched = true;
        self.update_curr(cpu);
        let next = self.choose(cpu, view);
        self.rqs[cpu as usize].need_resched = false;
        next
    }
    /// For how long `cpu`, which has run dry, looks at other CPUs before [`Scheduler::pick_next`] must be called again; `None`
    /// where it does not. What is queued on it meanwhile waits for that.
    pub fn looks_ns(&self, cpu: u32) -> Option<u64> {
        self.rqs[cpu as usize].newidle.map(|search| self.pass_ns(search.at()))
    }
    /// [`Scheduler::pick_next`] where the passes of a search take no time, for callers whose clock stands still meanwhile.
    pub fn pick_at_once<V: NumaView>(&mut self, cpu: u32, now_ns: u64, view: &V) -> Option<TaskId> {
        loop {
            let next = self.pick_next(cpu, now_ns, view);
            if self.looks_ns(cpu).is_none() {
                return next;
            }
        }
    }
    fn choose<V: NumaView>(&mut self, cpu: u32, view: &V) -> Option<TaskId> {
        loop {
            let rq = &self.rqs[cpu as usize];
            if rq.newidle.is_some() || rq.list.is_empty() && !rq.in_idle {
                match self.newidle_balance(cpu, view) {
                    Outcome::Found => continue,
                    Outcome::Looking => return None,
                    Outcome::Nothing => {}
                }
            }
            let rq = &self.rqs[cpu as usize];
            if rq.list.is_empty() {
                self.enter_idle(cpu);
                return None;
            }
            let next = match self.p.form {
                Form::V61 => cfs::pick(&self.p, rq, &self.tasks),
                Form::V612 => eevdf::pick(rq, &self.tasks),
            }?;
            if self.tasks[next as usize].state == State::Delayed {
                self.finish_delayed(next);
                continue;
            }
            if next != rq.cur {
                self.put_prev(cpu);
                self.set_next(cpu, next);
            }
            return Some(next);
        }
    }
    /// The current task goes to sleep; call [`Scheduler::pick_next`] afterwards. Returns it.
    pub fn block_current(&mut self, cpu: u32, now_ns: u64) -> Option<TaskId> {
        self.clock(now_ns);
        self.update_curr(cpu);
        let t = self.rqs[cpu as usize].cur;
        if t == NONE {
            return None;
        }
        self.rqs[cpu as usize].left = t;
        let delays = self.p.form == Form::V612 && self.p.complete_eevdf;
        let stays = delays && !eevdf::eligible(&self.rqs[cpu as usize], &self.tasks, t);
        if stays {
            self.delay(cpu, t);
        } else {
            self.deactivate(t, true);
            self.tasks[t as usize].state = State::Blocked;
        }
        Some(t)
    }
    /// The current task exits; call [`Scheduler::pick_next`] afterwards. Returns it.
    pub fn exit_current(&mut self, cpu: u32, now_ns: u64) -> Option<TaskId> {
        self.clock(now_ns);
        self.update_curr(cpu);
        let t = self.rqs[cpu as usize].cur;
        if t == NONE {
            return None;
        }
        self.deactivate(t, true);
        self.detach_load(t);
        self.tasks[t as usize].state = State::Dead;
        Some(t)
    }
    /// Running task of `cpu`.
    pub fn current(&self, cpu: u32) -> Option<TaskId> {
        let cur = self.rqs[cpu as usize].cur;
        (cur != NONE).then_some(cur)
    }
    /// Whether `cpu` should call [`Scheduler::pick_next`].
    pub fn need_resched(&self, cpu: u32) -> bool {
        self.rqs[cpu as usize].need_resched
    }
    /// Earliest time at which a tick would take `cpu` from its current task if nothing else happens: `u64::MAX` when
    /// the task is alone or there is none, now when a reschedule is pending. A second way to the same answer, against
    /// which tests hold every tick; runs only tick.
    pub fn next_resched_ns(&self, cpu: u32) -> u64 {
        let rq = &self.rqs[cpu as usize];
        if rq.need_resched {
            return self.now;
        }
        if rq.cur == NONE || rq.nr() < 2 {
            return u64::MAX;
        }
        let left = match self.p.form {
            Form::V61 => cfs::time_left_ns(&self.p, rq, &self.tasks),
            Form::V612 => eevdf::time_left_ns(&self.p, rq, &self.tasks),
        };
        let at = (self.tasks[rq.cur as usize].exec_start + left.max(0)).max(0) as u64;
        self.tick_at_or_after(cpu, at.max(self.now))
    }
    /// First tick of `cpu` at or after `at_ns`: ticks come every jiffy, shifted by [`Scheduler::tick_offset_ns`].
    pub fn tick_at_or_after(&self, cpu: u32, at_ns: u64) -> u64 {
        let offset = self.tick_offset_ns(cpu);
        let jiffy = self.p.jiffy_ns;
        offset + at_ns.saturating_sub(offset).div_ceil(jiffy) * jiffy
    }
    /// Shift of the CPU's ticks, ns: an equal share of a jiffy per CPU, so that they do not all balance at once.
    pub fn tick_offset_ns(&self, cpu: u32) -> u64 {
        u64::from(cpu) * (self.p.jiffy_ns / self.topo.cpus() as u64)
    }
    /// Length of a tick, ns.
    pub fn tick_ns(&self) -> u64 {
        self.p.jiffy_ns
    }
    /// Tasks added so far.
    pub fn task_count(&self) -> u32 {
        self.tasks.len() as u32
    }
    /// CPU time charged to a task, ns.
    pub fn runtime_ns(&self, task: TaskId) -> u64 {
        self.tasks[task as usize].runtime_ns
    }
    /// CPU a task runs or waits on, or ran on last.
    pub fn cpu_of(&self, task: TaskId) -> u32 {
        self.tasks[task as usize].cpu
    }
    /// Where a task is in its life.
    pub fn state(&self, task: TaskId) -> State {
        self.tasks[task as usize].state
    }
    /// Whether the task may run on the CPU.
    pub fn allowed(&self, task: TaskId, cpu: u32) -> bool {
        self.masks[self.tasks[task as usize].allowed as usize].contains(cpu)
    }
    /// Tasks queued on `cpu`, the running one and, in 6.12, delayed sleepers included.
    pub fn nr_running(&self, cpu: u32) -> u32 {
        self.rqs[cpu as usize].nr()
    }
    /// Whether `cpu` runs the idle task with nothing queued.
    pub fn is_idle(&self, cpu: u32) -> bool {
        self.idle.contains(cpu)
    }
    /// The towers.
    pub fn domains(&self) -> &Domains {
        &self.topo
    }
    /// Resolved tunables.
    pub fn params(&self) -> &Params {
        &self.p
    }
    /// What was done so far.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }
    /// Exchanges the filled event buffer for `empty`, which is cleared first. Nothing is allocated once both have grown.
    pub fn swap_events(&mut self, empty: &mut Vec<Event>) {
        empty.clear();
        std::mem::swap(&mut self.events, empty);
    }
}
