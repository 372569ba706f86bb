//! Which pages of a mapping an access would fault on.

use super::chunk::ChunkKind;
use super::mapping::Vma;
use crate::mm::block::Bits512;
use crate::mm::object::SharedMemory;
use crate::mm::read_ahead::prefetch;
use crate::mm::units::CHUNK_PAGES;

/// Which pages are meant: those on which an access of a kind faults, or some of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PendingKind {
    /// A read faults.
    Read,
    /// A store faults.
    Store,
    /// The page is absent. Of a mapping whose entries may map the zero page, this is not told apart.
    Absent,
    /// The page is marked.
    Marked,
    /// Only a store faults: the page is mapped, unmarked and write-protected.
    ReadOnly,
}

impl PendingKind {
    /// The pages on which an access faults that may be a store, or never is.
    pub fn of(write: bool) -> Self {
        if write {
            Self::Store
        } else {
            Self::Read
        }
    }
}

/// Number of pages on which an access faults, by kind of access.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PendingPages {
    /// Every access faults: the page is absent (and not the zero page) or marked.
    pub any: u64,
    /// Those of them that are marked.
    pub marked: u64,
    /// A store faults: the entry maps the zero page.
    pub zeros: u64,
    /// A store faults: the page is mapped, unmarked and write-protected.
    pub read_only: u64,
}

impl PendingPages {
    /// Number of pages of a kind.
    #[inline]
    pub fn count(&self, kind: PendingKind) -> u64 {
        match kind {
            PendingKind::Read => self.any,
            PendingKind::Store => self.any + self.zeros + self.read_only,
            PendingKind::Absent => self.any - self.marked,
            PendingKind::Marked => self.marked,
            PendingKind::ReadOnly => self.read_only,
        }
    }
    /// Number of pages on which a read, or a store, faults.
    #[inline]
    pub fn faulting(&self, write: bool) -> u64 {
        self.count(PendingKind::of(write))
    }
    /// Subtracts each kind of `other`; the result is at least 0.
    pub fn saturating_sub(&self, other: &Self) -> Self {
        Self {
            any: self.any.saturating_sub(other.any),
            marked: self.marked.saturating_sub(other.marked),
            zeros: self.zeros.saturating_sub(other.zeros),
            read_only: self.read_only.saturating_sub(other.read_only),
        }
    }
}

/// Whether these are all pages of a chunk.
#[inline]
fn is_whole(lo: usize, hi: usize) -> bool {
    lo == 0 && hi == CHUNK_PAGES as usize
}

impl Vma {
    /// First page index in `from..to` of the chunk whose access faults.
    #[inline]
    pub fn next_fault(&self, chunk: usize, from: usize, to: usize, write: bool) -> Option<usize> {
        if !write && self.zero_entries() > 0 {
            return self.next_read_fault(chunk, from, to);
        }
        self.next_fault_mapped(chunk, from, to, write)
    }
    /// First page at or after `from` whose read faults, in a chunk whose entries may map the zero page.
    #[cold]
    fn next_read_fault(&self, chunk: usize, mut from: usize, to: usize) -> Option<usize> {
        while from < to {
            let page = self.next_fault_mapped(chunk, from, to, false)?;
            if !self.zeros.get(chunk, page) {
                return Some(page);
            }
            from = page + 1;
        }
        None
    }
    /// As [`Self::next_fault`], for entries that do not map the zero page.
    #[inline]
    pub(in crate::mm) fn next_fault_mapped(&self, chunk: usize, from: usize, to: usize, write: bool) -> Option<usize> {
        let c = &self.chunks[chunk];
        match c.kind {
            ChunkKind::Empty => Some(from),
            ChunkKind::Huge => (c.pmd_marked || write && c.read_only > 0).then_some(from),
            ChunkKind::Small => {
                if c.present == CHUNK_PAGES as u16 && c.marked == 0 && (!write || c.read_only == 0) {
                    return None;
                }
                self.blocks[c.index as usize].next_fault(from, to, write)
            }
        }
    }

