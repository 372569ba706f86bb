//! Preemption: a task that loses its CPU before the end of the slice planned for it.
//!
//! What it does up to that end is in the books already, so it *owes* the rest of the slice: the first thing it does when
//! it gets a CPU again, whichever that is, is to run for so long, and what was planned for the end follows. Its faults, scores
//! and charges are counted once, where they were planned; its CPU time passes once, when it is run. Messages and
//! barriers inside the rest keep their planned instants, at most a tick early; a slice ends behind a message whose receiver
//! may take the CPU (`birth`).

use crate::engine::{Pending, World};
use crate::task::Activity;

/// Progress of a sweep that is interrupted is in whole cache lines.
const LINE_BYTES: u64 = 64;

impl World<'_> {
    /// Makes a CPU look at its queue now, if it is idle, busy-waits, or has to leave its task for another.
    pub(crate) fn kick(&mut self, cpu: usize) {
        let task = self.cpus[cpu].task;
        let ahead = task.is_some_and(|t| self.tasks[t as usize].ahead_ns > self.now_ns);
        match (self.cpus[cpu].pending, task) {
            (pending @ (Pending::None | Pending::Spin), _) if !ahead => self.plan(cpu, self.now_ns, pending),
            // Inside the kernel nobody is preempted without CONFIG_PREEMPT, and everything else there is short.
            (Pending::Migration | Pending::Search, _) => {}
            (_, Some(task)) if ahead && self.sched.need_resched(cpu as u32) => {
                self.stop_slice(cpu, task);
                // An access that goes on past the tick has kept it waiting.
                let late = self.cpus[cpu].next_tick_ns <= self.now_ns;
                self.plan(cpu, self.now_ns, if late { Pending::Tick } else { Pending::None });
            }
            // Its event comes at this very instant.
            _ => {}
        }
    }

    /// The running task of `cpu` has been moved to another CPU: its slice here ends.
    pub(crate) fn taken_away(&mut self, cpu: usize, task: u32) {
        match self.cpus[cpu].pending {
            Pending::None => return,
            // It busy-waits elsewhere from now on; the CPU that it gets may look at it before this one does.
            Pending::Spin => return self.charge_spin(task, self.now_ns),
            _ => {}
        }
        self.stop_slice(cpu, task);
        self.plan(cpu, self.now_ns, Pending::None);
    }

    /// Notes what a task owes whose slice on `cpu` ends now, and what was to follow.
    fn stop_slice(&mut self, cpu: usize, task: u32) {
        let pending = self.cpus[cpu].pending;
        self.take_back(task);
        let t = &mut self.tasks[task as usize];
        t.owed_ns += t.ahead_ns.saturating_sub(self.now_ns);
        t.ahead_ns = self.now_ns;
        if pending.leaves() || pending == Pending::Moves {
            t.carried = Some(pending);
        }
    }

    /// Takes back what need not be owed: busy-waiting, which ends when the barrier opens, and a sweep over shared pages,
    /// which may meet a migration when it goes on.
    fn take_back(&mut self, task: u32) {
        let t = &self.tasks[task as usize];
        if let Activity::Spinning { since_ns } = t.activity {
            let from = since_ns.max(self.now_ns).min(t.ahead_ns);
            self.uncharge_user(task, from);
        } else if let Some(s) = t.stretch.filter(|s| s.from_ns < t.ahead_ns) {
            let from = s.from_ns.max(self.now_ns);
            let bytes = ((from - s.from_ns) as f64 / s.per_byte) as u64 & !(LINE_BYTES - 1);
            self.undo(task, &s, bytes, from);
        }
    }

    /// A task that owes time gets the CPU: returns the end of its slice, and why it ends.
    pub(crate) fn pay_owed(&mut self, cpu: usize, task: u32) -> (u64, Pending) {
        let end = self.next_tick(cpu);
        let debt = std::mem::take(&mut self.cpus[cpu].debt_ns) + self.take_flush_debt(task);
        self.charge_system(task, debt);
        let t = &mut self.tasks[task as usize];
        let paid = self.now_ns + debt + std::mem::take(&mut t.owed_ns);
        if let Activity::Spinning { since_ns } = &mut t.activity {
            *since_ns = paid;
        }
        if paid >= end {
            t.owed_ns = paid - end;
            return (end, Pending::Tick);
        }
        (paid, t.carried.take().unwrap_or(Pending::Resume))
    }
}
