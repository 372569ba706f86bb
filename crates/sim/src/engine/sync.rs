//! Barriers, messages and busy-waiting.

use crate::charge::spin::charge_spin;
use crate::charge::time::{charge_system, charge_user};
use crate::engine::carry_out::Engine;
use crate::engine::wait_objects::Waiter;
use crate::state::cpu::Pending;
use crate::state::event_queue::Event;
use crate::state::step::Step;
use crate::state::task::{Activity, SHORT_BINS};

impl Engine<'_> {
    pub(crate) fn barrier(&mut self, task: u32, id: usize, spin: bool, clock: &mut u64) -> Step {
        let now = *clock;
        if spin {
            self.disturb_siblings(self.sim.kernel.sched.cpu_of(task) as usize);
        }
        let t = &mut self.sim.tasks[task as usize];
        t.advance();
        t.short_bins = SHORT_BINS;
        t.activity = if spin { Activity::Spinning { since_ns: now } } else { Activity::Asleep };
        t.wait.released_ns = u64::MAX;
        if self.barriers[id].arrive(Waiter { task, since_ns: now, spin }) {
            let mut released = std::mem::take(&mut self.released);
            self.barriers[id].release(&mut released);
            // Slices are planned ahead, so the last task to arrive need not be the last that was planned.
            if let Some(last) = released.pop() {
                // It finds the barrier open and goes on, even if its sleep has been planned.
                if spin {
                    self.release(last, last.since_ns, last.task);
                } else {
                    self.sim.tasks[last.task as usize].activity = Activity::Running;
                }
                let mut at = last.since_ns;
                for w in released.drain(..) {
                    if !w.spin {
                        at += self.sim.hw.costs.waker_ns() as u64;
                    }
                    self.release(w, at, last.task);
                }
                // The task that opens the barrier wakes the others one by one, in its own time.
                let woke_ns = at - last.since_ns;
                if last.task == task {
                    *clock += woke_ns;
                    charge_system(&mut self.sim, task, woke_ns);
                } else {
                    self.sim.cpus[self.sim.kernel.sched.cpu_of(last.task) as usize].debt_ns += woke_ns;
                }
            }
            self.released = released;
        }
        match self.sim.tasks[task as usize].activity {
            Activity::Asleep => Step::Stop(Pending::Wait),
            _ => Step::Go,
        }
    }

    pub(crate) fn release(&mut self, w: Waiter, at: u64, waker: u32) {
        if w.spin {
            self.sim.tasks[w.task as usize].wait.released_ns = at;
            let on = self.sim.cpus.iter().position(|c| c.task == Some(w.task) && c.pending == Pending::Spin);
            // If the barrier opens after the next tick, the task looks again at that tick.
            if let Some(cpu) = on.filter(|&cpu| at < self.sim.cpus[cpu].next_tick_ns) {
                self.plan(cpu, at.max(self.sim.now_ns), Pending::Spin);
            }
        } else {
            let sleep = self.sim.tasks[w.task as usize].wait.sleep;
            let event = Event::Wake { task: w.task, waker, sleep };
            self.queue.push(at.max(self.sim.now_ns), event);
        }
    }

    /// A busy-waiting task. Alone on its CPU it waits up to the tick and is charged afterwards; otherwise it uses up
    /// its slice.
    pub(crate) fn spin(&mut self, cpu: usize, task: u32, clock: &mut u64, end: u64) -> Step {
        let t = &mut self.sim.tasks[task as usize];
        let Activity::Spinning { since_ns } = t.activity else { return Step::Go };
        let from = since_ns.max(*clock);
        if t.wait.released_ns <= end {
            let until = t.wait.released_ns.max(from);
            self.disturb_siblings(cpu);
            let t = &mut self.sim.tasks[task as usize];
            t.activity = Activity::Running;
            *clock = until;
            charge_user(&mut self.sim, task, until - from);
            return Step::Go;
        }
        t.activity = Activity::Spinning { since_ns: from };
        if self.sim.kernel.sched.nr_running(cpu as u32) <= 1 && t.wait.released_ns == u64::MAX {
            return Step::Stop(Pending::Spin);
        }
        *clock = end;
        charge_user(&mut self.sim, task, end - from);
        Step::Go
    }

    /// Carries out a signal at `clock`: creates the thread that the message starts, or else posts the message, and pays
    /// for waking the task that sleeps for it.
    pub(crate) fn signal(&mut self, cpu: usize, task: u32, channel: usize, clock: &mut u64) -> Step {
        if !self.deferred_clones.0[channel].is_empty() {
            return Step::Stop(Pending::Birth);
        }
        self.sim.tasks[task as usize].advance();
        if let Some(w) = self.channels[channel].signal(cpu) {
            self.sim.tasks[w as usize].wait.message = self.channels[channel].carries;
            let sleep = self.sim.tasks[w as usize].wait.sleep;
            let ns = self.sim.hw.costs.waker_ns() as u64;
            *clock += ns;
            charge_system(&mut self.sim, task, ns);
            self.queue.push(*clock, Event::Wake { task: w, waker: task, sleep });
            // The woken task may take this CPU, and what follows the signal must not have happened by then.
            if self.sim.kernel.sched.cpu_of(w) == cpu as u32 || self.sim.kernel.sched.nr_running(cpu as u32) > 1 {
                return Step::Stop(Pending::Resume);
            }
        }
        Step::Go
    }

    /// Ends a stretch of busy-waiting, at the tick or before it. A busy-waiting CPU ticks like every busy one.
    pub(crate) fn end_lazy_spin(&mut self, cpu: usize) {
        let Some(task) = self.sim.cpus[cpu].task else { return };
        let now_ns = self.sim.now_ns;
        charge_spin(&mut self.sim, task, now_ns);
        if self.sim.cpus[cpu].next_tick_ns <= self.sim.now_ns {
            self.tick(cpu);
        } else {
            self.sim.kernel.sched.account(cpu as u32, self.sim.now_ns);
        }
    }
}
