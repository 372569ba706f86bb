//! The event queue: events are ordered by time, then by insertion.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A kernel thread of a design.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Daemon {
    /// knuma_scand.
    Scand,
    /// khugepaged.
    Khugepaged,
}

/// What happens at an instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// Re-solve bandwidth contention, take samples.
    Epoch,
    /// A kernel thread wakes up.
    Daemon(Daemon),
    /// The tick of a CPU that idles with its tick on; stale if it no longer does.
    IdleTick {
        /// CPU.
        cpu: u32,
    },
    /// A sleeping task becomes runnable.
    Wake {
        /// Task.
        task: u32,
        /// Task that wakes it; [`NOBODY`](crate::state::wait::NOBODY) for a timer.
        waker: u32,
        /// Number of the sleep it ends; an older number is stale.
        sleep: u32,
    },
    /// The stopper of a CPU pushes a task to another CPU.
    Push {
        /// CPU to push from.
        from: u32,
        /// CPU to push to.
        to: u32,
    },
    /// A CPU reaches the end of what it planned.
    Cpu {
        /// CPU.
        cpu: u32,
        /// Number of the plan; an older number is stale.
        plan: u32,
    },
    /// The daemon that balances from user space wakes up.
    UserspaceBalance,
    /// DAMON's kernel thread wakes up.
    Kdamond,
    /// If some CPU still has two tasks, all CPUs tick again.
    QuietCheck,
}

/// An event as words. Written and read word by word: an `Event` is copied in pieces that straddle those it was written
/// in, and the CPU waits for such reads.
type Words = [u32; 4];

impl Event {
    fn words(self) -> Words {
        match self {
            Self::Epoch => [0, 0, 0, 0],
            Self::Daemon(Daemon::Scand) => [1, 0, 0, 0],
            Self::Daemon(Daemon::Khugepaged) => [1, 1, 0, 0],
            Self::IdleTick { cpu } => [2, cpu, 0, 0],
            Self::Wake { task, waker, sleep } => [3, task, waker, sleep],
            Self::Push { from, to } => [4, from, to, 0],
            Self::Cpu { cpu, plan } => [5, cpu, plan, 0],
            Self::UserspaceBalance => [6, 0, 0, 0],
            Self::QuietCheck => [7, 0, 0, 0],
            Self::Kdamond => [8, 0, 0, 0],
        }
    }
    fn of(words: Words) -> Self {
        match words {
            [0, ..] => Self::Epoch,
            [1, 0, ..] => Self::Daemon(Daemon::Scand),
            [1, ..] => Self::Daemon(Daemon::Khugepaged),
            [2, cpu, ..] => Self::IdleTick { cpu },
            [3, task, waker, sleep] => Self::Wake { task, waker, sleep },
            [4, from, to, _] => Self::Push { from, to },
            [6, ..] => Self::UserspaceBalance,
            [8, ..] => Self::Kdamond,
            [7, ..] => Self::QuietCheck,
            [_, cpu, plan, _] => Self::Cpu { cpu, plan },
        }
    }
}

/// An event with its time and number, which order it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    at_ns: u64,
    sequence: u64,
    words: Words,
}

/// Width of a bucket, as a power of two in ns: about the time between two ticks of a machine with 256 CPUs.
const BUCKET_SHIFT: u32 = 14;

/// Buckets ahead: 16.8 ms, more than a tick.
const BUCKETS: usize = 1024;

/// Bits of a word.
const WORD: usize = u64::BITS as usize;

/// A queue of events ordered by (time, sequence of insertion).
///
/// Nearly all events are at most one tick ahead. They go into buckets by time, which are sorted only when their turn
/// comes. Events further ahead wait in a heap.
#[derive(Debug)]
pub struct EventQueue {
    /// Events of the buckets up to the present one, the earliest last.
    present: Vec<Entry>,
    buckets: Vec<Vec<Entry>>,
    /// Which buckets have events, as bits.
    occupied: [u64; BUCKETS / WORD],
    far: BinaryHeap<Reverse<Entry>>,
    /// Number of the present bucket.
    at: u64,
    /// Events in `buckets`.
    ahead: usize,
    sequence: u64,
}

impl Default for EventQueue {
    fn default() -> Self {
        Self {
            present: Vec::with_capacity(64),
            buckets: (0..BUCKETS).map(|_| Vec::with_capacity(4)).collect(),
            occupied: [0; BUCKETS / WORD],
            far: BinaryHeap::new(),
            at: 0,
            ahead: 0,
            sequence: 0,
        }
    }
}

