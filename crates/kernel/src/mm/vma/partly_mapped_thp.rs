//! A huge page of which a part is mapped.

use crate::mm::block::Bits512;
use crate::mm::pageblock::frame::Frame;
use crate::mm::units::CHUNK_PAGES;

/// A huge page of which a part is mapped by base entries.
#[derive(Clone, Copy, Debug)]
pub(in crate::mm) struct PartlyMappedThp {
    pub(super) chunk: usize,
    pub(super) node: usize,
    pub(super) frame: Frame,
    /// Entries that map a part of it.
    pub(super) mapped: Bits512,
}

impl PartlyMappedThp {
    /// Whether an entry maps a part of it.
    pub fn maps(&self, chunk: usize, page: usize) -> bool {
        self.chunk == chunk && self.mapped.get(page)
    }
    pub(super) fn unmapped_pages(&self) -> u64 {
        CHUNK_PAGES - u64::from(self.mapped.count())
    }
}
