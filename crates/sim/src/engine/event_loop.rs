//! The event loop: CPUs run slices of their current task from one planned instant to the next.
//!
//! A CPU's *slice* ends at its next tick, or earlier when its task blocks, ends, forks, is moved or preempted.
//! What the task does to memory inside a slice happens when the slice is planned (at most one tick
//! early); everything that touches the scheduler happens at the planned end, in global time order.

use crate::charge::core::message_ns;
use crate::charge::late_ticks::{catch_up_all, stop_quiet};
use crate::damon::kdamond::{kdamond, start_kdamond};
use crate::engine::carry_out::Engine;
use crate::engine::next_tick::next_tick;
use crate::hardware::access_rates::EPOCH_NS;
use crate::mm::mm_threads::memory_daemons;
use crate::numa::shared_page_migration::finish_hint_fault;
use crate::numa::task_migration::apply_due_migrations;
use crate::numa_2012::hooks::{daemon, start_daemons};
use crate::record::samples::{is_due, sample, sample_now};
use crate::state::cpu::Pending;
use crate::state::event_queue::Event;
use crate::state::task::{Activity, Task, SHORT_BINS};
use crate::state::wait::NOBODY;
use crate::userspace_balance::balance_timer::{balance_from_userspace, start_userspace_balance};
use numalab_nouns::record::Status;
use std::sync::atomic::Ordering;