    /// Whether the entry of the page is marked.
    #[inline]
    pub fn is_marked(&self, chunk: usize, page: usize) -> bool {
        let c = &self.chunks[chunk];
        match c.kind {
            ChunkKind::Empty => false,
            ChunkKind::Huge => c.pmd_marked,
            ChunkKind::Small => c.marked > 0 && self.blocks[c.index as usize].marked.get(page),
        }
    }
    /// Whether a read, or a store, faults on the page. It does if the page is absent, marked or being migrated, and a
    /// store also if it is read-only.
    #[inline]
    pub fn is_pending(&self, chunk: usize, page: usize, write: bool) -> bool {
        let c = &self.chunks[chunk];
        if !write && self.maps_zero_page(chunk, page) {
            return false;
        }
        match c.kind {
            ChunkKind::Empty => true,
            ChunkKind::Huge => c.pmd_marked || write && c.read_only > 0,
            ChunkKind::Small => {
                let b = &self.blocks[c.index as usize];
                !b.present.get(page) || b.marked.get(page) || write && b.read_only.get(page)
            }
        }
    }
    /// Whether the page is of a kind.
    #[inline]
    pub fn is_of_kind(&self, chunk: usize, page: usize, kind: PendingKind) -> bool {
        match kind {
            PendingKind::Read => self.is_pending(chunk, page, false),
            PendingKind::Store => self.is_pending(chunk, page, true),
            PendingKind::Marked => self.is_marked(chunk, page),
            PendingKind::Absent => self.is_pending(chunk, page, false) && !self.is_marked(chunk, page),
            PendingKind::ReadOnly => self.is_pending(chunk, page, true) && !self.is_pending(chunk, page, false),
        }
    }
    /// The pending page number `rank`, counted from 0, of those in `from..to` that lie in `chunk`, as a page of the
    /// chunk; `None` if there are fewer. O(1) for a chunk whose pages are all alike, or all inside.
    #[inline]
    pub fn nth_pending(&self, chunk: usize, (from, to): (u64, u64), rank: u64, kind: PendingKind) -> Option<usize> {
        let (lo, hi) = self.pages_inside(chunk, from, to);
        if rank >= self.pending_inside(chunk, (from, to), kind) {
            return None;
        }
        self.pending_bits(chunk, lo, hi, kind).select(rank as u32)
    }
    /// Pages of a kind of `chunk` in `from..to`. Takes O(1) as [`Self::nth_pending`] does.
    #[inline]
    pub fn pending_inside(&self, chunk: usize, (from, to): (u64, u64), kind: PendingKind) -> u64 {
        let (lo, hi) = self.pages_inside(chunk, from, to);
        // Draws ask for nothing more, and many times.
        let c = &self.chunks[chunk];
        if c.kind == ChunkKind::Small && is_whole(lo, hi) && self.zero_entries() == 0 {
            match kind {
                PendingKind::Marked => return u64::from(c.marked),
                PendingKind::Absent => return CHUNK_PAGES - u64::from(c.present),
                PendingKind::Read => return CHUNK_PAGES - u64::from(c.present) + u64::from(c.marked),
                // A page may be both marked and write-protected.
                _ if c.read_only > 0 && c.marked > 0 => {}
                PendingKind::Store => return CHUNK_PAGES - u64::from(c.present) + u64::from(c.marked + c.read_only),
                PendingKind::ReadOnly => return u64::from(c.read_only),
            }
        }
        self.pending_in_chunk(chunk, lo, hi).count(kind)
    }
    /// Reads ahead what [`Self::pending_inside`] and [`Self::read_chunk_ahead`] need to know of a chunk.
    #[inline]
    pub fn read_entry_ahead(&self, chunk: usize, store: &SharedMemory) {
        prefetch(&self.chunks[chunk]);
        if let Some(&object) = self.objects.first() {
            store.object(object).read_ahead(chunk);
        }
    }
    /// Reads ahead what [`Self::nth_pending`] and a fault need to know of a chunk.
    #[inline]
    pub fn read_chunk_ahead(&self, chunk: usize, store: &SharedMemory) {
        let c = &self.chunks[chunk];
        if c.kind == ChunkKind::Small {
            prefetch(&self.counts[c.index as usize * self.nodes]);
            let b = &self.blocks[c.index as usize];
            [&b.present, &b.marked, &b.shared, &b.read_only].into_iter().for_each(prefetch);
        }
        let block = self.objects.first().and_then(|&o| store.object(o).block(chunk));
        if let Some(b) = block {
            [&b.resident, &b.locked].into_iter().for_each(prefetch);
        }
    }
    /// Reads ahead what a fault on a page of the first object needs to know of the page.
    #[inline]
    pub fn read_page_ahead(&self, chunk: usize, page: usize, store: &SharedMemory) {
        let block = self.objects.first().and_then(|&o| store.object(o).block(chunk));
        if let Some(b) = block {
            prefetch(&b.mapcount[page]);
            b.node.read_ahead(page);
        }
    }
    /// Pages of a chunk that `from..to` reaches into: the first, and that behind the last.
    #[inline]
    pub fn pages_inside(&self, chunk: usize, from: u64, to: u64) -> (usize, usize) {
        let base = self.chunk_base(chunk);
        let lo = self.grain.count(from.saturating_sub(base));
        let hi = self.grain.count_up(to.saturating_sub(base)).min(CHUNK_PAGES);
        (lo as usize, hi as usize)
    }
    /// The chunks of `from..to` that have pages of a kind, each with their number.
    pub fn pending_chunks(&self, from: u64, to: u64, kind: PendingKind) -> impl Iterator<Item = (u32, u64)> + '_ {
        let ranges = self.chunk_ranges(from, to);
        let counts = ranges.map(move |(c, lo, hi)| (c as u32, self.pending_in_chunk(c, lo, hi).count(kind)));
        counts.filter(|(_, pages)| *pages > 0)
    }
    /// Pending pages in `from..to`. Takes O(1) for a whole mapping that never had a write-protected entry, else O(1)
    /// per chunk.
    pub fn pending_in(&self, from: u64, to: u64) -> PendingPages {
        let mut out = PendingPages::default();
        if from <= self.start && to >= self.end {
            out.zeros = self.zero_entries();
            out.any = self.grain.count(self.end - self.start) - self.present_entries() + self.marked_pages - out.zeros;
            out.marked = self.marked_pages;
            if self.write_protected {
                let all = CHUNK_PAGES as usize;
                out.read_only = (0..self.chunks.len()).map(|c| self.read_only_in_chunk(c, 0, all)).sum();
            }
            return out;
        }
        for (chunk, lo, hi) in self.chunk_ranges(from, to) {
            let n = self.pending_in_chunk(chunk, lo, hi);
            out.any += n.any;
            out.marked += n.marked;
            out.zeros += n.zeros;
            out.read_only += n.read_only;
        }
        out
    }

    /// Pending pages of a chunk, including pages beyond the ends of the mapping.
    #[inline]
    pub fn pending_of_chunk(&self, chunk: usize) -> PendingPages {
        self.pending_in_chunk(chunk, 0, CHUNK_PAGES as usize)
    }
    #[inline]
    fn pending_in_chunk(&self, chunk: usize, lo: usize, hi: usize) -> PendingPages {
        let c = &self.chunks[chunk];
        let (unmapped, marked) = match c.kind {
            ChunkKind::Empty => ((hi - lo) as u64, 0),
            ChunkKind::Huge => (0, u64::from(c.pmd_marked) * (hi - lo) as u64),
            ChunkKind::Small if is_whole(lo, hi) => (CHUNK_PAGES - u64::from(c.present), u64::from(c.marked)),
            ChunkKind::Small => {
                let (b, inside) = (&self.blocks[c.index as usize], Bits512::range(lo, hi));
                let absent = b.present.zip(&inside, |p, r| !p & r);
                let marked = b.marked.zip(&inside, |m, r| m & r);
                (u64::from(absent.count()), u64::from(marked.count()))
            }
        };
        let zeros = if self.zero_entries() > 0 {
            u64::from(self.zeros.bits(chunk).zip(&Bits512::range(lo, hi), |z, r| z & r).count())
        } else {
            0
        };
        let any = unmapped + marked - zeros;
        PendingPages { any, marked, zeros, read_only: self.read_only_in_chunk(chunk, lo, hi) }
    }
    /// Mapped, unmarked, write-protected pages of a chunk.
    #[inline]
    fn read_only_in_chunk(&self, chunk: usize, lo: usize, hi: usize) -> u64 {
        let c = &self.chunks[chunk];
        match c.kind {
            _ if c.read_only == 0 => 0,
            ChunkKind::Empty => 0,
            ChunkKind::Huge => u64::from(!c.pmd_marked) * (hi - lo) as u64,
            ChunkKind::Small if c.marked == 0 && is_whole(lo, hi) => u64::from(c.read_only),
            ChunkKind::Small => self.read_only_in_block(c.index, lo, hi),
        }
    }
    fn read_only_in_block(&self, block: u32, lo: usize, hi: usize) -> u64 {
        let b = &self.blocks[block as usize];
        let unmarked = b.read_only.zip(&b.marked, |r, m| r & !m);
        let inside = if is_whole(lo, hi) { unmarked } else { unmarked.zip(&Bits512::range(lo, hi), |u, r| u & r) };
        u64::from(inside.count())
    }
    fn pending_bits(&self, chunk: usize, lo: usize, hi: usize, kind: PendingKind) -> Bits512 {
        let mut range = if is_whole(lo, hi) { Bits512([u64::MAX; 8]) } else { Bits512::range(lo, hi) };
        if kind != PendingKind::Store && self.zero_entries() > 0 {
            range = range.zip(&self.zeros.bits(chunk), |r, z| r & !z);
        }
        let c = &self.chunks[chunk];
        match c.kind {
            ChunkKind::Empty if matches!(kind, PendingKind::Marked | PendingKind::ReadOnly) => Bits512::default(),
            ChunkKind::Empty => range,
            ChunkKind::Huge => match kind {
                PendingKind::Absent => Bits512::default(),
                PendingKind::ReadOnly if c.pmd_marked || c.read_only == 0 => Bits512::default(),
                PendingKind::ReadOnly => range,
                _ if c.pmd_marked || kind == PendingKind::Store && c.read_only > 0 => range,
                _ => Bits512::default(),
            },
            ChunkKind::Small => {
                let b = &self.blocks[c.index as usize];
                let open = match kind {
                    PendingKind::Absent => b.present.zip(&range, |p, _| !p),
                    PendingKind::Marked => b.marked,
                    PendingKind::ReadOnly => b.read_only.zip(&b.marked, |r, m| r & !m),
                    PendingKind::Read => b.present.zip(&b.marked, |p, m| !p | m),
                    PendingKind::Store => b.present.zip(&b.marked, |p, m| !p | m).zip(&b.read_only, |o, r| o | r),
                };
                open.zip(&range, |o, r| o & r)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mm::object::Mapper;
    use crate::mm::pageblock::frame::Frame;
    use crate::mm::units::{CHUNK_BYTES, PAGE_BYTES};
    use crate::mm::vma::kind::VmaKind;

    /// The pages of a kind, selected one by one and chunk by chunk.
    fn picked(v: &Vma, (from, to): (u64, u64), kind: PendingKind) -> Vec<(usize, usize)> {
        let by_chunk: Vec<_> = v.pending_chunks(from, to, kind).collect();
        let nth = |c: u32, rank| v.nth_pending(c as usize, (from, to), rank, kind);
        let in_chunks = by_chunk.iter().flat_map(|&(c, n)| (0..n).map(move |rank| (c as usize, nth(c, rank).unwrap())));
        let selected: Vec<_> = in_chunks.collect();
        assert_eq!(selected.len() as u64, v.pending_in(from, to).count(kind));
        assert!(selected.windows(2).all(|w| w[0] < w[1]));
        assert!(by_chunk.iter().all(|&(c, n)| nth(c, n).is_none()));
        selected
    }

    /// Counts, selects and tests the pending pages one by one, and compares the results.
    fn faulting(v: &Vma, from: u64, to: u64, write: bool) -> u64 {
        let kind = PendingKind::of(write);
        let n = v.pending_in(from, to).count(kind);
        let selected = picked(v, (from, to), kind);
        assert!(selected
            .iter()
            .all(|&(c, p)| v.is_pending(c, p, write) && v.next_fault(c, p, p + 1, write) == Some(p)));
        let absent_or_marked = [PendingKind::Absent, PendingKind::Marked].map(|k| picked(v, (from, to), k));
        assert!(absent_or_marked[1].iter().all(|&(c, p)| v.is_marked(c, p)));
        assert!(absent_or_marked[0].iter().all(|&(c, p)| !v.is_marked(c, p)));
        let mut all = absent_or_marked.concat();
        all.sort_unstable();
        if v.zero_entries() == 0 {
            assert_eq!(all, picked(v, (from, to), PendingKind::Read));
            all.extend(picked(v, (from, to), PendingKind::ReadOnly));
            all.sort_unstable();
            assert_eq!(all, picked(v, (from, to), PendingKind::Store));
        }
        assert_eq!(v.check_pending(), Ok(()));
        n
    }

    #[test]
    fn counts_and_bitmaps_that_differ_are_found() {
        let mut v = Vma::new(0, 2 * CHUNK_BYTES, VmaKind::PrivateAnon, true, 1);
        (0..8).for_each(|p| v.populate(0, p, 0, Frame::UNKNOWN));
        assert_eq!((v.check(), v.check_pending()), (Ok(()), Ok(())));
        v.marked_pages += 1;
        let differ = "reads fault on 1017 pages of the mapping, and on 1016 of its chunks";
        assert_eq!(v.check_pending().unwrap_err(), differ);
        assert_eq!(v.check().unwrap_err(), "totals of the mapping and of its chunks differ");
        v.marked_pages -= 1;
        v.small_block(0).1.marked = Bits512::range(3, 4);
        assert_eq!(v.check().unwrap_err(), "chunk 0: bitmap and count differ");
        v.small_block(0).1.marked = Bits512::range(9, 10);
        assert_eq!(v.check().unwrap_err(), "chunk 0: a marked page is absent");
        v.small_block(0).1.marked = Bits512::default();
        v.counts[0] -= 1;
        assert_eq!(v.check().unwrap_err(), "chunk 0: 7 pages on nodes, 8 present");
    }

    #[test]
    fn stores_fault_on_read_only_pages_and_count_marked_ones_once() {
        let end = 2 * CHUNK_BYTES;
        let mut v = Vma::new(0, end, VmaKind::PrivateAnon, true, 1);
        (0..512).for_each(|p| v.populate(0, p, 0, Frame::UNKNOWN));
        v.populate_huge(1, 0, Frame::UNKNOWN);
        assert_eq!((faulting(&v, 0, end, false), faulting(&v, 0, end, true)), (0, 0));
        (10..14).for_each(|p| v.set_read_only(0, p));
        assert_eq!((faulting(&v, 0, end, false), faulting(&v, 0, end, true)), (0, 4));
        let (c, b) = v.small_block(0);
        b.marked = Bits512::range(0, 12);
        c.marked = 12;
        v.marked_pages = 12;
        assert_eq!((faulting(&v, 0, end, false), faulting(&v, 0, end, true)), (12, 14));
        // The range contains page 11, marked, and pages 12 and 13, read-only.
        let (from, to) = (11 * PAGE_BYTES, 20 * PAGE_BYTES);
        assert_eq!((faulting(&v, from, to, false), faulting(&v, from, to, true)), (1, 3));
        v.reuse_for_write(0, 12);
        assert_eq!((faulting(&v, from, to, false), faulting(&v, from, to, true)), (1, 2));
    }

    #[test]
    fn after_a_fork_all_pages_are_read_only_on_both_sides() {
        let mut store = SharedMemory::default();
        let mut v = Vma::new(0, 2 * CHUNK_BYTES, VmaKind::PrivateAnon, true, 1);
        (0..8).for_each(|p| v.populate(0, p, 0, Frame::UNKNOWN));
        v.populate_huge(1, 0, Frame::UNKNOWN);
        let (me, child) = (Mapper { process: 0, vma: 0 }, Mapper { process: 1, vma: 0 });
        let (c, _) = v.fork(&mut store, me, child);
        for v in [&v, &c] {
            let (from, to) = (0, 8 * PAGE_BYTES);
            assert_eq!((faulting(v, from, to, false), faulting(v, from, to, true)), (0, 8));
            let (from, to) = (CHUNK_BYTES, 2 * CHUNK_BYTES);
            assert_eq!((faulting(v, from, to, false), faulting(v, from, to, true)), (0, 512));
        }
    }
}
