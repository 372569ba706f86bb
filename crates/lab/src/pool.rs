//! Guests side by side, up to the host's processors and memory.
//!
//! Callers may start as many runs as they like on threads of their own; each waits here for its share. A share is
//! given in the order of arrival, so a large guest is not overtaken for ever by small ones.

use crate::probe;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// What there is to share.
#[derive(Debug)]
pub struct Slots {
    processors: usize,
    memory_bytes: u64,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    processors: usize,
    memory_bytes: u64,
    running: usize,
    /// Number of the next to be served and of the next to arrive.
    serving: u64,
    arriving: u64,
}

/// Memory left to the rest of the host, percent.
const SPARE_PERCENT: u64 = 15;

impl Slots {
    /// All of this host's processors, and what memory is free now.
    pub fn of_host() -> Self {
        Self::new(probe::processors(), probe::available_bytes() / 100 * (100 - SPARE_PERCENT))
    }
    /// So much.
    pub fn new(processors: usize, memory_bytes: u64) -> Self {
        Self { processors: processors.max(1), memory_bytes, state: Mutex::default(), changed: Condvar::new() }
    }

    /// Waits for a share of so many processors and bytes. A share larger than everything runs alone.
    pub fn take(&self, processors: usize, memory_bytes: u64) -> Share<'_> {
        let processors = processors.min(self.processors);
        let memory_bytes = memory_bytes.min(self.memory_bytes);
        let mut state = self.lock();
        let mine = state.arriving;
        state.arriving += 1;
        while state.serving != mine
            || (state.running > 0
                && (state.processors + processors > self.processors
                    || state.memory_bytes + memory_bytes > self.memory_bytes))
        {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.serving += 1;
        state.running += 1;
        state.processors += processors;
        state.memory_bytes += memory_bytes;
        drop(state);
        // The next in line may fit beside this one.
        self.changed.notify_all();
        Share { slots: self, processors, memory_bytes }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A share, given back when dropped.
#[derive(Debug)]
pub struct Share<'a> {
    slots: &'a Slots,
    processors: usize,
    memory_bytes: u64,
}

impl Drop for Share<'_> {
    fn drop(&mut self) {
        let mut state = self.slots.lock();
        state.running -= 1;
        state.processors -= self.processors;
        state.memory_bytes -= self.memory_bytes;
        drop(state);
        self.slots.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::child::tests::comes_true;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    /// Most runs at once when `count` runs of a share each are started together. Every run lasts until all have arrived
    /// and `expected` of them have had a share at the same time.
    fn most_at_once(slots: &Slots, expected: usize, count: usize, processors: usize, bytes: u64) -> usize {
        let (now, most, over) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicBool::new(false));
        std::thread::scope(|scope| {
            for _ in 0..count {
                scope.spawn(|| {
                    let _share = slots.take(processors, bytes);
                    most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                    comes_true(&|| over.load(Ordering::SeqCst));
                    now.fetch_sub(1, Ordering::SeqCst);
                });
            }
            let full = || slots.lock().arriving == count as u64 && most.load(Ordering::SeqCst) >= expected;
            let reached = comes_true(&full);
            over.store(true, Ordering::SeqCst);
            assert!(reached, "a share is not given");
        });
        most.into_inner()
    }

    #[test]
    fn neither_processors_nor_memory_are_exceeded() {
        assert_eq!(most_at_once(&Slots::new(3, 100), 3, 6, 1, 10), 3);
        assert_eq!(most_at_once(&Slots::new(8, 100), 2, 6, 1, 45), 2);
        assert_eq!(most_at_once(&Slots::new(2, 100), 1, 3, 16, 1000), 1);
    }
}
