//! Threads that sleep for a lock or for a page under migration.
//!
//! Problem: what a thread waits for is worked out while its slice is planned, or another's that moves the page, and a thread
//! that sleeps leaves its CPU: others run there, the balancer sees it idle, and a wake-up chooses a CPU anew.
//!
//! Approach: a wait is noted with the task, and the task falls asleep where its step ends, or first thing in its next slice if
//! it is another's slice that holds it up. The fault at hand is in the books already, so it is the CPU time of the fault
//! that comes first and the sleep in it that follows; the sum is the same. Times in ns of model time.

use crate::engine::{Pending, World};
use crate::task::Activity;

/// Who wakes up a task that waits for a timer or a daemon.
pub(crate) const NOBODY: u32 = u32::MAX;

impl World<'_> {
    /// `task` has to sleep for `ns` until `waker` gives back what it waits for ([`NOBODY`]: no thread of the workload).
    #[inline]
    pub(crate) fn sleeps(&mut self, task: u32, ns: u64, waker: u32) {
        if ns > 0 {
            let t = &mut self.tasks[task as usize];
            (t.waits_ns, t.waits_for) = (t.waits_ns + ns, waker);
        }
    }

    /// Whether it has.
    #[inline]
    pub(crate) fn is_held_up(&self, task: u32) -> bool {
        self.tasks[task as usize].waits_ns > 0
    }

    /// It falls asleep at `clock`, where its slice ends. It goes on where it is when it wakes up.
    pub(crate) fn fall_asleep_held_up(&mut self, task: u32, clock: u64) -> Pending {
        let t = &mut self.tasks[task as usize];
        let ns = std::mem::take(&mut t.waits_ns);
        (t.activity, t.waker) = (Activity::Asleep, t.waits_for);
        (t.blocked_since_ns, t.wakes_ns) = (Some(clock), clock + ns);
        Pending::Sleep(ns)
    }
}
