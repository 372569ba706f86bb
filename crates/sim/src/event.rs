//! The event queue: time, then CPU order, then insertion order; nothing else decides.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// What happens at an instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Event {
    /// Re-solve bandwidth contention, take samples.
    Epoch,
    /// A kernel thread wakes up.
    Daemon(crate::designs::Daemon),
    /// A sleeping task becomes runnable.
    Wake {
        /// Task.
        task: u32,
        /// CPU that wakes it, or `u32::MAX` for a timer.
        waker: u32,
        /// Number of the sleep it ends; an older number is stale.
        sleep: u32,
    },
    /// A CPU reaches the end of what it planned.
    Cpu {
        /// CPU.
        cpu: u32,
        /// Number of the plan; an older number is stale.
        plan: u32,
    },
}

/// A queue of events ordered by (time, sequence of insertion).
#[derive(Debug, Default)]
pub struct EventQueue {
    heap: BinaryHeap<Reverse<(u64, u64, Event)>>,
    sequence: u64,
}

impl EventQueue {
    /// Adds an event at `at_ns`.
    pub fn push(&mut self, at_ns: u64, event: Event) {
        self.sequence += 1;
        self.heap.push(Reverse((at_ns, self.sequence, event)));
    }
    /// Whether no event is left.
    pub fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }
    /// Removes the earliest event.
    pub fn pop(&mut self) -> Option<(u64, Event)> {
        self.heap.pop().map(|Reverse((at, _, event))| (at, event))
    }
}
