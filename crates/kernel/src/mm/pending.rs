//! Which pages of a mapping an access would fault on.

use super::block::Bits512;
use super::vma::{ChunkKind, Vma};
use super::{CHUNK_PAGES, PAGE_BYTES};

impl Vma {
    /// Pages that an access to the whole mapping would fault on: absent (for reads, unless they show zeros) or marked.
    pub fn pending_pages(&self, write: bool) -> u64 {
        let zeros = if write { 0 } else { self.zero_pages() };
        (self.end - self.start) / PAGE_BYTES - self.rss_pages() + self.marked_pages - zeros
    }
    /// First page index in `from..to` of the chunk whose access faults.
    #[inline]
    pub fn next_fault(&self, chunk: usize, from: usize, to: usize, write: bool) -> Option<usize> {
        if !write && self.zero_pages() > 0 {
            return self.next_read_fault(chunk, from, to);
        }
        self.next_fault_mapped(chunk, from, to, write)
    }
    /// The same where no entry shows zeros.
    #[inline]
    pub(super) fn next_fault_mapped(&self, chunk: usize, from: usize, to: usize, write: bool) -> Option<usize> {
        let c = &self.chunks[chunk];
        match c.kind {
            ChunkKind::Empty => Some(from),
            ChunkKind::Huge => (c.huge_marked || write && c.read_only > 0).then_some(from),
            ChunkKind::Small => {
                if c.present == CHUNK_PAGES as u16 && c.marked == 0 && (!write || c.read_only == 0) {
                    return None;
                }
                self.blocks[c.index as usize].next_fault(from, to, write)
            }
        }
    }
    /// Whether nothing is mapped at the page.
    #[inline]
    pub fn is_absent(&self, chunk: usize, page: usize) -> bool {
        let c = &self.chunks[chunk];
        match c.kind {
            ChunkKind::Empty => true,
            ChunkKind::Huge => false,
            ChunkKind::Small => !self.blocks[c.index as usize].present.get(page),
        }
    }
    /// Whether any access to the page faults (a read, or a store): it is absent, marked or being migrated.
    #[inline]
    pub fn is_pending(&self, chunk: usize, page: usize, write: bool) -> bool {
        let c = &self.chunks[chunk];
        if !write && self.shows_zeros(chunk, page) {
            return false;
        }
        match c.kind {
            ChunkKind::Empty => true,
            ChunkKind::Huge => c.huge_marked,
            ChunkKind::Small => {
                let b = &self.blocks[c.index as usize];
                !b.present.get(page) || b.marked.get(page)
            }
        }
    }
    /// The `rank`-th pending page (absent or marked) of `from..to`, as (chunk, page), with ranks counted
    /// in address order; `None` if there are not so many. Linear in the number of chunks.
    pub fn select_pending(&self, from: u64, to: u64, mut rank: u64, write: bool) -> Option<(usize, usize)> {
        for (chunk, lo, hi) in self.pieces(from, to) {
            let n = self.pending_in_chunk(chunk, lo, hi, write);
            if rank < n {
                return Some((chunk, self.pending_bits(chunk, lo, hi, write).select(rank as u32)?));
            }
            rank -= n;
        }
        None
    }
    /// Pending pages in `from..to`. O(1) per chunk.
    pub fn pending_in(&self, from: u64, to: u64, write: bool) -> u64 {
        if from <= self.start && to >= self.end {
            return self.pending_pages(write);
        }
        self.pieces(from, to).map(|(chunk, lo, hi)| self.pending_in_chunk(chunk, lo, hi, write)).sum()
    }
    fn pending_in_chunk(&self, chunk: usize, lo: usize, hi: usize, write: bool) -> u64 {
        let c = &self.chunks[chunk];
        if !write && self.zero_pages() > 0 {
            return u64::from(self.pending_bits(chunk, lo, hi, write).count());
        }
        match c.kind {
            ChunkKind::Empty => (hi - lo) as u64,
            ChunkKind::Huge => u64::from(c.huge_marked) * (hi - lo) as u64,
            ChunkKind::Small if lo == 0 && hi == 512 => CHUNK_PAGES - u64::from(c.present) + u64::from(c.marked),
            ChunkKind::Small => u64::from(self.pending_bits(chunk, lo, hi, write).count()),
        }
    }
    fn pending_bits(&self, chunk: usize, lo: usize, hi: usize, write: bool) -> Bits512 {
        let mut range = Bits512::range(lo, hi);
        if !write && self.zero_pages() > 0 {
            range = range.zip(&self.zeros.bits(chunk), |r, z| r & !z);
        }
        let c = &self.chunks[chunk];
        match c.kind {
            ChunkKind::Empty => range,
            ChunkKind::Huge => {
                if c.huge_marked {
                    range
                } else {
                    Bits512::default()
                }
            }
            ChunkKind::Small => {
                let b = &self.blocks[c.index as usize];
                b.present.zip(&b.marked, |p, m| !p | m).zip(&range, |a, r| a & r)
            }
        }
    }
}
