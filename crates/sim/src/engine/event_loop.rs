//! The event loop: CPUs run slices of their current task from one planned instant to the next.
//!
//! A CPU's *slice* ends at its next tick, or earlier when its task blocks, ends, forks, is moved or preempted.
//! What the task does to memory inside a slice happens when the slice is planned (at most one tick
//! early); everything that touches the scheduler happens at the planned end, in global time order.

use crate::charge::core::message_ns;
use crate::charge::quiet::{catch_up_all, may_be_quiet, stop_quiet};
use crate::config::{Harness, SimConfig};
use crate::damon::kdamond::{kdamond, start_kdamond};
use crate::engine::standstill::Standstill;
use crate::engine::wait_objects::DeferredClones;
use crate::engine::wait_objects::{Barrier, Channel, Waiter};
use crate::mm::daemons::memory_daemons;
use crate::numa::shared_page_migration::{finish_hint_fault, migration_phase};
use crate::numa::task_migration::apply_due_migrations;
use crate::numa_2012::hooks::{daemon, start_daemons};
use crate::record::log::log_moved;
use crate::record::samples::{is_due, sample, sample_now};
use crate::state::contention::EPOCH_NS;
use crate::state::cpu::Pending;
use crate::state::effects::Effect;
use crate::state::event_queue::{Event, EventQueue};
use crate::state::log::Observers;
use crate::state::simulation::Simulation;
use crate::state::task::{Activity, Task, NOBODY, SHORT_BINS};
use crate::userspace_balance::daemon::{balance_from_userspace, start_userspace_balance};
use numalab_kernel::sched::{Event as SchedEvent, Why as SchedWhy};
use numalab_model::machine::Machine;
use numalab_model::record::Status;
use numalab_model::workload::Workload;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::Arc;

/// A run: the simulated machine, the queue of what happens next, and what threads wait for.
pub struct Engine<'a> {
    pub(crate) sim: Simulation<'a>,
    pub(crate) queue: EventQueue,
    pub(crate) barriers: Vec<Barrier>,
    pub(crate) channels: Vec<Channel>,
    /// Threads that a message will create.
    pub(crate) deferred_clones: DeferredClones,
    /// Scratch: tasks that an open barrier releases.
    pub(crate) released: Vec<Waiter>,
    /// Processes that keep the run alive.
    pub(crate) live_processes: usize,
    /// By CPU, whether it may leave out events of ticks.
    pub(crate) may_be_quiet: Vec<bool>,
    /// Whether a [`Event::QuietCheck`] is on its way.
    pub(crate) quiet_check: bool,
    /// Where the model time is written for whoever watches the run.
    clock: Option<Arc<AtomicU64>>,
    /// Set by whoever watches the run to end it early.
    stop: Option<Arc<AtomicBool>>,
    /// Scratch: reports of the scheduler.
    sched_events: Vec<SchedEvent>,
    /// Scratch: effects on their way.
    effects: Vec<Effect>,
}

impl<'a> Engine<'a> {
    /// A run at time 0 with the first process about to be started.
    ///
    /// # Errors
    /// As [`Simulation::new`].
    pub fn new(
        machine: &'a Machine,
        workload: &'a Workload,
        cfg: &'a SimConfig,
        seed: u64,
        observers: Observers,
    ) -> Result<Self, String> {
        let (clock, stop) = (observers.clock.clone(), observers.stop.clone());
        let sim = Simulation::new(machine, workload, cfg, seed, observers)?;
        Ok(Self {
            clock,
            stop,
            may_be_quiet: may_be_quiet(&sim),
            quiet_check: false,
            sim,
            queue: EventQueue::default(),
            barriers: workload.barrier_widths.iter().map(|&w| Barrier::new(w)).collect(),
            channels: Channel::all(workload),
            deferred_clones: DeferredClones::new(workload.channels),
            released: Vec::new(),
            live_processes: workload.processes.len().saturating_sub(cfg.background),
            sched_events: Vec::new(),
            effects: Vec::new(),
        })
    }

    /// Sums what crosses each pipe of the machine, for the checks at the end.
    pub fn watch_pipes(&mut self) {
        self.sim.hw.contention.watch_pipes(self.sim.machine);
    }

