//! What the pages of each node are used for, and their LRU lists (thp-and-allocation.md section 1.3).

use crate::mm::zone::layout::Zone;
use crate::mm::zone::watermark::integer_sqrt;
use numalab_base::words;

words! {
    /// Use of a page. Every page in use has exactly one.
    pub enum PageClass {
        /// Anonymous base page.
        Anon = "anon_4k",
        /// Anonymous huge page, counted in base pages.
        AnonHuge = "anon_thp",
        /// Huge page of the hugetlb pool, mapped or not, counted in base pages.
        Hugetlb = "hugetlb",
        /// Page cache, unmapped and clean.
        FileClean = "pagecache_clean",
        /// Page cache, unmapped and dirty.
        FileDirty = "pagecache_dirty",
        /// Page cache, mapped.
        FileMapped = "pagecache_mapped",
        /// Shared memory and tmpfs.
        Shmem = "shmem",
        /// Slab that reclaim may shrink.
        SlabReclaimable = "slab_reclaimable",
        /// Slab that reclaim may not shrink.
        SlabUnreclaimable = "slab_unreclaimable",
        /// Page tables.
        PageTables = "pagetables",
        /// Other memory of the kernel.
        KernelOther = "kernel_other",
        /// Swapped in, with a slot that is not yet freed.
        SwapCache = "swapcache",
        /// Taken off the lists by reclaim, compaction or migration.
        Isolated = "isolated",
    }
}

impl PageClass {
    /// Whether compaction and migration can move the page.
    #[inline]
    pub fn is_movable(self) -> bool {
        !matches!(self, Self::SlabReclaimable | Self::SlabUnreclaimable | Self::PageTables | Self::KernelOther)
    }
    /// Whether a page of it is a huge page.
    #[inline]
    pub fn is_huge(self) -> bool {
        matches!(self, Self::AnonHuge | Self::Hugetlb)
    }
    /// Whether it belongs to the page cache.
    #[inline]
    pub fn is_file(self) -> bool {
        matches!(self, Self::FileClean | Self::FileDirty | Self::FileMapped)
    }
    /// Whether it is on an anonymous LRU list.
    #[inline]
    pub fn is_anon(self) -> bool {
        matches!(self, Self::Anon | Self::AnonHuge)
    }
}

/// Pages on the LRU lists of a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lru {
    /// Inactive anonymous pages.
    pub inactive_anon: u64,
    /// Active anonymous pages.
    pub active_anon: u64,
    /// Inactive file pages.
    pub inactive_file: u64,
    /// Active file pages.
    pub active_file: u64,
}

impl Lru {
    /// Anonymous pages on both lists.
    pub fn anon(&self) -> u64 {
        self.inactive_anon + self.active_anon
    }
    /// File pages on both lists.
    pub fn file(&self) -> u64 {
        self.inactive_file + self.active_file
    }
    /// The active or the inactive anonymous list.
    #[inline]
    pub fn anon_list(&mut self, active: bool) -> &mut u64 {
        if active {
            &mut self.active_anon
        } else {
            &mut self.inactive_anon
        }
    }
    /// Whether the inactive anonymous list is too short, so that active pages are deactivated (`inactive_is_low`).
    pub fn anon_is_low(&self) -> bool {
        self.inactive_anon * inactive_ratio(self.anon()) < self.active_anon
    }
}

/// Largest ratio of active to inactive pages: 1 below 1 GiB, else `sqrt(10 * GiB)`.
pub fn inactive_ratio(pages: u64) -> u64 {
    let gib = pages >> 18;
    if gib == 0 {
        1
    } else {
        integer_sqrt(10 * gib)
    }
}

/// Use of the memory of one node, pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NodeAccount {
    used: [u64; PageClass::ALL.len()],
    /// The LRU lists of the node.
    pub lru: Lru,
}

impl NodeAccount {
    /// Pages with this use.
    #[inline]
    pub fn pages(&self, class: PageClass) -> u64 {
        self.used[class as usize]
    }
    /// Pages with any use.
    pub fn used(&self) -> u64 {
        self.used.iter().sum()
    }
    /// File pages of the page cache.
    pub fn file(&self) -> u64 {
        self.pages(PageClass::FileClean) + self.pages(PageClass::FileDirty) + self.pages(PageClass::FileMapped)
    }
    /// Adds pages with a use. Anonymous pages join an LRU list at once; file pages join theirs when the file lists
    /// take them.
    #[inline]
    pub(super) fn add(&mut self, class: PageClass, pages: u64, active: bool) {
        self.used[class as usize] += pages;
        if class.is_anon() {
            *self.lru.anon_list(active) += pages;
        }
    }
    /// Removes pages with a use, and from their LRU list. Returns false if there are too few of them, which is an
    /// error of the caller.
    #[inline]
    pub(super) fn remove(&mut self, class: PageClass, pages: u64, active: bool) -> bool {
        let used = &mut self.used[class as usize];
        if *used < pages {
            return false;
        }
        *used -= pages;
        if class.is_anon() {
            let list = self.lru.anon_list(active);
            debug_assert!(*list >= pages, "{list} pages on the list, {pages} freed");
            *list = list.saturating_sub(pages);
        }
        true
    }
    /// Changes the use of pages. Returns false if there are too few of them.
    pub(super) fn change(&mut self, from: PageClass, to: PageClass, pages: u64) -> bool {
        let enough = self.pages(from) >= pages;
        if enough {
            self.used[from as usize] -= pages;
            self.used[to as usize] += pages;
        }
        enough
    }
    /// Checks `free + used = managed` and that the anonymous lists hold the anonymous pages.
    ///
    /// # Errors
    /// A sentence with the figures that differ.
    pub fn check(&self, zones: &[Zone], free: u64) -> Result<(), String> {
        let managed: u64 = zones.iter().map(|z| z.managed).sum();
        if free + self.used() != managed {
            return Err(format!("{free} free and {} used pages, {managed} managed", self.used()));
        }
        let anon = self.pages(PageClass::Anon) + self.pages(PageClass::AnonHuge);
        if self.lru.anon() != anon || self.lru.file() != self.file() {
            return Err(format!("LRU lists {:?} of {anon} anonymous and {} file pages", self.lru, self.file()));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uses_add_up_and_never_go_below_zero() {
        let mut a = NodeAccount::default();
        a.add(PageClass::Anon, 10, false);
        a.add(PageClass::AnonHuge, 512, true);
        a.add(PageClass::Shmem, 3, false);
        assert_eq!((a.used(), a.lru.anon()), (525, 522));
        assert!(a.change(PageClass::AnonHuge, PageClass::Anon, 512));
        assert!(a.remove(PageClass::Anon, 500, true) && !a.remove(PageClass::Anon, 23, false));
        assert_eq!((a.pages(PageClass::Anon), a.lru.anon()), (22, 22));
        assert_eq!((a.lru.inactive_anon, a.lru.active_anon), (10, 12));
    }

    #[test]
    fn the_inactive_list_keeps_its_share() {
        assert_eq!([0, 1 << 18, 10 << 18, 16 << 18].map(inactive_ratio), [1, 3, 10, 12]);
        let low = |inactive_anon, active_anon| Lru { inactive_anon, active_anon, ..Lru::default() }.anon_is_low();
        assert!(low(499, 501) && !low(500, 500));
        // With 1 GiB the active list may be three times as long as the inactive one.
        assert!(low((1 << 16) - 1, (3 << 16) + 1) && !low(1 << 16, 3 << 16));
    }
}
