//! What a call changed on other CPUs; the caller drains it after each call.

use super::rq::task::TaskId;

/// Why a task changed CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u16)]
pub enum Why {
    /// Placed at fork.
    Fork = 0,
    /// Placed at wake-up.
    Wake = 2,
    /// Pulled by a busy or idle CPU's periodic balance.
    Periodic,
    /// Pulled by a CPU about to go idle.
    Newidle,
    /// Pulled for a tickless idle CPU.
    Nohz,
    /// Pushed while running, after repeated failures.
    Active,
    /// Moved or swapped by NUMA balancing.
    Numa,
    /// Moved because its affinity changed.
    Affinity,
}

/// One change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A task changed CPU.
    Moved {
        /// Task.
        task: TaskId,
        /// CPU before (fork: the parent's).
        from: u32,
        /// CPU after.
        to: u32,
        /// Reason.
        why: Why,
    },
    /// The CPU must call `pick_next` now: it has something to start, or its current task must yield.
    Resched {
        /// CPU.
        cpu: u32,
    },
    /// The stopper of `from` was asked to push a task to `to`: [`push`](super::Scheduler::push) is to be called once it
    /// runs.
    Push {
        /// CPU to push from.
        from: u32,
        /// CPU to push to.
        to: u32,
        /// CPUs that the pass looked at before it asked.
        cpus: u32,
    },
    /// Balance work was done on a CPU, for charging time.
    Balanced {
        /// CPU that did the work.
        cpu: u32,
        /// Kind: [`Why::Periodic`], [`Why::Newidle`] or [`Why::Nohz`].
        why: Why,
        /// Passes that looked at their groups.
        passes: u32,
        /// CPUs looked at, summed over the passes.
        cpus: u32,
        /// The most of them in one stretch that work arriving at `cpu` does not end: the passes on behalf of one CPU, or
        /// one pass of a search before going idle, whose time has passed when this is reported.
        stretch: u32,
    },
}
