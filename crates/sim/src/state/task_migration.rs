//! Task migrations that NUMA balancing decides inside a slice.
//!
//! A slice is planned ahead, so a fault in it decides from the run queues of its beginning, while the kernel's stopper
//! works at once. A task migration therefore waits for the end of its task's slice, which it cuts short, and remembers
//! the CPUs that it was decided for. If a task is elsewhere by then, the migration is dropped, as `migrate_swap_stop`
//! and `migration_cpu_stop` do (kernel/sched/core.c of 6.1; 3.8 to 6.12 alike).

use numalab_kernel::sched::Scheduler;

/// A task migration that has been decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskMigration {
    /// Task whose fault decided it, and which moves.
    pub task: u32,
    /// Task that goes the other way, in a swap.
    pub other: Option<u32>,
    /// CPU of `task` at the decision.
    pub src: u32,
    /// CPU that `task` goes to; in a swap the CPU of `other` at the decision.
    pub dst: u32,
}

impl TaskMigration {
    /// Whether its tasks are still where they were at the decision.
    pub fn holds(&self, sched: &Scheduler) -> bool {
        sched.cpu_of(self.task) == self.src && self.other.is_none_or(|t| sched.cpu_of(t) == self.dst)
    }
}

/// Task migrations on their way.
#[derive(Clone, Debug, Default)]
pub struct TaskMigrations {
    /// Decided in the slice that is being planned.
    pub decided: Vec<TaskMigration>,
    /// Waiting for the end of their task's slice.
    pub due: Vec<TaskMigration>,
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
        let single = TaskMigration { task: 0, other: None, src: 0, dst: 3 };
        let swap = TaskMigration { other: Some(1), dst: 2, ..single };
        let holds = |sched: &Scheduler| [single, swap].map(|m| m.holds(sched));
        assert_eq!(holds(&sched), [true, true]);
        sched.migrate(1, 3, 0);
        assert_eq!(holds(&sched), [true, false], "the partner has left");
        sched.migrate(1, 2, 0);
        sched.migrate(0, 1, 0);
        assert_eq!(holds(&sched), [false, false], "the task itself has left");
    }
}