impl Engine<'_> {
    /// Runs to the end of the workload, its limit, or a failure.
    ///
    /// # Errors
    /// A check on the way found a violated rule.
    #[cfg(test)]
    pub fn run(&mut self) -> Result<(), String> {
        self.begin();
        self.advance(u64::MAX);
        self.end()
    }

    /// Starts the first processes and what the kernel does by itself.
    pub fn begin(&mut self) {
        self.start_roots();
        start_daemons(&mut self.sim);
        start_userspace_balance(&mut self.sim);
        start_kdamond(&mut self.sim);
        self.carry_out_effects();
        self.queue.push(EPOCH_NS, Event::Epoch);
    }

    /// Goes on up to the first event at `until_ns` or later, that event included. Returns whether the run is over: at
    /// the end of the workload, its limit, or a failure.
    pub fn advance(&mut self, until_ns: u64) -> bool {
        while self.goes_on() {
            if !self.next_event() {
                return true;
            }
            if self.sim.now_ns >= until_ns {
                break;
            }
        }
        !self.goes_on()
    }

    /// Whether there is something left to do.
    #[inline]
    fn goes_on(&self) -> bool {
        self.live_processes > 0 && self.sim.status == Status::Completed && self.fault.is_none()
    }

    /// Carries out the next event. Returns whether there was one, and the run may go on behind it.
    #[inline]
    fn next_event(&mut self) -> bool {
        let Some((at, event)) = self.queue.pop() else { return false };
        debug_assert!(at >= self.sim.now_ns, "{event:?} at {at} ns comes at {} ns", self.sim.now_ns);
        self.sim.record.events += 1;
        self.sim.now_ns = at;
        if at + self.sim.record.settling.skipped_ns() > self.sim.workload.limit_ns {
            self.sim.status = Status::Timeout;
            self.stop_at_limit();
            return false;
        }
        if self.is_stopped() {
            self.sim.status = Status::Timeout;
            return false;
        }
        if self.standstill.is_stuck(at) {
            let why = format!("time stands still at {at} ns ({event:?}): a fault of the model, please report it");
            self.sim.status = Status::Failed(why);
            return false;
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
        true
    }

    /// Ends a run that is over: everything is brought up to date, and the last sample taken.
    ///
    /// # Errors
    /// A check on the way found a violated rule.
    pub fn end(&mut self) -> Result<(), String> {
        let now_ns = self.sim.now_ns;
        catch_up_all(&mut self.sim, now_ns);
        // A run that is cut off lasts until then, even if some of its processes ended before.
        if self.sim.status != Status::Completed {
            self.sim.end_ns = self.sim.now_ns.min(self.sim.workload.limit_ns);
        }
        sample_now(&mut self.sim, true);
        self.fault.take().map_or(Ok(()), Err)
    }

    /// The next event lies beyond the limit of the run. So may ticks of quiet CPUs, the first of which then ends the
    /// run.
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
        if is_due(&self.sim.record.samples, self.sim.now_ns) {
            let now_ns = self.sim.now_ns;
            catch_up_all(&mut self.sim, now_ns);
            sample(&mut self.sim);
            if self.sim.cfg.until_settled {
                self.look_whether_settled();
            }
        }
        if self.queue.is_empty() || self.only_kdamond_is_left() || self.only_the_machine_runs() {
            // No CPU runs a task, and no event will wake one.
            self.sim.status = Status::Failed("every thread waits for another: the workload is deadlocked".into());
        }
        self.queue.push(self.sim.now_ns + EPOCH_NS, Event::Epoch);
        if self.checks.is_due(self.sim.now_ns) {
            self.fault = self.check().err();
        }
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
        if t.wait.sleep != sleep || t.activity != Activity::Asleep {
            return;
        }
        t.activity = Activity::Running;
        t.short_bins = SHORT_BINS;
        t.wait.sleep += 1;
        let since_ns = t.wait.since_ns.take();
        if let Some(since_ns) = since_ns {
            debug_assert!(since_ns <= self.sim.now_ns, "task {task} sleeps since {since_ns} ns and wakes up before");
            let slept_ns = self.sim.now_ns - since_ns;
            self.sim.processes[t.process as usize].blocked_ns += slept_ns;
            self.sim.record.stalls.of(task).waits.add(slept_ns);
        }
        (t.wait.wakes_ns, t.wait.waker) = (0, NOBODY);
        let message = std::mem::take(&mut t.wait.message);
        self.sim.sweep_positions.planned(task);
        let waker = (waker != NOBODY).then(|| self.sim.kernel.sched.cpu_of(waker));
        // Pipes and sockets tell the scheduler that the writer is about to wait for the answer.
        let sync = message && !self.sim.cfg.harness.is_worker();
        let programs = since_ns.is_none();
        let cpu = self.sim.kernel.sched.wake(task, waker, sync, self.sim.now_ns);
        self.charge_wake_up(cpu, waker);
        if programs && self.sim.cpus[cpu as usize].task != Some(task) {
            self.sim.tasks[task as usize].wait.woken_ns = self.sim.now_ns;
        }
        if let (true, Some(from)) = (message, waker) {
            self.sim.cpus[cpu as usize].debt_ns +=
                message_ns(self.sim.machine, &self.sim.cpus, from as usize, cpu as usize);
        }
        self.after_sched();
    }

    /// What a wake-up costs the CPU that the task is queued on. An idle CPU leaves its idle state; one that searches
    /// for work has not entered it. A busy one is interrupted if it has to reschedule, or to queue the task itself
    /// since the waker is in another cache.
    fn charge_wake_up(&mut self, cpu: u32, waker: Option<u32>) {
        let sched = &self.sim.kernel.sched;
        let apart = |w: u32| self.sim.cpus[w as usize].llc != self.sim.cpus[cpu as usize].llc;
        let ns = if sched.newidle_pass_ns(cpu).is_some() {
            0.0
        } else if sched.current(cpu).is_none() {
            self.sim.hw.costs.wake_ns()
        } else if waker.is_some_and(|w| w != cpu && (sched.need_resched(cpu) || apart(w))) {
            self.sim.machine.costs.exception_ns
        } else {
            0.0
        };
        self.sim.cpus[cpu as usize].debt_ns += ns as u64;
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
            Pending::Migration => self.migration_event(cpu),
        }
        self.carry_out_effects();
        self.after_sched();
        // A kick of this CPU while it handled its event has given it a new plan.
        if self.sim.cpus[cpu].pending == Pending::None {
            self.sim.cpus[cpu].plan += 1;
            self.dispatch(cpu);
        }
    }

    /// A slice that ended inside the kernel may have gone past its tick: the interrupt comes at the end of the slice
    /// then.
    fn late_tick(&mut self, cpu: usize) {
        let c = &self.sim.cpus[cpu];
        let own_tick = matches!(c.pending, Pending::None | Pending::Tick | Pending::Spin);
        if !own_tick && c.task.is_some() && c.next_tick_ns <= self.sim.now_ns {
            self.tick(cpu);
            next_tick(&mut self.sim, cpu);
            // The tick may have taken the task away (AutoNUMA, a push to an idle CPU). What was planned for its end
            // then happens where it runs next: it must not fall asleep while it is runnable elsewhere.
            self.after_sched();
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
        let t = &mut self.sim.tasks[task as usize];
        // A task that lost its CPU after its decision falls asleep later than it was planned to.
        if let Some(since_ns) = &mut t.wait.since_ns {
            *since_ns = self.sim.now_ns;
        }
        if let Some(ns) = ns {
            let wakes_ns = self.sim.now_ns + ns;
            if t.wait.wakes_ns > 0 {
                t.wait.wakes_ns = wakes_ns;
            }
            self.queue.push(wakes_ns, Event::Wake { task, waker: t.wait.waker, sleep: t.wait.sleep });
        }
        self.sim.kernel.sched.account(cpu as u32, self.sim.now_ns);
        let blocked = self.sim.kernel.sched.block_current(cpu as u32, self.sim.now_ns);
        debug_assert_eq!(blocked, Some(task), "the task that falls asleep is not the one that CPU {cpu} runs");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim_config::SimConfig;
    use crate::state::log::Observers;
    use numalab_kernel::registry;
    use numalab_kernel::sched::shapes::Shape;
    use numalab_kernel::sched::State;

    /// A tick that was late until a task's sleep, and at which the balancer takes that task away, leaves a runnable
    /// task that has still to fall asleep where it runs next. It does not leave one that sleeps and runs.
    #[test]
    fn a_task_that_moves_at_its_last_instant_falls_asleep_on_its_new_cpu() {
        let mut machine = Shape::flat(2, 2, 1, 20).machine("four CPUs");
        machine.nodes.iter_mut().for_each(|n| n.memory_bytes = 1 << 30);
        let text = "name = \"w\"\ntitle = \"t\"\nabout = \"a\"\nsource = \"s\"\n[[process]]\nname = \"p\"\n\
                    [[process.phase]]\ncompute = \"1s\"\n";
        let workload = numalab_model::workload::parse("w.toml", text).unwrap().resolve(&machine, 1, &[]).unwrap();
        let kernel = numalab_model::catalog::built_in_kernel("6.1", &registry::vocabulary()).unwrap();
        let cfg = SimConfig::of(&kernel).unwrap();
        let mut engine = Engine::new(&machine, &workload, &cfg, 1, Observers::default()).unwrap();
        engine.start_roots();
        let (at, event) = engine.queue.pop().unwrap();
        let Event::Cpu { cpu, .. } = event else { panic!("{event:?}") };
        engine.sim.now_ns = at;
        engine.cpu_event(cpu as usize);
        let task = engine.sim.cpus[cpu as usize].task.unwrap();
        // Its slice ends with a sleep of 1 us, a little past the tick.
        let now_ns = engine.sim.cpus[cpu as usize].next_tick_ns + 1000;
        engine.sim.now_ns = now_ns;
        let t = &mut engine.sim.tasks[task as usize];
        (t.activity, t.planned_until_ns, t.wait.since_ns) = (Activity::Asleep, now_ns, Some(now_ns));
        engine.sim.cpus[cpu as usize].pending = Pending::Sleep(1000);
        let to = (cpu + 2) % 4;
        assert!(engine.sim.kernel.sched.migrate(task, to, now_ns));
        engine.cpu_event(cpu as usize);
        let sched = &engine.sim.kernel.sched;
        assert_eq!((sched.cpu_of(task), sched.state(task)), (to, State::Queued));
        assert_eq!(engine.sim.tasks[task as usize].unrun.end, Some(Pending::Sleep(1000)), "it has still to sleep");
        assert!(!engine.queue.iter().any(|e| matches!(e, Event::Wake { .. })), "no timer runs before the sleep");
    }
}
