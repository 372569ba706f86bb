//! Moves that NUMA balancing decided inside a slice.
//!
//! Problem: a slice is planned ahead, so a fault in it decides from the queues of its beginning, while the kernel's stopper
//! works at once. Approach: a decided move waits for the end of its task's slice, which it cuts short, and remembers the
//! CPUs it was decided for. If a task is elsewhere by then, it is dropped, as `migrate_swap_stop` and `migration_cpu_stop` do
//! (6.1 kernel/sched/core.c; 3.8 to 6.12 alike).

use crate::engine::World;
use crate::task::Activity;
use numalab_kernel::numa::counters::Placement;
use numalab_kernel::sched::Scheduler;

/// A decided move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NumaMove {
    /// Task whose fault decided it, and which it is about.
    pub task: u32,
    /// Task that goes the other way.
    pub other: Option<u32>,
    /// CPU of `task` when that was decided.
    pub src: u32,
    /// CPU it goes to; that of `other`, if any, when that was decided.
    pub dst: u32,
}

impl NumaMove {
    /// Whether its tasks are where they were when it was decided.
    pub fn holds(&self, sched: &Scheduler) -> bool {
        sched.cpu_of(self.task) == self.src && self.other.is_none_or(|t| sched.cpu_of(t) == self.dst)
    }
}

impl World<'_> {
    /// Applies what NUMA balancing has just decided at the end of a slice of `cpu`.
    pub(crate) fn apply_new_moves(&mut self, cpu: usize) {
        self.due_moves.append(&mut self.moves);
        self.apply_moves(cpu);
    }

    /// Applies what is due for the task running on `cpu`.
    pub(crate) fn apply_moves(&mut self, cpu: usize) {
        let Some(task) = self.cpus[cpu].task else { return };
        let mut i = 0;
        while i < self.due_moves.len() {
            if self.due_moves[i].task != task {
                i += 1;
                continue;
            }
            let m = self.due_moves.remove(i);
            let what = match self.carry_out(m) {
                false => Placement::Stick,
                true if m.other.is_some() => Placement::Swap,
                true => Placement::Move,
            };
            self.numa.placed(what);
            self.log_placed(task, cpu, what);
        }
    }

    /// The stoppers' part; returns whether a task has moved.
    fn carry_out(&mut self, m: NumaMove) -> bool {
        let NumaMove { task, other, dst, .. } = m;
        if !m.holds(&self.sched) {
            return false;
        }
        let Some(other) = other else {
            return self.movable(task) && self.sched.migrate(task, dst, self.now_ns);
        };
        match (self.movable(task), self.movable(other)) {
            (true, true) => self.sched.swap(task, other, self.now_ns),
            (true, false) => self.sched.half_swap(task, other, self.now_ns),
            (false, true) => self.sched.half_swap(other, task, self.now_ns),
            (false, false) => false,
        }
    }

    /// Whether a task can be moved now: alive, and not about to leave its CPU by itself.
    fn movable(&self, task: u32) -> bool {
        let t = &self.tasks[task as usize];
        let leaving = self.cpus.iter().any(|c| c.task == Some(task) && c.pending.leaves());
        t.activity != Activity::Dead && t.carried.is_none() && !leaving
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use numalab_kernel::sched::shapes::Shape;
    use numalab_kernel::sched::SchedConfig;

    #[test]
    fn a_move_holds_while_its_tasks_stay() {
        let machine = Shape::flat(2, 2, 1, 20).machine("four CPUs");
        let mut sched = Scheduler::new(&machine, &SchedConfig::default()).unwrap();
        for cpu in [0, 2] {
            let task = sched.add_task(Some(&[cpu]), 0).unwrap();
            sched.fork(cpu, task, 0);
            sched.set_affinity(task, None, 0).unwrap();
        }
        let single = NumaMove { task: 0, other: None, src: 0, dst: 3 };
        let swap = NumaMove { other: Some(1), dst: 2, ..single };
        let holds = |sched: &Scheduler| [single, swap].map(|m| m.holds(sched));
        assert_eq!(holds(&sched), [true, true]);
        sched.migrate(1, 3, 0);
        assert_eq!(holds(&sched), [true, false], "the partner has left");
        sched.migrate(1, 2, 0);
        sched.migrate(0, 1, 0);
        assert_eq!(holds(&sched), [false, false], "the task itself has left");
    }
}
