//! Huge pages of which a part is mapped. Unmapping a part of one splits its entry, not the page (`__split_huge_pmd`,
//! `deferred_split_huge_page`; thp-and-allocation.md section 11).
//!
//! The rest stays mapped by base entries. The unmapped part stays allocated until memory is short; then the page is
//! split and that part is freed. The whole page is freed when no part is mapped any more. Migration, swap, fork and
//! collapse split such a page first (model). All this concerns exclusive pages only.
//! Invariants: entries that map a part are present, and have no pageblock in the frame map.

use super::chunk::ChunkKind;
use super::mapping::Vma;
use super::partly_mapped_thp::PartlyMappedThp;
use crate::mm::account::PageClass;
use crate::mm::block::Bits512;
use crate::mm::pageblock::frame::Frame;
use crate::mm::physical_memory::PhysicalMemory;
use crate::mm::units::CHUNK_PAGES;
use crate::mm::unmapped::Unmapped;

impl Vma {
    /// Number of huge pages of which a part is mapped.
    #[inline]
    pub fn partly_mapped_thps(&self) -> usize {
        self.partly_mapped.len()
    }

    /// Maps the exclusive huge page of a chunk by base entries; the page stays whole.
    fn split_pmd(&mut self, chunk: usize) {
        let (node, frame) = self.split_huge(chunk);
        for page in 0..CHUNK_PAGES as usize {
            self.frame_map.take(chunk, page);
        }
        self.partly_mapped.push(PartlyMappedThp {
            chunk,
            node,
            frame,
            mapped: Bits512::range(0, CHUNK_PAGES as usize),
        });
    }
    /// Splits the entries of exclusive huge pages that are partly in `from..to`; returns their number.
    pub fn split_pmds_at(&mut self, from: u64, to: u64) -> u64 {
        let mut split = 0;
        if from >= to {
            return split;
        }
        for chunk in [self.chunk_of(from), self.chunk_of(to - 1)] {
            let (base, c) = (self.chunk_base(chunk), self.chunk(chunk));
            let part = base < from || base + self.chunk_bytes() > to;
            if part && c.kind == ChunkKind::Huge && c.shared == 0 {
                self.split_pmd(chunk);
                split += 1;
            }
        }
        split
    }
    /// Unmaps an entry that maps a part of a huge page. Returns false if the entry maps no part.
    pub(in crate::mm) fn unmap_thp_part(
        &mut self,
        chunk: usize,
        page: usize,
        freed: &mut impl FnMut(Unmapped),
    ) -> bool {
        let Some(i) = self.partly_mapped.iter().position(|p| p.chunk == chunk && p.mapped.get(page)) else {
            return false;
        };
        let p = &mut self.partly_mapped[i];
        p.mapped.clear(page);
        if p.mapped.count() > 0 {
            freed(Unmapped::ThpPart { node: p.node });
            return true;
        }
        let PartlyMappedThp { node, frame, .. } = self.partly_mapped.remove(i);
        freed(Unmapped::LastThpPart { node, frame });
        true
    }
    /// Splits the partly mapped huge page of a chunk and frees its unmapped part. Returns the number of freed pages;
    /// `None` if the chunk has no such page.
    pub fn split_deferred_thp(&mut self, chunk: usize, memory: &mut PhysicalMemory) -> Option<u64> {
        let i = self.partly_mapped.iter().position(|p| p.chunk == chunk)?;
        let p = self.partly_mapped.remove(i);
        memory.split_frame(p.node, p.frame);
        memory.deferred_split_pages[p.node] -= p.unmapped_pages();
        memory.events.thp_split_page += 1;
        for page in 0..CHUNK_PAGES as usize {
            if p.mapped.get(page) {
                self.frame_map.set(chunk, page, p.frame);
            } else {
                memory.free_page(p.node, p.frame, PageClass::Anon);
            }
        }
        Some(p.unmapped_pages())
    }
    /// Splits all partly mapped huge pages on `node`, or on all nodes with `None` (the deferred split queue under
    /// memory pressure). Returns the freed pages and the split huge pages.
    pub fn split_deferred_thps(&mut self, node: Option<usize>, memory: &mut PhysicalMemory) -> (u64, u64) {
        let (mut freed, mut split) = (0, 0);
        while let Some(p) = self.partly_mapped.iter().find(|p| node.is_none_or(|n| n == p.node)) {
            freed += self.split_deferred_thp(p.chunk, memory).unwrap_or(0);
            split += 1;
        }
        (freed, split)
    }
    /// Adds the unmapped pages of partly mapped huge pages, on each node, to `out`.
    pub(in crate::mm) fn add_deferred_split_pages(&self, out: &mut [u64]) {
        self.partly_mapped.iter().for_each(|p| out[p.node] += p.unmapped_pages());
    }
    /// Adds the partly mapped huge pages on the active list, on each node, to `out`, in base pages.
    pub(in crate::mm) fn add_active_partly_mapped(&self, out: &mut [u64]) {
        self.partly_mapped.iter().filter(|p| p.frame.has(Frame::ACTIVE)).for_each(|p| out[p.node] += CHUNK_PAGES);
    }
}
