//! Tasks that sleep for a lock or for a page under migration.
//!
//! A slice is planned ahead, so a wait becomes known while the slice of the task, or of the task that moves the page,
//! is planned. A task that sleeps leaves its CPU: other tasks run there, the load balancer sees it idle, and a wake-up
//! selects a CPU anew.
//!
//! So a wait is noted with the task. The task falls asleep where its step ends, or first thing in its next slice if the
//! slice of another task has blocked it. The CPU time of the fault is charged already, so it comes first and the sleep
//! follows; the sum is the same. Times are ns of model time.

use crate::state::cpu::Pending;
use crate::state::simulation::Simulation;
use crate::state::task::{Activity, Task};

/// `task` has to sleep for `ns` until `waker` releases what it waits for ([`NOBODY`](crate::state::wait::NOBODY): no
/// thread of the workload does).
#[inline]
pub(crate) fn block_task(sim: &mut Simulation<'_>, task: u32, ns: u64, waker: u32) {
    if ns > 0 {
        let t = &mut sim.tasks[task as usize];
        (t.wait.block_ns, t.wait.blocked_by) = (t.wait.block_ns + ns, waker);
    }
}

/// Whether `task` has to sleep for a lock or a page before it goes on.
#[inline]
pub(crate) fn is_blocked(sim: &Simulation<'_>, task: u32) -> bool {
    sim.tasks[task as usize].wait.block_ns > 0
}

/// A blocked task falls asleep at `clock`, ns, which ends its slice. When it wakes up, it goes on where it is.
pub(crate) fn fall_asleep_blocked(tasks: &mut [Task<'_>], task: u32, clock: u64) -> Pending {
    let t = &mut tasks[task as usize];
    let ns = std::mem::take(&mut t.wait.block_ns);
    (t.activity, t.wait.waker) = (Activity::Asleep, t.wait.blocked_by);
    (t.wait.since_ns, t.wait.wakes_ns) = (Some(clock), clock + ns);
    Pending::Sleep(ns)
}