    /// The simulated machine after the run.
    pub fn into_simulation(self) -> Simulation<'a> {
        self.sim
    }

    /// Carries out what mechanisms have noted since the last call, in their order.
    #[inline]
    pub(crate) fn carry_out_effects(&mut self) {
        if self.sim.effects.is_empty() {
            return;
        }
        let mut effects = std::mem::take(&mut self.effects);
        self.sim.effects.swap(&mut effects);
        for effect in effects.drain(..) {
            match effect {
                Effect::At(at_ns, event) => self.queue.push(at_ns, event),
                Effect::Plan { cpu, at_ns, pending } => self.plan(cpu, at_ns, pending),
            }
        }
        self.effects = effects;
    }

    /// Runs to the end of the workload, its limit, or a failure.
    pub fn run(&mut self) {
        self.start_roots();
        start_daemons(&mut self.sim);
        start_userspace_balance(&mut self.sim);
        start_kdamond(&mut self.sim);
        self.carry_out_effects();
        self.queue.push(EPOCH_NS, Event::Epoch);
        let mut standstill = Standstill::default();
        while self.live_processes > 0 && self.sim.status == Status::Completed {
            let Some((at, event)) = self.queue.pop() else { break };
            self.sim.record.events += 1;
            self.sim.now_ns = at;
            if at > self.sim.workload.limit_ns {
                self.sim.status = Status::Timeout;
                self.stop_at_limit();
                break;
            }
            if self.is_stopped() {
                self.sim.status = Status::Timeout;
                break;
            }
            if standstill.is_stuck(at) {
                let why = format!("time stands still at {at} ns ({event:?}): a fault of the model, please report it");
                self.sim.status = Status::Failed(why);
                break;
            }
            match event {
                Event::Epoch => self.epoch(),
                Event::Daemon(which) => {
                    daemon(&mut self.sim, which);
                    self.carry_out_effects();
                }
                Event::Kdamond => {
                    kdamond(&mut self.sim);
                    self.carry_out_effects();
                }
                Event::UserspaceBalance => {
                    balance_from_userspace(&mut self.sim);
                    self.carry_out_effects();
                    self.after_sched();
                }
                Event::QuietCheck => self.quiet_check(),
                Event::IdleTick { cpu } => self.idle_tick(cpu as usize),
                Event::Push { from, to } => {
                    self.sim.kernel.sched.push(from, to, self.sim.now_ns);
                    self.after_sched();
                }
                Event::Wake { task, waker, sleep } => self.wake(task, waker, sleep),
                Event::Cpu { cpu, plan } => {
                    if self.sim.cpus[cpu as usize].plan == plan {
                        self.cpu_event(cpu as usize);
                    }
                }
            }
        }
        let now_ns = self.sim.now_ns;
        catch_up_all(&mut self.sim, now_ns);
        // A run that is cut off lasts until then, even if some of its processes ended before.
        if self.sim.status != Status::Completed {
            self.sim.end_ns = self.sim.now_ns.min(self.sim.workload.limit_ns);
        }
        sample_now(&mut self.sim, true);
    }

    /// Whether whoever watches the run has ended it.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed))
    }

    /// The next event lies beyond the limit of the run. So may ticks of quiet CPUs, the first of which then ends the run.
    fn stop_at_limit(&mut self) {
        let limit_ns = self.sim.workload.limit_ns;
        catch_up_all(&mut self.sim, limit_ns);
        let quiet = self.sim.quiet.set.iter().map(|c| self.sim.quiet.cpus[c as usize].next_tick_ns);
        self.sim.now_ns = quiet.fold(self.sim.now_ns, u64::min);
    }

    pub(crate) fn epoch(&mut self) {
        if let Some(clock) = &self.clock {
            clock.store(self.sim.now_ns, Ordering::Relaxed);
        }
        self.sim.hw.contention.end_epoch(EPOCH_NS as f64);
        self.sim.hw.working_sets.shared.end_epoch();
        memory_daemons(&mut self.sim);
        self.carry_out_effects();
        if is_due(&self.sim) {
            let now_ns = self.sim.now_ns;
            catch_up_all(&mut self.sim, now_ns);
            sample(&mut self.sim);
        }
        if self.queue.is_empty() || self.only_kdamond_is_left() || self.only_the_machine_runs() {
            // No CPU runs a task, and no event will wake one.
            self.sim.status = Status::Failed("every thread waits for another: the workload is deadlocked".into());
        }
        self.queue.push(self.sim.now_ns + EPOCH_NS, Event::Epoch);
    }

    /// Whether nothing will happen but that DAMON looks at memory again.
    fn only_kdamond_is_left(&self) -> bool {
        self.sim.kernel.damon.is_some() && self.queue.iter().all(|e| e == Event::Kdamond)
    }

    /// Whether all threads of the workload sleep, and no event will wake one: only the machine's own threads go on.
    fn only_the_machine_runs(&self) -> bool {
        let sim = &self.sim;
        let own = |t: &Task<'_>| !sim.is_machine_thread(t.process as usize);
        let asleep = |t: &Task<'_>| matches!(t.activity, Activity::Asleep | Activity::Dead);
        let wakes = |e: Event| matches!(e, Event::Wake { task, .. } if own(&sim.tasks[task as usize]));
        sim.cfg.machine_threads > 0
            && sim.tasks.iter().filter(|t| own(t)).all(asleep)
            && !sim.cpus.iter().filter_map(|c| c.task).any(|t| own(&sim.tasks[t as usize]))
            && !self.queue.iter().any(|e| wakes(e) || matches!(e, Event::Daemon(_) | Event::UserspaceBalance))
    }

    /// `task` wakes up from its sleep number `sleep`, by `waker` or a timer ([`NOBODY`]).
    fn wake(&mut self, task: u32, waker: u32, sleep: u32) {
        let t = &mut self.sim.tasks[task as usize];
        if t.sleep != sleep || t.activity != Activity::Asleep {
            return;
        }
        t.activity = Activity::Running;
        t.short_bins = SHORT_BINS;
        t.sleep += 1;
        if let Some(since) = t.blocked_since_ns.take() {
            self.sim.processes[t.process as usize].blocked_ns += self.sim.now_ns - since;
            self.sim.record.stalls.of(task).waits.add(self.sim.now_ns - since);
        }
        (t.wakes_ns, t.waker) = (0, NOBODY);
        let message = std::mem::take(&mut t.message);
        self.sim.sweep_positions.planned(task);
        let waker = (waker != NOBODY).then(|| self.sim.kernel.sched.cpu_of(waker));
        // Pipes and sockets tell the scheduler that the writer is about to wait for the answer.
        let sync = message && self.sim.cfg.harness == Harness::Program;
        let cpu = self.sim.kernel.sched.wake(task, waker, sync, self.sim.now_ns);
        self.sim.cpus[cpu as usize].debt_ns += self.sim.hw.costs.wake_ns() as u64;
        if let (true, Some(from)) = (message, waker) {
            self.sim.cpus[cpu as usize].debt_ns += message_ns(&self.sim, from as usize, cpu as usize);
        }
        self.after_sched();
    }

    /// Handles what the scheduler reported: CPUs that must look for work, time spent balancing, moves.
    pub(crate) fn after_sched(&mut self) {
        let mut events = std::mem::take(&mut self.sched_events);
        loop {
            self.sim.kernel.sched.swap_events(&mut events);
            if events.is_empty() {
                break;
            }
            for e in &events {
                match *e {
                    SchedEvent::Resched { cpu } => self.kick(cpu as usize),
                    SchedEvent::Disturbed { cpu } => self.disturb(cpu as usize),
                    SchedEvent::QuietEnds => self.disturb_all(None),
                    SchedEvent::SecondTask => self.disturb_soon(),
                    SchedEvent::Moved { task, from, to, why } => {
                        log_moved(&mut self.sim, task, from, to, why);
                        if self.sim.cpus[from as usize].node != self.sim.cpus[to as usize].node {
                            let rss =
                                self.sim.processes[self.sim.tasks[task as usize].process as usize].space.rss_pages();
                            self.sim.kernel.numa.update_scan_period(task, from as usize, to as usize, rss);
                        }
                        if self.sim.cpus[from as usize].task == Some(task) {
                            self.task_moved_away(from as usize, task);
                        }
                    }
                    SchedEvent::Push { from, to, cpus } => {
                        let ns = self.sim.hw.costs.balance_ns(cpus) + self.sim.hw.costs.switch_ns(false);
                        self.queue.push(self.sim.now_ns + ns as u64, Event::Push { from, to });
                    }
                    // That time has passed already, and no task had the CPU.
                    SchedEvent::Balanced { why: SchedWhy::Newidle, .. } => {}
                    SchedEvent::Balanced { cpu, cpus, stretch, .. } => self.balanced(cpu, cpus, stretch),
                }
            }
        }
        self.sched_events = events;
    }

    /// `cpu` has looked at `cpus` CPUs for work. Its task pays for that. An idle CPU spends the time while it is idle; work that
    /// arrives ends the search after the present `stretch` of CPUs (`_nohz_idle_balance`).
    pub(crate) fn balanced(&mut self, cpu: u32, cpus: u32, stretch: u32) {
        let ns = |cpus: u32| self.sim.hw.costs.balance_ns(cpus) as u64;
        let (all, stretch) = (ns(cpus), ns(stretch));
        self.disturb(cpu as usize);
        let c = &mut self.sim.cpus[cpu as usize];
        if self.sim.kernel.sched.current(cpu).is_some() {
            c.debt_ns += all;
        } else {
            c.busy_until_ns = c.busy_until_ns.max(self.sim.now_ns) + all;
            c.busy_stretch_ns = stretch;
        }
    }

    /// Plans the end of the slice of `cpu`: at `at_ns`, for the reason `pending`.
    pub(crate) fn plan(&mut self, cpu: usize, at_ns: u64, pending: Pending) {
        self.carry_out_effects();
        let c = &mut self.sim.cpus[cpu];
        c.plan += 1;
        c.pending = pending;
        if let Some(task) = c.task {
            self.sim.sweep_positions.planned(task);
        }
        self.queue.push(at_ns, Event::Cpu { cpu: cpu as u32, plan: c.plan });
    }

    /// `cpu` comes to the end of what it planned.
    fn cpu_event(&mut self, cpu: usize) {
        if self.sim.quiet.set.contains(cpu as u32) {
            // This tick needs its event; those before it did not.
            let before_ns = self.sim.now_ns - 1;
            stop_quiet(&mut self.sim, cpu, before_ns);
        }
        self.late_tick(cpu);
        let pending = std::mem::replace(&mut self.sim.cpus[cpu].pending, Pending::None);
        match pending {
            Pending::None => {}
            Pending::Tick => self.tick(cpu),
            Pending::Spin => self.end_lazy_spin(cpu),
            Pending::Sleep(ns) => self.go_to_sleep(cpu, Some(ns)),
            Pending::Wait => self.go_to_sleep(cpu, None),
            Pending::Exit => self.exit_task(cpu),
            Pending::Stage => self.next_stage(cpu),
            Pending::Birth => self.clone_deferred(cpu),
            Pending::Moves => apply_due_migrations(&mut self.sim, cpu),
            Pending::Resume | Pending::Search => {}
            Pending::HintFault => finish_hint_fault(&mut self.sim, cpu),
            Pending::Migration => migration_phase(&mut self.sim, cpu),
        }
        self.carry_out_effects();
        self.after_sched();
        // A kick of this CPU while it handled its event has given it a new plan.
        if self.sim.cpus[cpu].pending == Pending::None {
            self.sim.cpus[cpu].plan += 1;
            self.dispatch(cpu);
        }
    }

    /// A slice that ended inside the kernel may have gone past its tick: the interrupt comes at the end of the slice then.
    fn late_tick(&mut self, cpu: usize) {
        let c = &self.sim.cpus[cpu];
        let own_tick = matches!(c.pending, Pending::None | Pending::Tick | Pending::Spin);
        if !own_tick && c.task.is_some() && c.next_tick_ns <= self.sim.now_ns {
            self.tick(cpu);
            self.next_tick(cpu);
        }
    }

    /// The task of `cpu` goes to sleep, for `ns` or until another task wakes it.
    fn go_to_sleep(&mut self, cpu: usize, ns: Option<u64>) {
        let Some(task) = self.sim.cpus[cpu].task else { return };
        let t = &self.sim.tasks[task as usize];
        if t.activity != Activity::Asleep {
            // It was woken between its decision to sleep and now.
            return;
        }
        if let Some(ns) = ns {
            self.queue.push(self.sim.now_ns + ns, Event::Wake { task, waker: t.waker, sleep: t.sleep });
        }
        self.sim.kernel.sched.account(cpu as u32, self.sim.now_ns);
        self.sim.kernel.sched.block_current(cpu as u32, self.sim.now_ns);
    }
}
