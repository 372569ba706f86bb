//! Large folios below 2 MiB: aligned groups of exclusive base pages that fault and move as one (multi-size THP, 6.8
//! on; `alloc_anon_folio`, `numa_rebuild_large_mapping`).
//!
//! Problem: a mapping may hold folios of several sizes beside base pages, and most mappings hold none.
//! Approach: a folio is a mark on base pages. Entries, nodes and pageblocks are those of the pages, and the folio says
//! which of them belong together. Whatever handles one of its pages alone splits it first.
//! Invariants: the pages of a folio are present, exclusive and on one node. Its last cpupid is that of its first page.

use super::chunk::ChunkKind;
use super::mapping::Vma;
use crate::mm::block::Bits512;
use crate::mm::pageblock::frame::Frame;
use crate::mm::units::CHUNK_PAGES;

/// Largest order of such a folio: 1 MiB.
pub const MAX_FOLIO_ORDER: u32 = 8;

impl Vma {
    /// First page and number of pages of the folio that a base page of a chunk belongs to; itself and 1 if to none.
    #[inline]
    pub fn folio_of(&self, chunk: usize, page: usize) -> (usize, u32) {
        self.folios.of_page(chunk, page)
    }
    /// Order of the folio that a first touch of a page may map: the largest of `folio_orders` whose aligned range is
    /// inside the mapping and has no entry, swapped ones included. 0 if none fits.
    pub fn folio_fault_order(&self, chunk: usize, page: usize) -> u32 {
        if self.folio_orders == 0 || self.chunks[chunk].kind == ChunkKind::Huge {
            return 0;
        }
        let fits = |order: &u32| {
            let pages = 1_usize << order;
            let first = page & !(pages - 1);
            let start = self.page_addr(chunk, first);
            let inside = start >= self.start && start + self.grain.bytes_of(pages as u64) <= self.end;
            let empty = |p: usize| {
                self.is_absent(chunk, p) && !self.maps_zero_page(chunk, p) && self.frame_map.slot(chunk, p).is_none()
            };
            inside && (first..first + pages).all(empty)
        };
        let enabled = |order: &u32| self.folio_orders >> order & 1 == 1;
        (1..=MAX_FOLIO_ORDER).rev().filter(enabled).find(fits).unwrap_or(0)
    }
    /// Populates the aligned range from page `first` on with a folio on `node`. `frames` are those of its pages, a
    /// power of two of them.
    pub fn populate_folio(&mut self, chunk: usize, first: usize, node: usize, frames: &[Frame]) {
        for (i, &frame) in frames.iter().enumerate() {
            self.populate(chunk, first + i, node, frame);
        }
        self.join_folio(chunk, first, frames.len());
    }
    /// Makes one folio of base pages that have moved together. `pages` is a power of two.
    pub fn join_folio(&mut self, chunk: usize, first: usize, pages: usize) {
        debug_assert!(pages.is_power_of_two() && first.is_multiple_of(pages));
        debug_assert!(
            (first..first + pages).all(|p| self.exclusive_node(chunk, p) == self.exclusive_node(chunk, first))
        );
        self.folios.set(chunk, first, pages, pages.trailing_zeros() as u8);
    }
    /// Splits the folio of a page, if it belongs to one: its pages are base pages from now on.
    #[inline]
    pub fn split_folio(&mut self, chunk: usize, page: usize) {
        self.folios.split(chunk, page);
    }
    /// The pages of a chunk that belong to folios.
    pub(super) fn folio_pages(&self, chunk: usize) -> Bits512 {
        let mut out = Bits512::default();
        if let Some(orders) = self.folios.of(chunk) {
            (0..CHUNK_PAGES as usize).filter(|p| orders[*p] > 0).for_each(|p| out.set(p));
        }
        out
    }
    /// Whether the mapping has had folios.
    #[inline]
    pub fn has_had_folios(&self) -> bool {
        self.folios.any()
    }
    /// Checks the invariants of folios.
    pub(super) fn check_folios(&self) -> Result<(), String> {
        for chunk in (0..self.chunks.len()).filter(|c| self.folios.of(*c).is_some()) {
            let mut page = 0;
            while page < CHUNK_PAGES as usize {
                let (first, pages) = self.folio_of(chunk, page);
                let node = self.exclusive_node(chunk, first);
                let ends = first + pages as usize;
                let whole = (first..ends)
                    .all(|p| self.folio_of(chunk, p) == (first, pages) && self.exclusive_node(chunk, p) == node);
                if pages > 1 && (first != page || node.is_none() || !whole) {
                    return Err(format!("chunk {chunk}: the folio of page {page} is not whole on one node"));
                }
                page = ends;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mm::object::SharedMemory;
    use crate::mm::units::{CHUNK_BYTES, PAGE_BYTES};
    use crate::mm::vma::kind::VmaKind;
    use crate::mm::vma::page_state::PageState;
    use crate::numa::mark::MarkRules;

    fn mapping(orders: u32) -> Vma {
        let mut v = Vma::new(3 * PAGE_BYTES, CHUNK_BYTES, VmaKind::PrivateAnon, false, 2);
        v.folio_orders = orders;
        v
    }

    #[test]
    fn the_largest_enabled_order_that_fits_is_taken() {
        let mut v = mapping(1 << 4 | 1 << 2);
        assert_eq!(v.folio_fault_order(0, 20), 4);
        assert_eq!(v.folio_fault_order(0, 5), 2, "the mapping begins inside the 64 KiB");
        assert_eq!(v.folio_fault_order(0, 3), 0, "and inside the 16 KiB");
        v.populate(0, 30, 0, Frame(1));
        assert_eq!((v.folio_fault_order(0, 20), v.folio_fault_order(0, 29)), (2, 0), "a page is there already");
        assert_eq!(mapping(0).folio_fault_order(0, 20), 0);
    }

    #[test]
    fn a_folio_is_a_unit_until_one_of_its_pages_is_handled_alone() {
        let store = SharedMemory::default();
        let mut v = mapping(1 << 4);
        v.populate_folio(0, 16, 1, &[Frame(1); 16]);
        assert_eq!((v.folio_of(0, 21), v.folio_of(0, 15)), ((16, 16), (15, 1)));
        assert_eq!(v.check(), Ok(()));
        let all = v.mark_range(0, CHUNK_BYTES, &MarkRules::OWN_PAGES, &mut SharedMemory::default());
        assert_eq!(all.updates, 16, "each entry is marked");
        v.set_last_cpupid(0, 16, 7);
        let marked = PageState::Marked { node: 1, last: 7, pages: 16, shared: None };
        assert_eq!(v.page(0, 31, &store), marked, "the folio has one last cpupid");
        v.unmark(0, 31);
        let _ = v.move_page(0, 31, 0, Frame(2), 5);
        assert_eq!((v.folio_of(0, 16), v.folio_of(0, 31)), ((16, 1), (31, 1)));
        assert_eq!(v.check(), Ok(()));
    }

    #[test]
    fn a_folio_that_is_not_whole_is_found() {
        let mut v = mapping(1 << 4);
        v.populate_folio(0, 16, 1, &[Frame(1); 16]);
        v.folios.set(0, 20, 1, 0);
        assert!(v.check().unwrap_err().contains("folio of page"));
    }
}
