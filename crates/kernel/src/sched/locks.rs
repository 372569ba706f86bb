//! Run-queue locks as servers in model time, and what waiting for them costs (kernel: `rq->__lock`, `double_rq_lock`,
//! `ttwu_queue`).
//!
//! **Problem.** Calls of the scheduler take no time, so two CPUs that pull from one queue, or ten that wake a task on
//! one CPU, did not hinder each other.
//!
//! **Approach.** Each queue knows when its lock is free again. Who takes it earlier waits, in its own CPU time
//! ([`Event::Waited`]); what it does under the lock has happened already. It holds the lock for the lines that it has
//! to fetch from the caches of others ([`Lines`](super::state::lines::Lines)): those are measured per machine, and the
//! numbers of lines are counted in the structures of 6.12 (`pahole`), so nothing is chosen. Instructions under the lock
//! are left out; they are fewer than the misses.
//!
//! A wake-up across last-level caches puts the task on a list of the target instead, which queues it in the interrupt
//! (518cd6234178, TTWU_QUEUE): the waker does not wait, and the target pays.

use crate::sched::event::Event;
use crate::sched::state::Scheduler;

/// Lines that queueing a task fetches: the lock with the counts of `struct rq`, the `cfs_rq` with its averages, the
/// task's entity with its averages in two lines, and its neighbour in the tree.
const QUEUE_LINES: u64 = 5;

/// Lines that a look at a task that stays fetches: its entity on the list of tasks, and its affinity.
const LOOK_LINES: u64 = 2;

impl Scheduler {
    /// CPU `by` takes the lock of the queue of `cpu`, and holds it for `lines` lines. Returns how long it waits, ns.
    fn take_rq_lock(&mut self, cpu: u32, by: u32, lines: u64) -> u64 {
        let hold_ns = lines * self.lines.between_ns(by, cpu);
        let rq = &mut self.rqs[cpu as usize];
        let wait_ns = rq.lock_free_ns.saturating_sub(self.now);
        rq.lock_free_ns = self.now + wait_ns + hold_ns;
        wait_ns
    }
    /// A wake-up by CPU `waker` queues a task on `cpu`. Inside a cache the waker does it, across caches the target.
    pub(super) fn lock_to_wake(&mut self, cpu: u32, waker: u32) {
        let queued = self.topo.cache_of(cpu) != self.topo.cache_of(waker);
        let by = if queued { cpu } else { waker };
        self.counters.ttwu_count += 1;
        self.counters.ttwu_local += u64::from(cpu == waker);
        self.counters.ttwu_queued += u64::from(queued);
        let wait_ns = self.take_rq_lock(cpu, by, QUEUE_LINES);
        self.waited(by, wait_ns);
    }
    /// A balance pass of `by` has looked at `examined` tasks of `src` and moved `moved` of them to `dst`, under both
    /// locks one after the other.
    pub(super) fn lock_to_pull(&mut self, by: u32, (src, dst): (u32, u32), examined: u32, moved: u32) {
        let lines = LOOK_LINES * u64::from(examined) + QUEUE_LINES * u64::from(moved) + 1;
        let mut wait_ns = self.take_rq_lock(src, by, lines);
        if moved > 0 {
            wait_ns += self.take_rq_lock(dst, by, QUEUE_LINES * u64::from(moved));
        }
        self.waited(by, wait_ns);
    }
    /// CPU `cpu` spins for `ns`.
    pub(super) fn waited(&mut self, cpu: u32, ns: u64) {
        if ns > 0 {
            self.counters.rq_lock_waits += 1;
            self.counters.rq_lock_wait_ns += ns;
            self.events.push(Event::Waited { cpu, ns });
        }
    }
}
