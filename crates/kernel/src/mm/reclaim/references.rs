//! Whether a page is in use (`folio_check_references`), and the page flags that record it.
//!
//! A page that is found used once stays on the inactive list and is scanned again. If it is found used twice in a row,
//! it is activated. The fault that maps a page is a use, so one use does not count as a sign of another.

use crate::mm::pageblock::frame::Frame;
use crate::mm::physical_memory::PhysicalMemory;

/// What reclaim does with an inactive page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum References {
    /// It is reclaimed.
    Reclaim,
    /// It stays inactive and is scanned again.
    Keep,
    /// It moves to the active list.
    Activate,
}

/// What to do with an inactive anonymous page, and its new flags. `young` entries of it had their accessed bit set
/// since the last scan. With `workingset` the rules of 5.9 on hold; otherwise one used entry activates the page.
pub fn check_references(young: u32, page: Frame, workingset: bool) -> (References, Frame) {
    let before = page.has(Frame::REFERENCED);
    if young == 0 {
        return (References::Reclaim, page.with(Frame::REFERENCED, false));
    }
    if !workingset {
        return (References::Activate, page.with(Frame::REFERENCED, false));
    }
    let verdict = if before || young > 1 { References::Activate } else { References::Keep };
    (verdict, page.with(Frame::REFERENCED, true))
}

impl PhysicalMemory {
    /// Whether the rules of 5.9 on activate anonymous pages.
    pub fn anon_workingset(&self) -> bool {
        self.cfg.vm.anon_workingset
    }
    /// Moves an anonymous page of a node to the active or the inactive list; returns its frame with the flag. A page
    /// with an unknown frame stays inactive.
    pub fn set_active(&mut self, node: usize, page: Frame, pages: u64, active: bool) -> Frame {
        let now = page.with(Frame::ACTIVE, active);
        let (was, is) = (page.has(Frame::ACTIVE), now.has(Frame::ACTIVE));
        if was != is {
            let lru = &mut self.accounts[node].lru;
            *lru.anon_list(was) -= pages;
            *lru.anon_list(is) += pages;
        }
        now
    }
    /// Copies the flags of an anonymous page from its old frame to its new one on `node` (`folio_migrate_flags`).
    pub fn carry_flags(&mut self, old: Frame, node: usize, new: Frame, pages: u64) -> Frame {
        let new = self.set_active(node, new, pages, old.has(Frame::ACTIVE));
        let flags = [Frame::REFERENCED, Frame::WORKINGSET];
        flags.into_iter().fold(new, |new, flag| new.with(flag, old.has(flag)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use super::{References::Activate, References::Keep, References::Reclaim};

    const PAGE: Frame = Frame(7);

    #[test]
    fn two_uses_in_a_row_activate_and_one_does_not() {
        let seen = PAGE.with(Frame::REFERENCED, true);
        assert_eq!(check_references(1, PAGE, true), (Keep, seen));
        assert_eq!(check_references(1, seen, true), (Activate, seen));
        assert_eq!(check_references(0, seen, true), (Reclaim, PAGE));
        assert_eq!(check_references(0, PAGE, true), (Reclaim, PAGE));
        assert_eq!(check_references(2, PAGE, true), (Activate, seen), "two processes use it");
    }

    #[test]
    fn before_5_9_one_use_is_enough() {
        assert_eq!(check_references(1, PAGE, false), (Activate, PAGE));
        assert_eq!(check_references(0, PAGE.with(Frame::REFERENCED, true), false), (Reclaim, PAGE));
    }

    #[test]
    fn flags_do_not_hide_the_place() {
        let all = Frame::ACTIVE | Frame::REFERENCED | Frame::WORKINGSET;
        let page = Frame(12345).with(all, true);
        assert_eq!((page.block(), page.has(Frame::ACTIVE)), (12345, true));
        assert_eq!(page.with(all, false), Frame(12345));
        assert_eq!(Frame::UNKNOWN.with(Frame::ACTIVE, true), Frame::UNKNOWN);
        assert!(!Frame::UNKNOWN.has(Frame::ACTIVE) && Frame::UNKNOWN.block() == u32::MAX);
    }
}
