//! Admission of guests: they run side by side up to the host's processors and memory.
//!
//! A caller may start any number of runs on threads of its own; each waits here for its reservation. Reservations are
//! granted in order of arrival, so small guests cannot delay a large one for ever.

use crate::probe;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Processors and memory of the host that guests may reserve.
#[derive(Debug)]
pub struct HostCapacity {
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
    /// Ticket of the next request to be granted.
    serving: u64,
    /// Ticket of the next request to arrive.
    arriving: u64,
}

/// Free memory that guests leave to the rest of the host, percent.
const SPARE_PERCENT: u64 = 15;

impl HostCapacity {
    /// All processors of this host, and the memory that is free now less a spare share.
    pub fn of_host() -> Self {
        Self::new(probe::processors(), probe::available_bytes() / 100 * (100 - SPARE_PERCENT))
    }

    /// A capacity of so many processors (at least one) and bytes.
    pub fn new(processors: usize, memory_bytes: u64) -> Self {
        Self { processors: processors.max(1), memory_bytes, state: Mutex::default(), changed: Condvar::new() }
    }

    /// Waits for so many processors and bytes. A request for more than the whole capacity gets all of it.
    pub fn reserve(&self, processors: usize, memory_bytes: u64) -> Reservation<'_> {
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
        // The next request may fit beside this one.
        self.changed.notify_all();
        Reservation { capacity: self, processors, memory_bytes }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reserved processors and memory; dropping it releases them.
#[derive(Debug)]
pub struct Reservation<'a> {
    capacity: &'a HostCapacity,
    processors: usize,
    memory_bytes: u64,
}

impl Drop for Reservation<'_> {
    fn drop(&mut self) {
        let mut state = self.capacity.lock();
        state.running -= 1;
        state.processors -= self.processors;
        state.memory_bytes -= self.memory_bytes;
        drop(state);
        self.capacity.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::child::tests::comes_true;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    /// Most runs at once of `count` runs that are started together. Every run lasts until all have arrived and
    /// `expected` of them have held a reservation at the same time.
    fn most_at_once(capacity: &HostCapacity, expected: usize, count: usize, processors: usize, bytes: u64) -> usize {
        let (now, most, over) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicBool::new(false));
        std::thread::scope(|scope| {
            for _ in 0..count {
                scope.spawn(|| {
                    let _reservation = capacity.reserve(processors, bytes);
                    most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                    comes_true(&|| over.load(Ordering::SeqCst));
                    now.fetch_sub(1, Ordering::SeqCst);
                });
            }
            let full = || capacity.lock().arriving == count as u64 && most.load(Ordering::SeqCst) >= expected;
            let reached = comes_true(&full);
            over.store(true, Ordering::SeqCst);
            assert!(reached, "a reservation is not granted");
        });
        most.into_inner()
    }

    #[test]
    fn neither_processors_nor_memory_are_exceeded() {
        assert_eq!(most_at_once(&HostCapacity::new(3, 100), 3, 6, 1, 10), 3);
        assert_eq!(most_at_once(&HostCapacity::new(8, 100), 2, 6, 1, 45), 2);
        assert_eq!(most_at_once(&HostCapacity::new(2, 100), 1, 3, 16, 1000), 1);
    }
}
