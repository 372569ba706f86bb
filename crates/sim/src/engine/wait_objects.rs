//! What threads of a workload wait for: barriers, messages, and the messages that create threads.

use numalab_nouns::workload::Workload;
use std::collections::VecDeque;

/// A task that waits, and since when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiter {
    /// Task.
    pub task: u32,
    /// Arrival, ns.
    pub since_ns: u64,
    /// Busy-waiting.
    pub spin: bool,
}

/// A barrier of fixed width.
#[derive(Clone, Debug, Default)]
pub struct Barrier {
    width: usize,
    waiting: Vec<Waiter>,
}

impl Barrier {
    /// A barrier for `width` threads.
    pub fn new(width: u32) -> Self {
        Self { width: width as usize, waiting: Vec::with_capacity(width as usize) }
    }
    /// A task arrives. Returns whether all have arrived, and [`release`](Self::release) is to be called. Arrivals may
    /// be reported out of time order.
    pub fn arrive(&mut self, waiter: Waiter) -> bool {
        self.waiting.push(waiter);
        self.waiting.len() == self.width
    }
    /// Moves all arrivals into `out`, in order of arrival, and resets the barrier. The last of them opens the barrier
    /// and wakes the others.
    pub fn release(&mut self, out: &mut Vec<Waiter>) {
        out.append(&mut self.waiting);
        out.sort_by_key(|w| w.since_ns);
    }
}

/// A counting channel: messages not yet taken, or tasks waiting for one.
#[derive(Clone, Debug, Default)]
pub struct Channel {
    /// CPU that posted last.
    pub from: u32,
    /// It carries messages (pipe, socket); otherwise it only wakes up (futex).
    pub carries: bool,
    messages: u64,
    waiting: VecDeque<u32>,
}

impl Channel {
    /// A channel. As a `futex` it only wakes up; otherwise it carries messages, as pipes and sockets do.
    pub fn new(futex: bool) -> Self {
        Self { carries: !futex, ..Self::default() }
    }
    /// All channels of a workload, none of which holds a message.
    pub fn all(workload: &Workload) -> Vec<Self> {
        (0..workload.channels).map(|c| Self::new(workload.futexes.binary_search(&c).is_ok())).collect()
    }
    /// Posts a message from a CPU; returns the task to wake, if one waits.
    pub fn signal(&mut self, cpu: usize) -> Option<u32> {
        self.from = cpu as u32;
        let task = self.waiting.pop_front();
        if task.is_none() {
            self.messages += 1;
        }
        task
    }
    /// Takes a message; `false` means the task now waits.
    pub fn wait(&mut self, task: u32) -> bool {
        if self.messages > 0 {
            self.messages -= 1;
            return true;
        }
        self.waiting.push_back(task);
        false
    }
}

/// Threads that do not exist yet (process and thread number), by the channel whose message creates them.
#[derive(Debug)]
pub struct DeferredClones(pub(crate) Vec<VecDeque<(u32, u32)>>);

impl DeferredClones {
    /// Empty lists for a workload with `channels` channels.
    pub fn new(channels: u32) -> Self {
        Self((0..channels).map(|_| VecDeque::new()).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn barrier_opens_with_the_latest_arrival() {
        let mut b = Barrier::new(3);
        let w = |task, since_ns| Waiter { task, since_ns, spin: false };
        assert!(!b.arrive(w(0, 50)));
        assert!(!b.arrive(w(1, 90)));
        assert!(b.arrive(w(2, 70)));
        let mut out = Vec::new();
        b.release(&mut out);
        assert_eq!(out.iter().map(|w| w.task).collect::<Vec<_>>(), [0, 2, 1]);
        assert!(!b.arrive(w(0, 100)));
    }

    #[test]
    fn channel_keeps_messages_and_waiters_in_order() {
        let mut c = Channel::default();
        assert_eq!(c.signal(5), None);
        assert_eq!(c.from, 5);
        assert!(c.wait(1));
        assert!(!c.wait(2));
        assert!(!c.wait(3));
        assert_eq!(c.signal(5), Some(2));
        assert_eq!(c.signal(6), Some(3));
    }
}
