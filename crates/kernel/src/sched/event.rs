//! What a call changed on other CPUs. The caller drains these events after each call.

use super::rq::sched_entity::TaskId;

/// Why a task changed CPU. The values are the codes of the event records; code 1 is unused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u16)]
pub enum Why {
    /// Placed at fork.
    Fork = 0,
    /// Placed at wake-up.
    Wake = 2,
    /// Pulled by periodic balancing, for a busy or idle CPU.
    Periodic,
    /// Pulled by a CPU that was about to go idle.
    Newidle,
    /// Pulled on behalf of a tickless idle CPU.
    Nohz,
    /// Pushed by active balance while it was running.
    Active,
    /// Moved or swapped by NUMA balancing.
    Numa,
    /// Moved because its affinity changed.
    Affinity,
}

/// A change that a call made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A task changed CPU.
    Moved {
        /// The task.
        task: TaskId,
        /// Its CPU before; at fork, the parent's CPU.
        from: u32,
        /// Its CPU after.
        to: u32,
        /// The reason.
        why: Why,
    },
    /// The CPU must call `pick_next` now: it has something to start, or its current task must yield.
    Resched {
        /// The CPU.
        cpu: u32,
    },
    /// The stopper of `from` was asked to push a task to `to`. The caller calls [`push`](super::Scheduler::push) once
    /// the stopper runs.
    Push {
        /// The CPU to push from.
        from: u32,
        /// The CPU to push to.
        to: u32,
        /// CPUs that the pass looked at before it asked.
        cpus: u32,
    },
    /// Something touches the queue of a CPU whose ticks the caller leaves out. It ticks again from now on.
    Disturbed {
        /// The CPU.
        cpu: u32,
    },
    /// The CPU has spun for a lock, or for another CPU to switch away from a task, which the caller charges as time.
    Waited {
        /// The CPU that waited.
        cpu: u32,
        /// How long, ns.
        ns: u64,
    },
    /// Ticks that were plain may have something to do from now on: a CPU has stopped its tick.
    QuietEnds,
    /// Every CPU had one task, and one has two now: balance passes may find something
    /// ([`Scheduler::one_task_each`](super::Scheduler::one_task_each)).
    SecondTask,
    /// A CPU did balance work, which the caller charges as time.
    Balanced {
        /// The CPU that did the work.
        cpu: u32,
        /// The kind of balancing: [`Why::Periodic`], [`Why::Newidle`] or [`Why::Nohz`].
        why: Why,
        /// Number of passes that looked at their groups.
        passes: u32,
        /// Time of these passes, ns.
        ns: u64,
        /// CPUs looked at, summed over the passes.
        cpus: u32,
        /// Time of the longest stretch that new work on `cpu` does not interrupt, ns. A stretch is the passes on behalf
        /// of one CPU, or one pass of a newly-idle search. The time of such a pass is over when this is reported.
        stretch_ns: u64,
    },
}
