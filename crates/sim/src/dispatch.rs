//! What a CPU runs: the next task is picked, switched to, and given a slice that ends at the next tick or earlier.

use crate::access::Step;
use crate::engine::{Pending, World};
use crate::sets::NO_GROUP;

impl World<'_> {
    /// Picks the next task of a CPU and plans its slice.
    pub(crate) fn dispatch(&mut self, cpu: usize) {
        let now = self.now_ns;
        let id = cpu as u32;
        if self.sched.need_resched(id) || self.sched.current(id).is_none() {
            let next = self.sched.pick_next(id, now, &self.numa);
            self.after_sched();
            self.switch(cpu, next);
            if let Some(ns) = self.sched.looks_ns(id) {
                return self.plan(cpu, now + ns, Pending::Search);
            }
        } else if self.cpus[cpu].task != self.sched.current(id) {
            let next = self.sched.current(id);
            self.switch(cpu, next);
        }
        let Some(task) = self.cpus[cpu].task else {
            if self.cpus[cpu].pending != Pending::None {
                return;
            }
            self.cpus[cpu].pending = Pending::None;
            self.arm_idle_tick(cpu);
            return;
        };
        let t = &self.tasks[task as usize];
        let owes = t.owed_ns > 0 || t.carried.is_some();
        let (at, pending) = if owes { self.pay_owed(cpu, task) } else { self.slice(cpu, task) };
        self.tasks[task as usize].ahead_ns = at;
        // What is waited for is not in the books before it has passed.
        let at = if pending == Pending::Spin { self.next_tick(cpu) } else { at };
        self.plan(cpu, at, pending);
    }

    fn switch(&mut self, cpu: usize, next: Option<u32>) {
        let prev = self.cpus[cpu].task;
        if prev == next {
            return;
        }
        if let Some(p) = prev {
            self.leave_cpu(cpu, p);
        }
        self.cpus[cpu].task = next;
        for task in [prev, next].into_iter().flatten() {
            self.sweepers.planned(task);
        }
        self.log_switch(cpu, prev, next);
        if prev.is_none() || next.is_none() {
            self.count_core(cpu, next.is_some());
        }
        if let Some(n) = next {
            let same = prev.is_some_and(|p| self.tasks[p as usize].process == self.tasks[n as usize].process);
            let c = &mut self.cpus[cpu];
            c.debt_ns += self.costs.switch_ns(same) as u64;
            c.debt_ns += std::mem::take(&mut c.busy_until_ns).saturating_sub(self.now_ns).min(c.busy_stretch_ns);
            self.enter_cpu(cpu, n);
        }
    }

    /// A CPU has become busy or idle: so has its core if no sibling is busy.
    fn count_core(&mut self, cpu: usize, busy: bool) {
        let c = &self.cpus[cpu];
        if c.siblings.iter().any(|&s| self.cpus[s as usize].task.is_some()) {
            return;
        }
        let cores = &mut self.busy_cores[self.machine.cpus[cpu].socket];
        *cores = if busy { *cores + 1 } else { *cores - 1 };
    }

    fn leave_cpu(&mut self, cpu: usize, task: u32) {
        let (node, llc) = (self.cpus[cpu].node, self.cpus[cpu].llc);
        let t = &self.tasks[task as usize];
        self.processes[t.process as usize].running_on_node[node] -= 1;
        let group = std::mem::replace(&mut self.cpus[cpu].group, NO_GROUP);
        self.sets.leave(llc, group, self.alone_in(cpu, group));
    }

    /// Whether no sibling of `cpu` runs a task inside the loop of `group`.
    fn alone_in(&self, cpu: usize, group: u32) -> bool {
        self.cpus[cpu].siblings.iter().all(|&s| self.cpus[s as usize].group != group)
    }

    fn enter_cpu(&mut self, cpu: usize, task: u32) {
        let (node, llc) = (self.cpus[cpu].node, self.cpus[cpu].llc);
        let t = &mut self.tasks[task as usize];
        let p = &mut self.processes[t.process as usize];
        p.running_on_node[node] += 1;
        t.flush_paid_ns = p.flush_debt_ns;
        if t.llc != llc as u32 {
            t.llc = llc as u32;
            t.warm = 0;
            t.cold_lines = 0;
        }
        let group = t.group;
        self.cpus[cpu].group = group;
        self.sets.enter(llc, group, self.alone_in(cpu, group));
    }

    /// The task running on `cpu` goes on to another working set.
    pub(crate) fn use_group(&mut self, cpu: usize, task: u32, group: u32) {
        let c = &mut self.cpus[cpu];
        let (llc, old) = (c.llc, std::mem::replace(&mut c.group, group));
        self.tasks[task as usize].group = group;
        self.sets.leave(llc, old, self.alone_in(cpu, old));
        self.sets.enter(llc, group, self.alone_in(cpu, group));
    }

    /// Runs `task` on `cpu` from now to the next tick or until it stops; returns the end and why.
    fn slice(&mut self, cpu: usize, task: u32) -> (u64, Pending) {
        let end = self.next_tick(cpu);
        if self.sharing_until_ns > 0 {
            self.tasks[task as usize].stretch = None;
        }
        let mut clock = self.now_ns;
        let debt = std::mem::take(&mut self.cpus[cpu].debt_ns) + self.take_flush_debt(task);
        clock += debt;
        self.charge_system(task, debt);
        self.end_copy_of(task);
        if self.is_held_up(task) {
            return (clock, self.fall_asleep_held_up(task, clock));
        }
        if clock < end && self.designs.take_queued(task) {
            clock += self.schednuma_scan(cpu, task, clock);
            if self.is_held_up(task) {
                return (clock, self.fall_asleep_held_up(task, clock));
            }
        }
        if clock < end && self.numa.tasks[task as usize].work_queued {
            clock += self.scan(cpu, task, clock, end);
        }
        loop {
            if clock >= end {
                return (clock, Pending::Tick);
            }
            match self.step(cpu, task, &mut clock, end) {
                Step::Go => {}
                Step::Stop(pending) => {
                    return (clock, pending);
                }
            }
            if !self.moves.is_empty() {
                let own = self.moves.iter().any(|m| m.task == task);
                self.due_moves.append(&mut self.moves);
                if own {
                    return (clock, Pending::Moves);
                }
            }
            if self.is_held_up(task) {
                return (clock, self.fall_asleep_held_up(task, clock));
            }
        }
    }

    /// Whether pages that this process may share are on the move.
    #[inline]
    pub(crate) fn sharing(&self, process: usize) -> bool {
        self.now_ns < self.sharing_until_ns && self.processes[process].shares
    }

    /// Next tick of a CPU strictly after now; CPUs tick at staggered offsets.
    pub(crate) fn next_tick(&mut self, cpu: usize) -> u64 {
        let last = self.cpus[cpu].next_tick_ns;
        if last <= self.now_ns {
            // Mostly the next one follows the last, and a division costs more than the rest of a slice's planning.
            let next = last + self.cfg.jiffy_ns();
            let follows = last > 0 && next > self.now_ns;
            self.cpus[cpu].next_tick_ns =
                if follows { next } else { self.sched.tick_at_or_after(cpu as u32, self.now_ns + 1) };
        }
        self.cpus[cpu].next_tick_ns
    }
}