impl EventQueue {
    /// All events, in no order.
    pub fn iter(&self) -> impl Iterator<Item = Event> + '_ {
        let near = self.present.iter().chain(self.buckets.iter().flatten());
        near.chain(self.far.iter().map(|e| &e.0)).map(|e| Event::of(e.words))
    }
    /// When the earliest event is due, ns.
    pub fn earliest_ns(&self) -> Option<u64> {
        let near = self.present.iter().chain(self.buckets.iter().flatten());
        near.chain(self.far.iter().map(|e| &e.0)).map(|e| e.at_ns).min()
    }
    /// Adds an event at `at_ns`.
    pub fn push(&mut self, at_ns: u64, event: Event) {
        self.sequence += 1;
        self.put(Entry { at_ns, sequence: self.sequence, words: event.words() });
    }
    fn put(&mut self, entry: Entry) {
        let bucket = entry.at_ns >> BUCKET_SHIFT;
        if bucket <= self.at {
            // Most of what is added now comes soon.
            let key = (entry.at_ns, entry.sequence);
            let soon = self.present.iter().rev().take(8).take_while(|e| (e.at_ns, e.sequence) < key).count();
            let sooner = if soon < 8 {
                self.present.len() - soon
            } else {
                self.present.partition_point(|e| (e.at_ns, e.sequence) > key)
            };
            self.present.insert(sooner, entry);
        } else if bucket - self.at < BUCKETS as u64 {
            let slot = bucket as usize % BUCKETS;
            self.buckets[slot].push(entry);
            self.occupied[slot / WORD] |= 1 << (slot % WORD);
            self.ahead += 1;
        } else {
            self.far.push(Reverse(entry));
        }
    }
    /// Whether no event is left.
    pub fn is_empty(&self) -> bool {
        self.present.is_empty() && self.ahead == 0 && self.far.is_empty()
    }
    /// Removes the earliest event.
    #[inline]
    pub fn pop(&mut self) -> Option<(u64, Event)> {
        while self.present.is_empty() {
            self.go_on()?;
        }
        let first = self.present.pop()?;
        debug_assert!(self.present.last().is_none_or(|next| *next > first), "{first:?} is not the first event");
        Some((first.at_ns, Event::of(first.words)))
    }
    /// The next bucket that has events; some bucket has.
    fn next_bucket(&self) -> u64 {
        let from = self.at as usize + 1;
        let mut word = from % BUCKETS / WORD;
        let mut bits = self.occupied[word] & u64::MAX << (from % WORD);
        while bits == 0 {
            word = (word + 1) % self.occupied.len();
            bits = self.occupied[word];
        }
        let slot = word * WORD + bits.trailing_zeros() as usize;
        (from + (slot + BUCKETS - from % BUCKETS) % BUCKETS) as u64
    }
    /// Goes on to the next bucket with events, or to the first event in the heap if all are empty. `None` if there is
    /// no event.
    fn go_on(&mut self) -> Option<()> {
        self.at = if self.ahead > 0 { self.next_bucket() } else { self.far.peek()?.0.at_ns >> BUCKET_SHIFT };
        let slot = self.at as usize % BUCKETS;
        self.occupied[slot / WORD] &= !(1 << (slot % WORD));
        let due = &mut self.buckets[slot];
        self.ahead -= due.len();
        self.present.append(due);
        self.present.sort_unstable_by_key(|e| Reverse((e.at_ns, e.sequence)));
        let end = (self.at + BUCKETS as u64) << BUCKET_SHIFT;
        while self.far.peek().is_some_and(|e| e.0.at_ns < end) {
            let Some(Reverse(entry)) = self.far.pop() else { break };
            self.put(entry);
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The buckets agree with a plain heap, in bursts, with gaps and beyond the last bucket.
    #[test]
    fn events_come_by_time_then_insertion() {
        let (mut queue, mut plain) = (EventQueue::default(), BinaryHeap::new());
        let (mut now, mut seed, mut number) = (0u64, 1u64, 0u32);
        for round in 0..20_000 {
            for _ in 0..1 + round % 3 {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let gap = match seed >> 61 {
                    0 => 0,
                    1 => seed >> 20 & 0xff,
                    7 => seed >> 20 & 0x7fff_ffff,
                    _ => seed >> 20 & 0x3f_ffff,
                };
                number += 1;
                queue.push(now + gap, Event::Cpu { cpu: number, plan: 0 });
                plain.push(Reverse((now + gap, number)));
            }
            for _ in 0..if round % 7 == 0 { 6 } else { 1 } {
                let want = plain.pop().map(|Reverse((at, cpu))| (at, Event::Cpu { cpu, plan: 0 }));
                assert_eq!(queue.pop(), want);
                assert_eq!(queue.is_empty(), plain.is_empty());
                now = want.map_or(now, |w| w.0);
            }
        }
        while let Some(Reverse((at, cpu))) = plain.pop() {
            assert_eq!(queue.pop(), Some((at, Event::Cpu { cpu, plan: 0 })));
        }
        assert_eq!((queue.pop(), queue.is_empty()), (None, true));
    }
}
