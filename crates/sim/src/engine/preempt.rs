//! Preemption: a task that loses its CPU before the end of the slice that was planned for it.
//!
//! All that the task does up to that end is accounted for already: faults, scores and charges are counted once, where
//! they were planned. So the rest of the slice is *unrun* CPU time. When the task gets a CPU again it first runs for
//! that long, and what was planned for the end of the slice follows. Messages and barriers inside the rest keep their
//! planned instants, at most a tick early. A slice ends behind a message whose receiver may take the CPU
//! (`engine::sync`).

use crate::charge::rewind::{rewind_sweep, uncharge_user};
use crate::charge::spin::charge_spin;
use crate::charge::time::charge_system;
use crate::charge::tlb_flush::take_flush_debt;
use crate::engine::carry_out::Engine;
use crate::engine::next_tick::next_tick;
use crate::float::LINE_BYTES;
use crate::state::cpu::Pending;
use crate::state::task::Activity;

impl Engine<'_> {
    /// Makes a CPU look at its queue now, if it is idle, busy-waits, or has to leave its task for another.
    pub(crate) fn kick(&mut self, cpu: usize) {
        self.disturb(cpu);
        let task = self.sim.cpus[cpu].task;
        let ahead = task.is_some_and(|t| self.sim.tasks[t as usize].planned_until_ns > self.sim.now_ns);
        match (self.sim.cpus[cpu].pending, task) {
            (pending @ (Pending::None | Pending::Spin), _) if !ahead => self.plan(cpu, self.sim.now_ns, pending),
            // Without CONFIG_PREEMPT no task is preempted inside the kernel; all other work there is short.
            (Pending::Migration | Pending::Search, _) => {}
            (_, Some(task)) if ahead && self.sim.kernel.sched.need_resched(cpu as u32) => {
                self.stop_slice(cpu, task);
                // An access that went on past the tick has delayed it.
                let late = self.sim.cpus[cpu].next_tick_ns <= self.sim.now_ns;
                self.plan(cpu, self.sim.now_ns, if late { Pending::Tick } else { Pending::None });
            }
            // Its own event comes at this instant.
            _ => {}
        }
    }

    /// The running task of `cpu` has been moved to another CPU: its slice here ends.
    pub(crate) fn task_moved_away(&mut self, cpu: usize, task: u32) {
        match self.sim.cpus[cpu].pending {
            Pending::None => return,
            // It busy-waits on its new CPU from now on, and that CPU may look at it before this one does.
            Pending::Spin => {
                let now_ns = self.sim.now_ns;
                return charge_spin(&mut self.sim, task, now_ns);
            }
            _ => {}
        }
        self.stop_slice(cpu, task);
        self.plan(cpu, self.sim.now_ns, Pending::None);
    }

    /// Ends the slice of `task` on `cpu` now, and notes the unrun rest and what was to follow it.
    fn stop_slice(&mut self, cpu: usize, task: u32) {
        let pending = self.sim.cpus[cpu].pending;
        self.rewind_unrun(task);
        let t = &mut self.sim.tasks[task as usize];
        t.unrun.ns += t.planned_until_ns.saturating_sub(self.sim.now_ns);
        t.planned_until_ns = self.sim.now_ns;
        if pending.leaves() || pending == Pending::Moves {
            t.unrun.end = Some(pending);
        }
    }

    /// Takes back two kinds of work that need not be run later as planned: busy-waiting, which ends when the barrier
    /// opens, and a sweep over shared pages, which may meet a migration when it goes on.
    fn rewind_unrun(&mut self, task: u32) {
        let t = &self.sim.tasks[task as usize];
        if let Activity::Spinning { since_ns } = t.activity {
            let from = since_ns.max(self.sim.now_ns).min(t.planned_until_ns);
            uncharge_user(&mut self.sim, task, from);
        } else if let Some(s) = t.planned_sweep.filter(|s| s.from_ns < t.planned_until_ns) {
            let from = s.from_ns.max(self.sim.now_ns);
            let bytes = ((from - s.from_ns) as f64 / s.per_byte) as u64 & !(LINE_BYTES - 1);
            rewind_sweep(&mut self.sim, task, &s, bytes, from);
        }
    }

    /// A task with unrun time gets the CPU. Returns the end of its slice, ns, and why the slice ends.
    pub(crate) fn run_unrun(&mut self, cpu: usize, task: u32) -> (u64, Pending) {
        let end = next_tick(&mut self.sim, cpu);
        let debt = std::mem::take(&mut self.sim.cpus[cpu].debt_ns) + take_flush_debt(&mut self.sim, task);
        charge_system(&mut self.sim, task, debt);
        let t = &mut self.sim.tasks[task as usize];
        let paid = self.sim.now_ns + debt + std::mem::take(&mut t.unrun.ns);
        if let Activity::Spinning { since_ns } = &mut t.activity {
            *since_ns = paid;
        }
        if paid >= end {
            t.unrun.ns = paid - end;
            return (end, Pending::Tick);
        }
        (paid, t.unrun.end.take().unwrap_or(Pending::Resume))
    }
}
