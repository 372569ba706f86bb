//! A mapping and its chunks.

mod thp;

use super::block::{Bits512, Block, NEVER};
use super::{CHUNK_BYTES, CHUNK_PAGES, PAGE_BYTES};
use crate::numa::topology::NodeMask;

/// State of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChunkKind {
    /// No page, no block.
    Empty,
    /// One huge page.
    Huge,
    /// Base pages in a block.
    Small,
}

/// 2 MiB of virtual space of a mapping.
#[derive(Clone, Copy, Debug)]
pub struct Chunk {
    /// What it holds.
    pub kind: ChunkKind,
    /// Huge: its node.
    pub node: u8,
    /// Huge: PROT_NONE.
    pub huge_marked: bool,
    /// Present base pages (512 for huge).
    pub present: u16,
    /// Marked base pages (small only).
    pub marked: u16,
    /// Read-only base pages (small only).
    pub read_only: u16,
    /// Small: index of its block; huge: its `last_cpupid`.
    pub index: u32,
}

const EMPTY: Chunk =
    Chunk { kind: ChunkKind::Empty, node: 0, huge_marked: false, present: 0, marked: 0, read_only: 0, index: NEVER };

/// What backs a mapping and how it is shared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VmaKind {
    /// Private anonymous, every page mapped once.
    PrivateAnon,
    /// A thread stack (private anonymous).
    Stack,
}

/// Result of marking a range.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MarkOutcome {
    /// Base pages newly PROT_NONE (512 per huge page).
    pub updates: u64,
    /// Huge entries among them.
    pub huge: u64,
    /// Entries looked at and left alone.
    pub skipped: u64,
}

/// A mapping of one address space.
#[derive(Clone, Debug)]
pub struct Vma {
    /// First byte.
    pub start: u64,
    /// One past the last byte.
    pub end: u64,
    /// Backing.
    pub kind: VmaKind,
    /// Huge pages allowed in this mapping.
    pub huge_ok: bool,
    chunks: Vec<Chunk>,
    /// Present pages per chunk and node: `counts[chunk * nodes + node]`.
    counts: Vec<u16>,
    blocks: Vec<Block>,
    free_blocks: Vec<u32>,
    nodes: usize,
    /// Present base pages on each node.
    pages_on_node: Vec<u64>,
    /// Pages whose next access faults because they are marked.
    marked_pages: u64,
}

