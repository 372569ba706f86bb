//! What a CPU runs: the next task is picked, switched to, and given a slice that ends at the next tick or earlier.

use crate::charge::blocking::{fall_asleep_blocked, is_blocked};
use crate::charge::time::charge_system;
use crate::charge::tlb_flush::take_flush_debt;
use crate::charge::working_set::{enter_cpu, leave_cpu, turns_core};
use crate::engine::carry_out::Engine;
use crate::engine::next_tick::next_tick;
use crate::numa::scan_in_task::task_numa_work;
use crate::numa::shared_page_migration::{migration_phase, plan_phase_end};
use crate::numa_2012::schednuma_copy::end_copy_of;
use crate::numa_2012::schednuma_scan::schednuma_scan;
use crate::process::program_pages::others_touch_program;
use crate::record::log::log_switch;
use crate::state::cpu::Pending;
use crate::state::step::Step;

/// Steps between two looks whether the run has been stopped.
const STEPS_PER_LOOK: u64 = 1 << 14;

/// A move that ends within a tick divided by this ends before the scan that a tick inside it has asked for.
const SOON_PER_TICK: u64 = 8;

impl Engine<'_> {
    /// Picks the next task of a CPU and plans its slice.
    pub(crate) fn dispatch(&mut self, cpu: usize) {
        let now = self.sim.now_ns;
        let id = cpu as u32;
        if self.sim.kernel.sched.need_resched(id) || self.sim.kernel.sched.current(id).is_none() {
            let next = self.sim.kernel.sched.pick_next(id, now, &self.sim.kernel.numa);
            self.after_sched();
            self.switch(cpu, next);
            if let Some(ns) = self.sim.kernel.sched.newidle_pass_ns(id) {
                return self.plan(cpu, now + ns, Pending::Search);
            }
        } else if self.sim.cpus[cpu].task != self.sim.kernel.sched.current(id) {
            let next = self.sim.kernel.sched.current(id);
            self.switch(cpu, next);
        }
        let Some(task) = self.sim.cpus[cpu].task else {
            if self.sim.cpus[cpu].pending != Pending::None {
                return;
            }
            self.sim.cpus[cpu].pending = Pending::None;
            self.arm_idle_tick(cpu);
            return;
        };
        let t = &self.sim.tasks[task as usize];
        let owes = t.unrun.ns > 0 || t.unrun.end.is_some();
        let (at, pending) = if owes { self.run_unrun(cpu, task) } else { self.slice(cpu, task) };
        self.sim.tasks[task as usize].planned_until_ns = at;
        // Busy-waiting is charged once it has passed.
        let at = match pending {
            Pending::Spin => next_tick(&mut self.sim, cpu),
            Pending::Tick if !owes => self.next_busy_tick(cpu, task, at),
            _ => at,
        };
        self.plan(cpu, at, pending);
    }

    fn switch(&mut self, cpu: usize, next: Option<u32>) {
        let prev = self.sim.cpus[cpu].task;
        if prev == next {
            return;
        }
        let now = self.sim.now_ns;
        self.disturb_siblings(cpu);
        if let Some(p) = prev {
            leave_cpu(&mut self.sim, cpu, p);
        }
        self.sim.cpus[cpu].task = next;
        for task in [prev, next].into_iter().flatten() {
            self.sim.sweep_positions.planned(task);
        }
        log_switch(&mut self.sim, cpu, prev, next);
        if prev.is_none() || next.is_none() {
            self.count_core(cpu, next.is_some());
        }
        if let Some(n) = next {
            let same = prev.is_some_and(|p| self.sim.tasks[p as usize].process == self.sim.tasks[n as usize].process);
            let c = &mut self.sim.cpus[cpu];
            c.debt_ns += self.sim.hw.costs.switch_ns(same) as u64;
            c.debt_ns += std::mem::take(&mut c.busy_until_ns).saturating_sub(self.sim.now_ns).min(c.busy_stretch_ns);
            let debt_ns = c.debt_ns;
            enter_cpu(&mut self.sim, cpu, n);
            let woken_ns = std::mem::take(&mut self.sim.tasks[n as usize].wait.woken_ns);
            if woken_ns > 0 && !self.sim.is_machine_thread(self.sim.tasks[n as usize].process as usize) {
                self.sim.record.wake_ups.add(now + debt_ns - woken_ns);
            }
        }
    }

    /// Counts busy cores: `cpu` has become busy or idle.
    fn count_core(&mut self, cpu: usize, busy: bool) {
        if !turns_core(&self.sim.cpus, cpu) {
            return;
        }
        let socket = self.sim.machine.cpus[cpu].socket;
        let cores = self.sim.hw.busy_cores[socket];
        let now = if busy { cores + 1 } else { cores - 1 };
        let speed = |cores: u32| self.sim.hw.boost.speed(cores as usize);
        if speed(cores) != speed(now) {
            self.disturb_all(Some(socket));
        }
        self.sim.hw.busy_cores[socket] = now;
    }

    /// Carries out the scan that a tick has asked for, if one has. Returns its time, ns.
    fn queued_scan(&mut self, cpu: usize, task: u32, (clock, end): (u64, u64)) -> u64 {
        if !self.sim.kernel.numa.tasks[task as usize].work_queued {
            return 0;
        }
        let ns = task_numa_work(&mut self.sim, cpu, task, (clock, end), others_touch_program);
        self.sim.record.stalls.of(task).numa_work.add(ns);
        ns
    }

    /// The migrating task of `cpu` has come to the end of a phase, or to a tick inside it.
    pub(crate) fn migration_event(&mut self, cpu: usize) {
        let Some(task) = self.sim.cpus[cpu].task else { return };
        let left_ns = self.sim.tasks[task as usize].migration.as_ref().map_or(0, |m| m.phase_left_ns);
        if left_ns == 0 {
            return migration_phase(&mut self.sim, cpu);
        }
        let end = next_tick(&mut self.sim, cpu);
        // A scan between two pages of a grain keeps it locked, so it comes there only where its end is far.
        let far = left_ns * SOON_PER_TICK > self.sim.cfg.jiffy_ns();
        let ns = if far { self.queued_scan(cpu, task, (self.sim.now_ns, end)) } else { 0 };
        plan_phase_end(&mut self.sim, cpu, task, left_ns + ns);
    }

    /// Runs `task` on `cpu` from now to the next tick or until it stops; returns the end and why.
    pub(crate) fn slice(&mut self, cpu: usize, task: u32) -> (u64, Pending) {
        let end = next_tick(&mut self.sim, cpu);
        if self.sim.mm.shared_migration_until_ns > 0 {
            self.sim.tasks[task as usize].planned_sweep = None;
        }
        let mut clock = self.sim.now_ns;
        let debt = std::mem::take(&mut self.sim.cpus[cpu].debt_ns) + take_flush_debt(&mut self.sim, task);
        clock += debt;
        charge_system(&mut self.sim, task, debt);
        end_copy_of(&mut self.sim, task);
        if is_blocked(&self.sim, task) {
            return (clock, fall_asleep_blocked(&mut self.sim.tasks, task, clock));
        }
        if clock < end && self.sim.kernel.numa_2012.take_queued(task) {
            clock += schednuma_scan(&mut self.sim, cpu, task, clock);
            if is_blocked(&self.sim, task) {
                return (clock, fall_asleep_blocked(&mut self.sim.tasks, task, clock));
            }
        }
        if clock < end {
            clock += self.queued_scan(cpu, task, (clock, end));
        }
        loop {
            if clock >= end {
                return (clock, Pending::Tick);
            }
            self.sim.record.steps += 1;
            // A slice may have millions of steps of 1 ns; the event loop then ends the run.
            if self.sim.record.steps.is_multiple_of(STEPS_PER_LOOK) && self.is_stopped() {
                return (clock, Pending::Resume);
            }
            match self.step(cpu, task, &mut clock, end) {
                Step::Go => {}
                Step::Stop(pending) => {
                    return (clock, pending);
                }
            }
            if !self.sim.task_migrations.decided.is_empty() {
                let own = self.sim.task_migrations.decided.iter().any(|m| m.task == task);
                self.sim.task_migrations.due.append(&mut self.sim.task_migrations.decided);
                if own {
                    return (clock, Pending::Moves);
                }
            }
            if is_blocked(&self.sim, task) {
                return (clock, fall_asleep_blocked(&mut self.sim.tasks, task, clock));
            }
        }
    }
}
