//! Entries that map the zero page. A read of untouched anonymous memory maps it, base or huge, and allocates nothing.
//! The first store gives the mapping an exclusive page (thp-and-allocation.md section 5).
//!
//! For everything but reads such an entry is absent: it has no frame, no node, no mark. So sweeps that only write
//! never look at it, and mappings without such entries pay nothing.
//! Invariant: an entry that maps the zero page has no page and no swap slot.

use super::mapping::Vma;
use super::zero_entries::Zeros;
use crate::mm::block::Bits512;
use crate::mm::units::CHUNK_PAGES;

impl Vma {
    /// Maps the zero page in an absent entry.
    pub fn map_zero_page(&mut self, chunk: usize, page: usize) {
        debug_assert!(self.is_absent(chunk, page) && self.frame_map.slot(chunk, page).is_none());
        let z = self.zeros_mut(chunk);
        debug_assert!(!z.entries.get(page));
        z.entries.set(page);
        self.zeros.pages += 1;
    }
    /// Maps the huge zero page in an empty chunk.
    pub fn map_huge_zero_page(&mut self, chunk: usize) {
        debug_assert!(self.huge_fault_fits(chunk) || self.chunk(chunk).present == 0);
        *self.zeros_mut(chunk) = Zeros { entries: Bits512::range(0, CHUNK_PAGES as usize), huge: true };
        self.zeros.pages += CHUNK_PAGES;
    }
    fn zeros_mut(&mut self, chunk: usize) -> &mut Zeros {
        if self.zeros.chunks.is_empty() {
            self.zeros.chunks = vec![None; self.chunks.len()];
        }
        self.zeros.chunks[chunk].get_or_insert_with(|| Box::new(Zeros { entries: Bits512::default(), huge: false }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mm::pageblock::frame::Frame;
    use crate::mm::vma::kind::VmaKind;
    use crate::mm::vma::pending::{PendingKind, PendingPages};

    #[test]
    fn reads_find_zeros_and_stores_fault() {
        let mut v = Vma::new(0, 4 << 20, VmaKind::PrivateAnon, true, 1);
        v.map_zero_page(0, 3);
        v.map_huge_zero_page(1);
        assert_eq!((v.zero_entries(), v.is_huge_zero_page(1), v.is_huge_zero_page(0)), (513, true, false));
        assert_eq!((v.next_fault(0, 3, 5, false), v.next_fault(0, 3, 5, true)), (Some(4), Some(3)));
        assert_eq!((v.next_fault(1, 0, 512, false), v.next_fault(1, 9, 512, true)), (None, Some(9)));
        assert_eq!(v.pending_in(0, 4 << 20), PendingPages { any: 511, marked: 0, zeros: 513, read_only: 0 });
        assert_eq!(
            (v.pending_in(0, 2 << 20).faulting(false), v.is_pending(0, 3, false), v.is_pending(0, 3, true)),
            (511, false, true)
        );
        assert_eq!(v.nth_pending(0, (0, 2 << 20), 3, PendingKind::Read), Some(4));
        v.populate(0, 3, 0, Frame(1));
        v.populate(1, 7, 0, Frame(1));
        assert_eq!(
            (v.zero_entries(), v.is_huge_zero_page(1), v.maps_zero_page(1, 7), v.maps_zero_page(1, 8)),
            (511, false, false, true)
        );
        assert_eq!(v.next_fault(1, 0, 512, false), None, "its own page among zeros");
        v.check().unwrap();
    }
}
