//! Is a page in use? (`folio_check_references`), and what page flags a page keeps where.
//!
//! A page that is found used once stays on the inactive list and is looked at again; found used twice in a row it is
//! activated. Every page starts with one use, that of the fault that mapped it, so one is no sign of a second.

use crate::mm::pageblock::frame::Frame;
use crate::mm::physical_memory::PhysicalMemory;

/// What reclaim does with a page of the inactive list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum References {
    /// It goes.
    Reclaim,
    /// It stays inactive and is looked at again.
    Keep,
    /// It goes to the active list.
    Activate,
}

/// Verdict on an anonymous page of the inactive list with `young` entries whose accessed bit was set since the last look,
/// and its flags afterwards. With `workingset` by the rules of 5.9 on, else one used entry activates.
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
    /// Whether anonymous pages are activated by the rules of 5.9 on.
    pub fn anon_workingset(&self) -> bool {
        self.cfg.vm.anon_workingset
    }
    /// Puts an anonymous page of a node on the active or the inactive list; returns it with its flag. A page whose place
    /// is unknown stays inactive.
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
    /// Gives the new place of an anonymous page, on `node`, the flags that it had at the old one (`folio_migrate_flags`).
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
