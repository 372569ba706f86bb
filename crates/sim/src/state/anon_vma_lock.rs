//! The mutex of an `anon_vma` in 3.7, as AutoNUMA's migrations take it.
//!
//! A base page that is unmapped (`try_to_unmap`) or mapped again (`remove_migration_ptes`) is found through the
//! `anon_vma` of its mapping. The mutex of the `anon_vma` is held meanwhile, including the TLB flush; the split of a
//! huge page holds it too. So threads that move pages of one mapping do so one after the other. In 3.8 it became a lock
//! that readers share, because threads slept on it (I. Molnar, "mm/rmap: Convert the struct anon_vma::mutex to an
//! rwsem", December 2012).
//!
//! Only AutoNUMA's migrations of whole split huge pages are modelled: tens of milliseconds each, nearly all of it under
//! the mutex. They follow each other, first come, first served. (In the kernel the pages of two migrations take turns,
//! which takes as long in all.) Migrations of single base pages neither wait nor delay others. Times are ns of model
//! time.

use crate::state::wait::NOBODY;

/// Mappings whose pages are being moved: process, mapping, when the last migration ends, and the task that makes it.
/// They are few, so this is a plain list.
#[derive(Clone, Debug, Default)]
pub struct AnonVmaLocks(Vec<(usize, usize, u64, u32)>);

impl AnonVmaLocks {
    /// How long a migration waits at `clock` for those before it, ns, and the task that makes the last of them.
    pub fn wait_ns(&self, process: usize, vma: usize, clock: u64) -> (u64, u32) {
        let held = self.0.iter().find(|l| (l.0, l.1) == (process, vma));
        held.map_or((0, NOBODY), |l| (l.2.saturating_sub(clock), l.3))
    }
    /// A migration of `task` holds the mutex until `until_ns`. Mappings whose migrations are over at `now_ns` are
    /// forgotten.
    pub fn hold(&mut self, (process, vma): (usize, usize), until_ns: u64, task: u32, now_ns: u64) {
        self.0.retain(|l| l.2 > now_ns && (l.0, l.1) != (process, vma));
        self.0.push((process, vma, until_ns, task));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moves_of_one_mapping_follow_each_other() {
        let mut l = AnonVmaLocks::default();
        assert_eq!(l.wait_ns(0, 1, 10), (0, NOBODY));
        l.hold((0, 1), 50, 7, 10);
        let waits =
            [(0, 1, 20), (0, 2, 20), (1, 1, 20), (0, 1, 60)].map(|(process, vma, at)| l.wait_ns(process, vma, at));
        assert_eq!(waits, [(30, 7), (0, NOBODY), (0, NOBODY), (0, 7)]);
        l.hold((0, 1), 90, 8, 20);
        l.hold((1, 1), 30, 9, 20);
        assert_eq!((l.wait_ns(0, 1, 20), l.0.len()), ((70, 8), 2));
        l.hold((2, 0), 200, 7, 95);
        assert_eq!(l.0, [(2, 0, 200, 7)]);
    }
}