impl Vma {
    /// An unpopulated mapping of `start..end` (page aligned) on a machine with `nodes` nodes.
    pub fn new(start: u64, end: u64, kind: VmaKind, huge_ok: bool, nodes: usize) -> Self {
        let first = start / CHUNK_BYTES;
        let n = (end.div_ceil(CHUNK_BYTES) - first) as usize;
        Self {
            start,
            end,
            kind,
            huge_ok,
            chunks: vec![EMPTY; n],
            counts: vec![0; n * nodes],
            blocks: Vec::new(),
            free_blocks: Vec::new(),
            nodes,
            pages_on_node: vec![0; nodes],
            marked_pages: 0,
        }
    }
    /// Index of the chunk that holds `addr`.
    #[inline]
    pub fn chunk_of(&self, addr: u64) -> usize {
        (addr / CHUNK_BYTES - self.start / CHUNK_BYTES) as usize
    }
    /// First address of a chunk (may lie before `start`).
    #[inline]
    pub fn chunk_base(&self, chunk: usize) -> u64 {
        (self.start / CHUNK_BYTES + chunk as u64) * CHUNK_BYTES
    }
    /// A chunk.
    #[inline]
    pub fn chunk(&self, chunk: usize) -> &Chunk {
        &self.chunks[chunk]
    }
    /// Number of chunks.
    pub fn chunk_count(&self) -> usize {
        self.chunks.len()
    }
    /// Present pages of a chunk on each node.
    #[inline]
    pub fn node_counts(&self, chunk: usize) -> &[u16] {
        &self.counts[chunk * self.nodes..(chunk + 1) * self.nodes]
    }
    /// Present pages on each node.
    pub fn pages_on_node(&self) -> &[u64] {
        &self.pages_on_node
    }
    /// Resident pages.
    pub fn rss_pages(&self) -> u64 {
        self.pages_on_node.iter().sum()
    }
    /// Bytes that the state of this mapping takes in the simulator.
    pub fn state_bytes(&self) -> usize {
        self.chunks.capacity() * std::mem::size_of::<Chunk>()
            + self.counts.capacity() * std::mem::size_of::<u16>()
            + self.blocks.capacity() * std::mem::size_of::<Block>()
    }
    /// Marked pages.
    pub fn marked_pages(&self) -> u64 {
        self.marked_pages
    }
    /// Pages that an access to the whole mapping would fault on (absent or marked).
    pub fn pending_pages(&self) -> u64 {
        (self.end - self.start) / PAGE_BYTES - self.rss_pages() + self.marked_pages
    }
    /// Whether a huge page can be placed in this chunk: the whole 2 MiB lie inside the mapping.
    pub fn chunk_is_whole(&self, chunk: usize) -> bool {
        let base = self.chunk_base(chunk);
        base >= self.start && base + CHUNK_BYTES <= self.end
    }
    /// First page index in `from..to` of the chunk whose access faults.
    #[inline]
    pub fn next_fault(&self, chunk: usize, from: usize, to: usize, write: bool) -> Option<usize> {
        let c = &self.chunks[chunk];
        match c.kind {
            ChunkKind::Empty => Some(from),
            ChunkKind::Huge => c.huge_marked.then_some(from),
            ChunkKind::Small => {
                if c.present == CHUNK_PAGES as u16 && c.marked == 0 && (!write || c.read_only == 0) {
                    return None;
                }
                self.blocks[c.index as usize].next_fault(from, to, write)
            }
        }
    }
    /// What an access to this page would meet.
    #[inline]
    pub fn page(&self, chunk: usize, page: usize) -> PageState {
        let c = &self.chunks[chunk];
        match c.kind {
            ChunkKind::Empty => PageState::Absent,
            ChunkKind::Huge if c.huge_marked => PageState::Marked { node: c.node, last: c.index, pages: 512 },
            ChunkKind::Huge => PageState::Ready { node: c.node },
            ChunkKind::Small => {
                let b = &self.blocks[c.index as usize];
                let node = b.node[page];
                if !b.present.get(page) {
                    PageState::Absent
                } else if b.marked.get(page) {
                    PageState::Marked { node, last: b.last[page], pages: 1 }
                } else if b.read_only.get(page) {
                    PageState::ReadOnly { node }
                } else {
                    PageState::Ready { node }
                }
            }
        }
    }
    /// Populates one base page on `node`.
    pub fn populate(&mut self, chunk: usize, page: usize, node: usize) {
        if self.chunks[chunk].kind == ChunkKind::Empty {
            let index = match self.free_blocks.pop() {
                Some(i) => i,
                None => {
                    self.blocks.push(Block::empty());
                    (self.blocks.len() - 1) as u32
                }
            };
            self.chunks[chunk] = Chunk { kind: ChunkKind::Small, index, ..EMPTY };
        }
        let c = &mut self.chunks[chunk];
        let b = &mut self.blocks[c.index as usize];
        debug_assert!(!b.present.get(page));
        b.present.set(page);
        b.node[page] = node as u8;
        b.last[page] = NEVER;
        c.present += 1;
        self.counts[chunk * self.nodes + node] += 1;
        self.pages_on_node[node] += 1;
    }
    /// Populates an empty chunk with a huge page on `node`.
    pub fn populate_huge(&mut self, chunk: usize, node: usize) {
        debug_assert_eq!(self.chunks[chunk].kind, ChunkKind::Empty);
        self.chunks[chunk] =
            Chunk { kind: ChunkKind::Huge, node: node as u8, present: CHUNK_PAGES as u16, index: NEVER, ..EMPTY };
        self.counts[chunk * self.nodes + node] += CHUNK_PAGES as u16;
        self.pages_on_node[node] += CHUNK_PAGES;
    }
    /// Removes the mark of a page (of the whole entry if huge), keeping it where it is.
    #[inline]
    pub fn unmark(&mut self, chunk: usize, page: usize) {
        let c = &mut self.chunks[chunk];
        if c.kind == ChunkKind::Huge {
            if c.huge_marked {
                c.huge_marked = false;
                self.marked_pages -= CHUNK_PAGES;
            }
            return;
        }
        let b = &mut self.blocks[c.index as usize];
        if b.marked.get(page) {
            b.marked.clear(page);
            c.marked -= 1;
            self.marked_pages -= 1;
        }
    }
    /// Moves a page (or the huge page) to `node` with this `last_cpupid`.
    #[inline]
    pub fn move_page(&mut self, chunk: usize, page: usize, node: usize, last: u32) {
        let c = &mut self.chunks[chunk];
        let (old, pages) = match c.kind {
            ChunkKind::Huge => {
                let old = c.node as usize;
                c.node = node as u8;
                c.index = last;
                (old, CHUNK_PAGES)
            }
            _ => {
                let b = &mut self.blocks[c.index as usize];
                let old = b.node[page] as usize;
                b.node[page] = node as u8;
                b.last[page] = last;
                (old, 1)
            }
        };
        self.counts[chunk * self.nodes + old] -= pages as u16;
        self.counts[chunk * self.nodes + node] += pages as u16;
        self.pages_on_node[old] -= pages;
        self.pages_on_node[node] += pages;
    }
    /// Sets `last_cpupid` of a page.
    #[inline]
    pub fn set_last(&mut self, chunk: usize, page: usize, last: u32) {
        let c = &mut self.chunks[chunk];
        match c.kind {
            ChunkKind::Huge => c.index = last,
            _ => self.blocks[c.index as usize].last[page] = last,
        }
    }
    /// Takes write permission away from a base page (`migration_drops_write`).
    #[inline]
    pub fn set_read_only(&mut self, chunk: usize, page: usize) {
        let c = &mut self.chunks[chunk];
        if c.kind == ChunkKind::Small {
            let b = &mut self.blocks[c.index as usize];
            if !b.read_only.get(page) {
                b.read_only.set(page);
                c.read_only += 1;
            }
        }
    }
    /// Gives it back (`wp_page_reuse`) and unsets `last_cpupid`.
    #[inline]
    pub fn reuse_for_write(&mut self, chunk: usize, page: usize) {
        let c = &mut self.chunks[chunk];
        let b = &mut self.blocks[c.index as usize];
        if b.read_only.get(page) {
            b.read_only.clear(page);
            c.read_only -= 1;
            b.last[page] = NEVER;
        }
    }
    /// `change_prot_numa` on `from..to` for pages that no page filter can skip (private anonymous,
    /// mapped once): marks every present, unmarked page, except base pages on the nodes of `pte_skip`
    /// and huge pages on those of `huge_skip` (kernel-numa-balancing.md section 7, checks 6 and 7).
    /// Huge entries wholly inside the range are marked as units.
    pub fn mark_range(&mut self, from: u64, to: u64, pte_skip: NodeMask, huge_skip: NodeMask) -> MarkOutcome {
        let mut out = MarkOutcome::default();
        let mut addr = from;
        while addr < to {
            let chunk = self.chunk_of(addr);
            let base = self.chunk_base(chunk);
            let stop = to.min(base + CHUNK_BYTES);
            let lo = ((addr - base) / PAGE_BYTES) as usize;
            let hi = ((stop - base).div_ceil(PAGE_BYTES)) as usize;
            self.mark_chunk(chunk, lo..hi, pte_skip, huge_skip, &mut out);
            addr = stop;
        }
        out
    }
    fn mark_chunk(
        &mut self,
        chunk: usize,
        pages: std::ops::Range<usize>,
        pte_skip: NodeMask,
        huge_skip: NodeMask,
        out: &mut MarkOutcome,
    ) {
        let (lo, hi) = (pages.start, pages.end);
        let c = &mut self.chunks[chunk];
        match c.kind {
            ChunkKind::Empty => {}
            ChunkKind::Huge => {
                if lo == 0 && hi == 512 && !c.huge_marked && !huge_skip.contains(c.node as usize) {
                    c.huge_marked = true;
                    self.marked_pages += CHUNK_PAGES;
                    out.updates += CHUNK_PAGES;
                    out.huge += 1;
                } else {
                    out.skipped += 1;
                }
            }
            ChunkKind::Small => {
                let b = &mut self.blocks[c.index as usize];
                let mut fresh = Bits512::range(lo, hi).zip(&b.present, |a, p| a & p).zip(&b.marked, |a, m| a & !m);
                let spared = |n: usize| pte_skip.contains(n);
                let counts = &self.counts[chunk * self.nodes..(chunk + 1) * self.nodes];
                if counts.iter().enumerate().any(|(n, &k)| k > 0 && spared(n)) {
                    let mut i = 0;
                    while let Some(p) = fresh.next(i) {
                        if spared(b.node[p] as usize) {
                            fresh.clear(p);
                        }
                        i = p + 1;
                    }
                }
                let n = fresh.count();
                b.marked = b.marked.zip(&fresh, |a, f| a | f);
                c.marked += n as u16;
                self.marked_pages += u64::from(n);
                out.updates += u64::from(n);
                out.skipped += (hi - lo) as u64 - u64::from(n);
            }
        }
    }
    /// Frees every page in `from..to`; calls `freed(node, pages)` for each group. Huge pages partly in
    /// the range are freed whole only if wholly inside, otherwise kept.
    pub fn discard(&mut self, from: u64, to: u64, mut freed: impl FnMut(usize, u64)) {
        let mut addr = from;
        while addr < to {
            let chunk = self.chunk_of(addr);
            let base = self.chunk_base(chunk);
            let stop = to.min(base + CHUNK_BYTES);
            let lo = ((addr - base) / PAGE_BYTES) as usize;
            let hi = ((stop - base) / PAGE_BYTES) as usize;
            self.discard_chunk(chunk, lo, hi, &mut freed);
            addr = stop;
        }
    }
    fn discard_chunk(&mut self, chunk: usize, lo: usize, hi: usize, freed: &mut impl FnMut(usize, u64)) {
        let c = &mut self.chunks[chunk];
        match c.kind {
            ChunkKind::Empty => {}
            ChunkKind::Huge => {
                if lo == 0 && hi == 512 {
                    let node = c.node as usize;
                    if c.huge_marked {
                        self.marked_pages -= CHUNK_PAGES;
                    }
                    *c = EMPTY;
                    self.counts[chunk * self.nodes + node] -= CHUNK_PAGES as u16;
                    self.pages_on_node[node] -= CHUNK_PAGES;
                    freed(node, CHUNK_PAGES);
                }
            }
            ChunkKind::Small => {
                let index = c.index;
                let b = &mut self.blocks[index as usize];
                let range = Bits512::range(lo, hi);
                let gone = range.zip(&b.present, |a, p| a & p);
                let mut i = 0;
                while let Some(p) = gone.next(i) {
                    let node = b.node[p] as usize;
                    self.counts[chunk * self.nodes + node] -= 1;
                    self.pages_on_node[node] -= 1;
                    freed(node, 1);
                    i = p + 1;
                }
                let marked = b.marked.zip(&range, |m, r| m & r).count();
                let read_only = b.read_only.zip(&range, |m, r| m & r).count();
                b.present = b.present.zip(&range, |m, r| m & !r);
                b.marked = b.marked.zip(&range, |m, r| m & !r);
                b.read_only = b.read_only.zip(&range, |m, r| m & !r);
                c.present -= gone.count() as u16;
                c.marked -= marked as u16;
                c.read_only -= read_only as u16;
                self.marked_pages -= u64::from(marked);
                if c.present == 0 {
                    *c = EMPTY;
                    self.blocks[index as usize] = Block::empty();
                    self.free_blocks.push(index);
                }
            }
        }
    }
    /// The `rank`-th pending page (absent or marked) of `from..to`, as (chunk, page), with ranks counted
    /// in address order; `None` if there are not so many. Linear in the number of chunks.
    pub fn select_pending(&self, from: u64, to: u64, mut rank: u64) -> Option<(usize, usize)> {
        let mut addr = from;
        while addr < to {
            let chunk = self.chunk_of(addr);
            let base = self.chunk_base(chunk);
            let stop = to.min(base + CHUNK_BYTES);
            let lo = ((addr - base) / PAGE_BYTES) as usize;
            let hi = ((stop - base).div_ceil(PAGE_BYTES)) as usize;
            let n = self.pending_in_chunk(chunk, lo, hi);
            if rank < n {
                return Some((chunk, self.pending_bits(chunk, lo, hi).select(rank as u32)?));
            }
            rank -= n;
            addr = stop;
        }
        None
    }
    /// Pending pages in `from..to`. O(1) per chunk.
    pub fn pending_in(&self, from: u64, to: u64) -> u64 {
        if from <= self.start && to >= self.end {
            return self.pending_pages();
        }
        let mut addr = from;
        let mut sum = 0;
        while addr < to {
            let chunk = self.chunk_of(addr);
            let base = self.chunk_base(chunk);
            let stop = to.min(base + CHUNK_BYTES);
            let lo = ((addr - base) / PAGE_BYTES) as usize;
            let hi = ((stop - base).div_ceil(PAGE_BYTES)) as usize;
            sum += self.pending_in_chunk(chunk, lo, hi);
            addr = stop;
        }
        sum
    }
    fn pending_in_chunk(&self, chunk: usize, lo: usize, hi: usize) -> u64 {
        let c = &self.chunks[chunk];
        match c.kind {
            ChunkKind::Empty => (hi - lo) as u64,
            ChunkKind::Huge => u64::from(c.huge_marked) * (hi - lo) as u64,
            ChunkKind::Small if lo == 0 && hi == 512 => CHUNK_PAGES - u64::from(c.present) + u64::from(c.marked),
            ChunkKind::Small => u64::from(self.pending_bits(chunk, lo, hi).count()),
        }
    }
    fn pending_bits(&self, chunk: usize, lo: usize, hi: usize) -> Bits512 {
        let range = Bits512::range(lo, hi);
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
    /// Checks the module's invariants.
    ///
    /// # Errors
    /// A sentence naming the first violated one.
    pub fn check(&self) -> Result<(), String> {
        let mut on_node = vec![0u64; self.nodes];
        let mut marked = 0u64;
        for (i, c) in self.chunks.iter().enumerate() {
            let sum: u64 = self.node_counts(i).iter().map(|&k| u64::from(k)).sum();
            if sum != u64::from(c.present) {
                return Err(format!("chunk {i}: {sum} pages on nodes, {} present", c.present));
            }
            for (n, &k) in self.node_counts(i).iter().enumerate() {
                on_node[n] += u64::from(k);
            }
            match c.kind {
                ChunkKind::Small => {
                    let b = &self.blocks[c.index as usize];
                    if b.marked.zip(&b.present, |m, p| m & !p).count() > 0 {
                        return Err(format!("chunk {i}: a marked page is absent"));
                    }
                    if b.present.count() != u32::from(c.present) || b.marked.count() != u32::from(c.marked) {
                        return Err(format!("chunk {i}: bitmap and count differ"));
                    }
                    marked += u64::from(c.marked);
                }
                ChunkKind::Huge => marked += CHUNK_PAGES * u64::from(c.huge_marked),
                ChunkKind::Empty => {}
            }
        }
        if on_node != self.pages_on_node || marked != self.marked_pages {
            return Err("totals of the mapping and of its chunks differ".into());
        }
        Ok(())
    }
}

/// What an access to a page meets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageState {
    /// Nothing mapped.
    Absent,
    /// PROT_NONE.
    Marked {
        /// Its node.
        node: u8,
        /// Its last cpupid.
        last: u32,
        /// 1, or 512 for a huge page.
        pages: u32,
    },
    /// Mapped, but the next store faults.
    ReadOnly {
        /// Its node.
        node: u8,
    },
    /// Mapped.
    Ready {
        /// Its node.
        node: u8,
    },
}
