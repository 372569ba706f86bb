//! Page cache of a node: two lists in the order of last use (model; thp-and-allocation.md section 4.4).
//!
//! Pages that were read together are in the same pageblocks and are reclaimed together. So the lists hold *extents*:
//! up to 512 pages of one pageblock in one state. A page counts as used once when it is read; a second use moves it to
//! the active list at once (`mark_page_accessed`). Reclaim takes clean inactive pages (`PAGEREF_RECLAIM_CLEAN`).

use crate::mm::account::{inactive_ratio, PageClass};
use crate::mm::pageblock::frame::Frame;
use std::collections::VecDeque;

/// Pages of the page cache in one pageblock and state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Pageblock of the pages.
    pub frame: Frame,
    /// Number of pages.
    pub pages: u16,
    /// Use of the pages: one of the three file classes.
    pub class: PageClass,
}

/// What reclaim may do to file pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileRules {
    /// Whether it may write dirty pages back.
    pub may_write: bool,
    /// Whether it may unmap mapped pages.
    pub may_unmap: bool,
}

/// The file pages of a node.
#[derive(Clone, Debug, Default)]
pub struct FileLists {
    /// Extents, the oldest first.
    inactive: VecDeque<Extent>,
    active: VecDeque<Extent>,
    inactive_pages: u64,
    active_pages: u64,
}

impl FileLists {
    /// Pages on the inactive list.
    pub fn inactive(&self) -> u64 {
        self.inactive_pages
    }
    /// Pages on the active list.
    pub fn active(&self) -> u64 {
        self.active_pages
    }
    /// Adds a new page.
    pub fn add(&mut self, frame: Frame, class: PageClass) {
        self.inactive_pages += 1;
        if let Some(last) = self.inactive.back_mut() {
            if last.frame == frame && last.class == class && last.pages < 512 {
                last.pages += 1;
                return;
            }
        }
        self.inactive.push_back(Extent { frame, pages: 1, class });
    }
    /// Moves the oldest `pages` inactive pages to the active list, because they are used again. An extent moves as a
    /// whole. Returns the number of moved pages.
    pub fn reference(&mut self, pages: u64) -> u64 {
        let mut activated = 0;
        while activated < pages {
            let Some(e) = self.inactive.pop_front() else { break };
            activated += u64::from(e.pages);
            self.active.push_back(e);
        }
        self.inactive_pages -= activated;
        self.active_pages += activated;
        activated
    }
    /// Moves active pages to the inactive list while that is shorter than its share; returns the number of moved
    /// pages.
    pub fn age(&mut self) -> u64 {
        let before = self.active_pages;
        let ratio = inactive_ratio(self.inactive_pages + self.active_pages);
        while self.inactive_pages * ratio < self.active_pages {
            let Some(e) = self.active.pop_front() else { break };
            self.active_pages -= u64::from(e.pages);
            self.inactive_pages += u64::from(e.pages);
            self.inactive.push_back(e);
        }
        before - self.active_pages
    }
    /// Scans up to `scan` of the oldest pages and removes those that may be freed, as an extent. Other pages go to the
    /// end of the list. Returns the removed pages and the number of scanned pages.
    pub fn shrink(&mut self, scan: u64, rules: FileRules) -> (Option<Extent>, u64) {
        let Some(mut e) = self.inactive.pop_front() else { return (None, 0) };
        let seen = u64::from(e.pages).min(scan.max(1));
        let blocked = match e.class {
            PageClass::FileDirty => !rules.may_write,
            PageClass::FileMapped => !rules.may_unmap,
            _ => false,
        };
        if blocked {
            self.inactive.push_back(e);
            return (None, seen);
        }
        let taken = Extent { pages: seen as u16, ..e };
        e.pages -= taken.pages;
        self.inactive_pages -= u64::from(taken.pages);
        if e.pages > 0 {
            self.inactive.push_front(e);
        }
        (Some(taken), seen)
    }
    /// Removes the newest page of a class and reports it to `dropped`.
    pub fn drop_newest(&mut self, class: PageClass, mut dropped: impl FnMut(Frame)) {
        for (list, total) in
            [(&mut self.inactive, &mut self.inactive_pages), (&mut self.active, &mut self.active_pages)]
        {
            let Some(at) = list.iter().rposition(|e| e.class == class) else { continue };
            dropped(list[at].frame);
            list[at].pages -= 1;
            *total -= 1;
            if list[at].pages == 0 {
                list.remove(at);
            }
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLEAN_ONLY: FileRules = FileRules { may_write: false, may_unmap: false };

    fn lists(parts: &[(u32, u64, PageClass)]) -> FileLists {
        let mut out = FileLists::default();
        for (frame, pages, class) in parts {
            (0..*pages).for_each(|_| out.add(Frame(*frame), *class));
        }
        out
    }

    #[test]
    fn oldest_clean_pages_go_first() {
        let mut l = lists(&[(1, 512, PageClass::FileClean), (2, 100, PageClass::FileClean)]);
        let (e, seen) = l.shrink(32, CLEAN_ONLY);
        assert_eq!((e.map(|e| (e.frame, e.pages)), seen, l.inactive()), (Some((Frame(1), 32)), 32, 580));
        assert_eq!(l.shrink(10_000, CLEAN_ONLY).0.map(|e| (e.frame, e.pages)), Some((Frame(1), 480)));
        assert_eq!(l.shrink(10_000, CLEAN_ONLY).0.map(|e| (e.frame, e.pages)), Some((Frame(2), 100)));
        assert_eq!(l.shrink(32, CLEAN_ONLY), (None, 0));
    }

    #[test]
    fn dirty_and_mapped_pages_need_permission() {
        let mut l = lists(&[(1, 10, PageClass::FileDirty), (2, 10, PageClass::FileMapped)]);
        assert_eq!(l.shrink(32, CLEAN_ONLY), (None, 10));
        assert_eq!(l.shrink(32, CLEAN_ONLY), (None, 10));
        let write = FileRules { may_write: true, may_unmap: false };
        assert_eq!(l.shrink(32, write).0.map(|e| e.frame), Some(Frame(1)));
        assert_eq!(l.shrink(32, write), (None, 10));
        assert_eq!(l.shrink(32, FileRules { may_write: false, may_unmap: true }).0.map(|e| e.frame), Some(Frame(2)));
    }

    #[test]
    fn pages_used_again_go_to_the_active_list() {
        let mut l = lists(&[(1, 10, PageClass::FileClean), (2, 10, PageClass::FileClean)]);
        assert_eq!(l.reference(5), 10, "a whole extent");
        assert_eq!((l.inactive(), l.active()), (10, 10));
        assert_eq!(l.shrink(32, CLEAN_ONLY).0.map(|e| e.frame), Some(Frame(2)));
        assert_eq!(l.age(), 10);
        assert_eq!((l.inactive(), l.active()), (10, 0));
        assert_eq!(l.reference(100), 10, "no more than there are");
    }
}
