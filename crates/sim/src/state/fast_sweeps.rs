//! Sweeps that are faster than 4 GB/s: such threads compute little or find their data in a cache, and come from far
//! within the time of a fault.
//!
//! On a fast machine all threads are fast, and far from each other. So they are listed by their place as others are,
//! and the fastest decides how far back to look. Where that is further than there are threads, all of them are looked
//! at.

use crate::float::whole;
use crate::state::by_offset::ByOffset;

/// Sweeps with less are fast.
pub(crate) const FAST_NS_PER_BYTE: f64 = 0.25;

const NONE: u32 = u32::MAX;

/// The fast sweeps of all threads.
#[derive(Clone, Debug)]
pub(crate) struct FastSweeps {
    tasks: Vec<u32>,
    /// By task, its place in `tasks`.
    place: Vec<u32>,
    by_offset: ByOffset,
    /// The least time per byte of any so far, ns.
    least_ns_per_byte: f64,
}

impl Default for FastSweeps {
    fn default() -> Self {
        Self { tasks: Vec::new(), place: Vec::new(), by_offset: ByOffset::new(), least_ns_per_byte: FAST_NS_PER_BYTE }
    }
}

impl FastSweeps {
    /// Makes room for tasks with numbers below `tasks`.
    pub(crate) fn grow(&mut self, tasks: usize) {
        self.place.resize(tasks, NONE);
        self.by_offset.grow(tasks);
        self.tasks.reserve(tasks - self.tasks.len());
    }
    /// Takes a task off the lists, if it is on them.
    pub(crate) fn remove(&mut self, task: u32) {
        let place = std::mem::replace(&mut self.place[task as usize], NONE);
        if place == NONE {
            return;
        }
        self.tasks.swap_remove(place as usize);
        if let Some(&moved) = self.tasks.get(place as usize) {
            self.place[moved as usize] = place;
        }
        self.by_offset.remove(task);
    }
    /// Lists a task, which is not listed yet, that is at `at` of a mapping, bytes.
    pub(crate) fn insert(&mut self, task: u32, of: (u32, u32), at: u64, ns_per_byte: f64) {
        self.place[task as usize] = self.tasks.len() as u32;
        self.tasks.push(task);
        self.by_offset.insert(task, of, at);
        self.least_ns_per_byte = self.least_ns_per_byte.min(ns_per_byte);
    }
    /// Calls `f` with the tasks that may come to places `first` to `last` of a mapping within `ns`, and with others,
    /// until it returns false.
    #[inline]
    pub(crate) fn each(&self, of: (u32, u32), (first, last): (u64, u64), ns: f64, mut f: impl FnMut(u32) -> bool) {
        if self.tasks.is_empty() {
            return;
        }
        let from = first.saturating_sub(whole(ns / self.least_ns_per_byte).saturating_add(1));
        if ByOffset::groups((from, last)) <= self.tasks.len() as u64 {
            self.by_offset.each(of, (from, last), f);
        } else {
            self.tasks.iter().all(|&task| f(task));
        }
    }
}
