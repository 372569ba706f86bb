//! The lock of an address space (`mmap_sem`, `mmap_lock`) as khugepaged takes it.
//!
//! `collapse_huge_page` holds the lock for writing from before it looks at the entries until the copy is mapped, in
//! every kernel. Page faults hold it for reading, hint faults and their migrations too. (With locks of single mappings,
//! 6.4 and later, the collapse takes those away from the faults as well: `vma_start_write`.) So a collapse waits for
//! the faults in progress. A fault that comes meanwhile waits for the collapse, also while the collapse still waits
//! itself: a waiting writer lets no new reader in.
//!
//! A process knows the stretches of time in which khugepaged wants or has its lock. Of the faults in progress only
//! AutoNUMA's are looked at, which move up to 512 pages one by one for tens of milliseconds. Faults of other kernels
//! take a millisecond at most (a huge page cleared or moved), and their khugepaged waits for none: a simplification.
//! Times are ns of model time.

/// When khugepaged wants or has the lock of an address space: beginnings and ends in ns, those not over yet.
#[derive(Clone, Debug, Default)]
pub struct MmapWriteLocks(Vec<(u64, u64)>);

impl MmapWriteLocks {
    /// It is wanted from the first time on and given back at the second; those over at `now_ns` are forgotten.
    pub fn hold(&mut self, (from_ns, until_ns): (u64, u64), now_ns: u64) {
        self.0.retain(|h| h.1 > now_ns);
        self.0.push((from_ns, until_ns));
    }
    /// How long a fault waits that wants it for reading at `clock`. Between two collapses it gets in.
    #[inline]
    pub fn wait_ns(&self, clock: u64) -> u64 {
        let held = self.0.iter().find(|h| h.0 <= clock && clock < h.1);
        held.map_or(0, |h| h.1 - clock)
    }
}

/// A fault that takes at least so long is one that a collapse is taken to wait for.
pub(crate) const LONG_FAULT_NS: u64 = 100_000;

/// Faults that hold the lock of their address space for reading while they move pages: process, beginning and end in
/// ns. Few per thread, those that are not over yet, so a plain list.
#[derive(Clone, Debug, Default)]
pub struct LongReadLocks(Vec<(usize, u64, u64)>);

impl LongReadLocks {
    /// A fault of `process`; those that are over at `now_ns`, which no thread is behind of, are forgotten.
    pub fn begin(&mut self, process: usize, (from_ns, until_ns): (u64, u64), now_ns: u64) {
        self.0.retain(|f| f.2 > now_ns);
        self.0.push((process, from_ns, until_ns));
    }
    /// How long a writer waits at `clock` for those in progress, ns.
    pub fn wait_ns(&self, process: usize, clock: u64) -> u64 {
        let of_it = self.0.iter().filter(|f| f.0 == process && f.1 <= clock);
        of_it.map(|f| f.2.saturating_sub(clock)).max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_waits_for_what_is_left_of_a_collapse() {
        let mut l = MmapWriteLocks::default();
        assert_eq!(l.wait_ns(0), 0);
        l.hold((100, 150), 90);
        l.hold((151, 160), 90);
        assert_eq!([99, 100, 149, 150, 151, 160].map(|t| l.wait_ns(t)), [0, 50, 1, 0, 9, 0]);
        l.hold((200, 210), 150);
        assert_eq!(l.0, [(151, 160), (200, 210)]);
    }

    #[test]
    fn a_collapse_waits_for_the_last_fault_in_progress() {
        let mut l = LongReadLocks::default();
        l.begin(0, (10, 50), 0);
        l.begin(0, (20, 40), 0);
        l.begin(1, (10, 90), 0);
        l.begin(0, (45, 80), 0);
        assert_eq!([5, 10, 30, 44, 45, 80].map(|t| l.wait_ns(0, t)), [0, 40, 20, 6, 35, 0]);
        l.begin(1, (100, 101), 85);
        assert_eq!(l.0, [(1, 10, 90), (1, 100, 101)]);
    }
}
