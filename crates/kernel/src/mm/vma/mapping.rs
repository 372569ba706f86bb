//! A mapping and its chunks.

use super::access_runs::{runs, RandomUses, ALL_RUNS};
use super::chunk::{Chunk, ChunkKind, EMPTY};
use super::folio_orders::Folios;
use super::frame_map::FrameMap;
use super::kind::VmaKind;
use super::page_state::PageState;
use super::partly_mapped_thp::PartlyMappedThp;
use super::zero_entries::ZeroEntries;
use crate::mm::block::{Bits512, Block, OwnPages, NEVER};
use crate::mm::object::{PageRef, SharedMemory};
use crate::mm::page_nodes::PageNodes;
use crate::mm::pageblock::frame::Frame;
use crate::mm::units::CHUNK_PAGES;
use numalab_base::base_page::BasePage;
use numalab_base::grain::Grain;
use numalab_base::node_mask::{NodeId, MAX_NODES};

/// Counts by node of a chunk with one huge page, from `MAX_NODES - 1 - node` on; and of an empty one, from `MAX_NODES`
/// on.
static ONE_HUGE_PAGE: [u16; 2 * MAX_NODES] = {
    let mut counts = [0; 2 * MAX_NODES];
    counts[MAX_NODES - 1] = CHUNK_PAGES as u16;
    counts
};

/// A mapping of one address space.
#[derive(Clone, Debug)]
pub struct Vma {
    /// First byte.
    pub start: u64,
    /// One past the last byte.
    pub end: u64,
    /// What an entry stands for. "Page" in this folder means that much; only what is said to be in base pages is.
    pub grain: Grain,
    /// What backs the mapping.
    pub kind: VmaKind,
    /// Whether huge pages are allowed in this mapping.
    pub huge_ok: bool,
    /// Whether `MADV_HUGEPAGE` was given.
    pub advised: bool,
    /// Orders of the large folios below 2 MiB that a first touch may map, one bit each.
    pub folio_orders: u32,
    /// Shared objects whose pages the VMA can map. The object of a file or of shared memory is the first.
    pub objects: Vec<u32>,
    /// Whether the mapping has had exclusive anonymous pages (`anon_vma`). If so, a fork copies its entries even if it
    /// maps a file.
    pub(in crate::mm) anon: bool,
    pub(in crate::mm) chunks: Vec<Chunk>,
    /// Present pages by block and node: `counts[block * nodes + node]`. Those of other chunks follow from their kind.
    pub(in crate::mm) counts: Vec<u16>,
    pub(in crate::mm) blocks: Vec<Block>,
    pub(in crate::mm) free_blocks: Vec<u32>,
    pub(in crate::mm) nodes: usize,
    /// Present base pages on each node.
    pub(in crate::mm) pages_on_node: Vec<u64>,
    /// Number of marked pages; an access to one of them faults.
    pub(in crate::mm) marked_pages: u64,
    /// Whether the mapping has had write-protected entries.
    pub(in crate::mm) write_protected: bool,
    /// Pageblocks, swap slots and page tables.
    pub frame_map: FrameMap,
    pub(in crate::mm) zeros: ZeroEntries,
    pub(in crate::mm) folios: Folios,
    /// Huge pages of which a part is mapped.
    pub(in crate::mm) partly_mapped: Vec<PartlyMappedThp>,
    /// Random accesses that have not yet been turned into accessed bits.
    pub(in crate::mm) random: RandomUses,
}

impl Vma {
    /// An unpopulated mapping of `start..end` (page aligned) in pages of 4 KiB on a machine with `nodes` nodes.
    pub fn new(start: u64, end: u64, kind: VmaKind, huge_ok: bool, nodes: usize) -> Self {
        Self::in_grains(Grain::one(BasePage::Kib4), (start, end), kind, huge_ok, nodes)
    }
    /// As [`Self::new`], in base pages of another size or in grains.
    pub fn in_grains(grain: Grain, (start, end): (u64, u64), kind: VmaKind, huge_ok: bool, nodes: usize) -> Self {
        let (page, chunk_bytes) = (grain.base_page(), grain.bytes_of(CHUNK_PAGES));
        let n = (end.div_ceil(chunk_bytes) - start / chunk_bytes) as usize;
        let table_order = page.table_bytes().ilog2().saturating_sub(chunk_bytes.ilog2());
        let tables = (chunk_bytes / page.table_bytes()).max(1) as u32;
        let before = (start / chunk_bytes) & ((1 << table_order) - 1);
        debug_assert!(grain.floor(start) == start && grain.floor(end) == end, "{start}..{end}: not whole pages");
        Self {
            start,
            end,
            grain,
            kind,
            huge_ok,
            advised: false,
            folio_orders: 0,
            objects: Vec::new(),
            anon: false,
            chunks: vec![EMPTY; n],
            counts: Vec::new(),
            blocks: Vec::new(),
            free_blocks: Vec::new(),
            nodes,
            pages_on_node: vec![0; nodes],
            marked_pages: 0,
            write_protected: false,
            frame_map: FrameMap::new(n, nodes).with_tables_of(table_order, before as u32).with_tables_in_chunk(tables),
            zeros: ZeroEntries::default(),
            folios: Folios::default(),
            partly_mapped: Vec::new(),
            random: RandomUses::default(),
        }
    }
    /// Logarithm of the bytes of a chunk.
    #[inline]
    fn chunk_shift(&self) -> u32 {
        self.grain.shift() + CHUNK_PAGES.trailing_zeros()
    }
    /// Bytes of a chunk: 512 base pages.
    #[inline]
    pub fn chunk_bytes(&self) -> u64 {
        1 << self.chunk_shift()
    }
    /// Index of the chunk that holds `addr`.
    #[inline]
    pub fn chunk_of(&self, addr: u64) -> usize {
        ((addr >> self.chunk_shift()) - (self.start >> self.chunk_shift())) as usize
    }
    /// First address of a chunk; may be below `start`.
    #[inline]
    pub fn chunk_base(&self, chunk: usize) -> u64 {
        ((self.start >> self.chunk_shift()) + chunk as u64) << self.chunk_shift()
    }
    /// Address of a page of a chunk; may be below `start`.
    #[inline]
    pub fn page_addr(&self, chunk: usize, page: usize) -> u64 {
        self.chunk_base(chunk) + self.grain.bytes_of(page as u64)
    }
    /// Number of pages from the start of the first chunk to `addr`.
    #[inline]
    pub fn page_number(&self, addr: u64) -> u64 {
        self.grain.count(addr - self.chunk_base(0))
    }
    /// The page of a chunk at `addr`, which is moved to the chunk's nearer end if it is outside; rounded up.
    #[inline]
    pub fn page_up_in_chunk(&self, chunk: usize, addr: u64) -> usize {
        let base = self.chunk_base(chunk);
        self.grain.count_up(addr.clamp(base, base + self.chunk_bytes()) - base) as usize
    }
    /// The chunks that overlap `from..to`, each with its pages in that range: (chunk, first page, one past the last
    /// page).
    pub(in crate::mm) fn chunk_ranges(&self, from: u64, to: u64) -> impl Iterator<Item = (usize, usize, usize)> {
        let (grain, shift, mut addr) = (self.grain, self.chunk_shift(), from);
        let first = self.start >> shift;
        std::iter::from_fn(move || {
            if addr >= to {
                return None;
            }
            let base = addr >> shift << shift;
            let stop = to.min(base + (1 << shift));
            let (lo, hi) = (grain.count(addr - base), grain.count_up(stop - base));
            addr = stop;
            Some((((base >> shift) - first) as usize, lo as usize, hi as usize))
        })
    }
    /// A chunk.
    #[inline]
    pub fn chunk(&self, chunk: usize) -> &Chunk {
        &self.chunks[chunk]
    }
    /// Number of entries that map the zero page, in base pages.
    #[inline]
    pub fn zero_entries(&self) -> u64 {
        self.zeros.pages()
    }
    /// Whether an entry maps the zero page.
    #[inline]
    pub fn maps_zero_page(&self, chunk: usize, page: usize) -> bool {
        self.zeros.pages() > 0 && self.zeros.get(chunk, page)
    }
    /// Whether a chunk has entries that map the zero page.
    pub fn has_zero_entries(&self, chunk: usize) -> bool {
        self.zeros.at(chunk).is_some()
    }
    /// Whether a chunk is one huge entry that maps the huge zero page.
    pub fn is_huge_zero_page(&self, chunk: usize) -> bool {
        self.zeros.at(chunk).is_some_and(|z| z.huge)
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
    /// Whether a part of a huge page is mapped in the chunk.
    #[inline]
    pub fn is_partly_mapped(&self, chunk: usize) -> bool {
        !self.partly_mapped.is_empty() && self.partly_mapped.iter().any(|p| p.chunk == chunk)
    }
    /// Whether a chunk has entries but no page table yet.
    pub fn lacks_table(&self, chunk: usize) -> bool {
        let mapped = self.chunks[chunk].kind != ChunkKind::Empty || self.has_zero_entries(chunk);
        (mapped || self.frame_map.swapped_in_chunk(chunk) > 0) && !self.frame_map.has_table(chunk)
    }
    /// Number of chunks.
    pub fn chunk_count(&self) -> usize {
        self.chunks.len()
    }
    /// Present pages of a chunk on each node.
    #[inline]
    pub fn node_counts(&self, chunk: usize) -> &[u16] {
        let c = &self.chunks[chunk];
        match c.kind {
            ChunkKind::Small => &self.counts[c.index as usize * self.nodes..][..self.nodes],
            ChunkKind::Huge => &ONE_HUGE_PAGE[MAX_NODES - 1 - usize::from(c.node)..][..self.nodes],
            ChunkKind::Empty => &ONE_HUGE_PAGE[MAX_NODES..][..self.nodes],
        }
    }
    /// Counts by node, in `out`, the present ones of pages `pages` of a chunk; returns their number.
    pub fn count_pages(
        &self,
        chunk: usize,
        pages: impl Iterator<Item = usize>,
        store: &SharedMemory,
        out: &mut [u16],
    ) -> u16 {
        out.fill(0);
        let c = &self.chunks[chunk];
        let mut present = 0;
        if let Some(nodes) = self.nodes_of_full_chunk(chunk, store) {
            for page in pages {
                out[usize::from(nodes.get(page))] += 1;
                present += 1;
            }
            return present;
        }
        for page in pages {
            let node = match c.kind {
                ChunkKind::Small if self.blocks[c.index as usize].present.get(page) => self.node_of(chunk, page, store),
                ChunkKind::Huge => usize::from(c.node),
                _ => continue,
            };
            out[node] += 1;
            present += 1;
        }
        present
    }
    /// The nodes of a chunk that has all of its base pages, all of them exclusive or all of its first object.
    #[inline]
    fn nodes_of_full_chunk<'a>(&'a self, chunk: usize, store: &'a SharedMemory) -> Option<&'a PageNodes> {
        let c = &self.chunks[chunk];
        let is_full = c.kind == ChunkKind::Small && c.present == CHUNK_PAGES as u16;
        let block = is_full.then(|| &self.blocks[c.index as usize])?;
        if c.shared == 0 {
            return block.own.as_ref().map(|own| &own.node);
        }
        let is_first = block.layers.is_empty() && block.shared.count() == CHUNK_PAGES as u32;
        let object = is_first.then(|| store.object(self.objects[0]))?;
        object.block(chunk).map(|block| &block.node)
    }
    /// As [`Self::count_pages`] for the pages from one to another of a chunk: of them or of the others, whichever are
    /// fewer.
    pub fn count_range(
        &self,
        chunk: usize,
        pages: std::ops::Range<usize>,
        store: &SharedMemory,
        out: &mut [u16],
    ) -> u16 {
        let all = CHUNK_PAGES as usize;
        if 2 * pages.len() <= all {
            return self.count_pages(chunk, pages, store, out);
        }
        let others = self.count_pages(chunk, (0..pages.start).chain(pages.end..all), store, out);
        for (touched, on_node) in out.iter_mut().zip(self.node_counts(chunk)) {
            *touched = on_node - *touched;
        }
        self.chunk(chunk).present - others
    }
    /// Node of a present base page.
    #[inline]
    fn node_of(&self, chunk: usize, page: usize, store: &SharedMemory) -> usize {
        let node = match self.page_ref(chunk, page) {
            None => self.blocks[self.chunks[chunk].index as usize].own_page(page).0,
            Some(at) => store.object(at.object).block(chunk).map_or(0, |b| b.node.get(usize::from(at.page))),
        };
        usize::from(node)
    }
    /// Present pages on each node.
    pub fn pages_on_node(&self) -> &[u64] {
        &self.pages_on_node
    }
    /// Number of resident base pages.
    pub fn rss_pages(&self) -> u64 {
        self.present_entries() * self.grain.pages()
    }
    /// Whether no page is missing, and none shows zeros.
    pub fn is_all_there(&self) -> bool {
        self.present_entries() == self.grain.count(self.end - self.start) && self.zero_entries() == 0
    }
    /// Number of entries that map a page.
    pub(in crate::mm) fn present_entries(&self) -> u64 {
        self.pages_on_node.iter().sum()
    }
    /// Memory that the state of this mapping takes in the simulator, bytes.
    pub fn state_bytes(&self) -> usize {
        let own = |b: &Block| b.own.as_ref().map_or(0, |o| std::mem::size_of::<OwnPages>() + o.node.more_bytes());
        self.chunks.capacity() * std::mem::size_of::<Chunk>()
            + self.counts.capacity() * std::mem::size_of::<u16>()
            + self.blocks.capacity() * std::mem::size_of::<Block>()
            + self.blocks.iter().map(own).sum::<usize>()
            + self.frame_map.state_bytes()
            + self.folios.state_bytes()
    }
    /// Number of marked pages.
    pub fn marked_pages(&self) -> u64 {
        self.marked_pages
    }
    /// Whether the whole of a chunk is inside the mapping, so that it can hold a huge page.
    pub fn chunk_is_whole(&self, chunk: usize) -> bool {
        let base = self.chunk_base(chunk);
        base >= self.start && base + self.chunk_bytes() <= self.end
    }
    /// State of a page, as an access finds it.
    #[inline]
    pub fn page(&self, chunk: usize, page: usize, store: &SharedMemory) -> PageState {
        let c = &self.chunks[chunk];
        let absent = match c.kind {
            ChunkKind::Empty => true,
            ChunkKind::Huge => false,
            ChunkKind::Small => !self.blocks[c.index as usize].present.get(page),
        };
        if absent {
            return PageState::Absent;
        }
        let shared = self.page_ref(chunk, page);
        let (head, folio) = match (shared, c.kind) {
            (None, ChunkKind::Small) => self.folios.of_page(chunk, page),
            _ => (page, 1),
        };
        let (node, last) = match (shared, c.kind) {
            (None, ChunkKind::Small) => self.blocks[c.index as usize].own_page(head),
            (None, _) => (c.node, c.index),
            (Some(at), _) => store.object(at.object).block(chunk).map_or((0, NEVER), |b| {
                let page = usize::from(at.page);
                (b.node.get(page), b.last[page])
            }),
        };
        let (marked, read_only, pages) = match c.kind {
            ChunkKind::Small => {
                let b = &self.blocks[c.index as usize];
                (b.marked.get(page), b.read_only.get(page), folio)
            }
            _ => (c.pmd_marked, c.read_only > 0, CHUNK_PAGES as u32),
        };
        match shared {
            Some(at) if marked && store.locked(at) => PageState::Migrating(at),
            _ if marked => PageState::Marked { node, last, pages, shared },
            _ if read_only => PageState::ReadOnly { node, shared },
            _ => PageState::Ready { node },
        }
    }
    /// The shared page that an entry maps; `None` if it maps an exclusive page or none.
    #[inline]
    pub fn page_ref(&self, chunk: usize, page: usize) -> Option<PageRef> {
        let c = &self.chunks[chunk];
        if c.shared == 0 {
            return None;
        }
        let (layer, page) = match c.kind {
            ChunkKind::Huge => (c.index as usize, 0),
            _ => {
                let b = &self.blocks[c.index as usize];
                if !b.shared.get(page) {
                    return None;
                }
                (b.layer_of(page), page)
            }
        };
        Some(PageRef { object: self.objects[layer], chunk: chunk as u32, page: page as u16 })
    }
    /// The block of a chunk of base pages, created if the chunk is empty.
    pub(in crate::mm) fn small_block(&mut self, chunk: usize) -> (&mut Chunk, &mut Block) {
        if self.chunks[chunk].kind == ChunkKind::Empty {
            let index = match self.free_blocks.pop() {
                Some(i) => i,
                None => {
                    self.blocks.push(Block::empty());
                    self.counts.resize(self.blocks.len() * self.nodes, 0);
                    (self.blocks.len() - 1) as u32
                }
            };
            self.chunks[chunk] = Chunk { kind: ChunkKind::Small, index, ..EMPTY };
        }
        let c = &mut self.chunks[chunk];
        let b = &mut self.blocks[c.index as usize];
        (c, b)
    }
    /// Populates one base page on `node`, exclusive to this mapping.
    pub fn populate(&mut self, chunk: usize, page: usize, node: usize, frame: Frame) {
        self.anon = true;
        self.frame_map.set(chunk, page, frame);
        self.zeros.clear(chunk, || Bits512::range(page, page + 1));
        let (c, b) = self.small_block(chunk);
        debug_assert!(!b.present.get(page));
        b.present.set(page);
        let own = b.own_mut();
        own.node.set(page, node as NodeId);
        own.last[page] = NEVER;
        c.present += 1;
        c.touched |= runs(page, page + 1);
        let index = c.index as usize;
        self.counts[index * self.nodes + node] += 1;
        self.pages_on_node[node] += 1;
    }
    /// Populates an empty chunk with a huge page on `node`.
    pub fn populate_huge(&mut self, chunk: usize, node: usize, frame: Frame) {
        debug_assert_eq!(self.chunks[chunk].kind, ChunkKind::Empty);
        self.anon = true;
        self.frame_map.set_huge(chunk, frame);
        self.zeros.clear(chunk, || Bits512::range(0, CHUNK_PAGES as usize));
        self.chunks[chunk] = Chunk {
            kind: ChunkKind::Huge,
            node: node as NodeId,
            present: CHUNK_PAGES as u16,
            index: NEVER,
            touched: ALL_RUNS,
            ..EMPTY
        };
        self.pages_on_node[node] += CHUNK_PAGES;
    }
    /// Removes the mark of a page, or of the whole huge entry, without moving the page.
    #[inline]
    pub fn unmark(&mut self, chunk: usize, page: usize) {
        let c = &mut self.chunks[chunk];
        if c.kind == ChunkKind::Huge {
            if c.pmd_marked {
                c.pmd_marked = false;
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
    /// Removes the mark of a page table; returns whether it had one.
    #[inline]
    pub fn unmark_table(&mut self, chunk: usize) -> bool {
        let c = &mut self.chunks[chunk];
        c.kind == ChunkKind::Small && std::mem::take(&mut c.pmd_marked)
    }
    /// Moves an exclusive page, or the huge page, to a frame of `node` and sets its `last_cpupid`; returns the old
    /// frame.
    #[inline]
    pub fn move_page(&mut self, chunk: usize, page: usize, node: usize, frame: Frame, last: u32) -> Frame {
        self.folios.split(chunk, page);
        let c = &mut self.chunks[chunk];
        debug_assert!(c.kind == ChunkKind::Small || c.shared == 0);
        debug_assert!(self.partly_mapped.iter().all(|p| !p.maps(chunk, page)), "its deferred huge page is not split");
        let (old, was) = match c.kind {
            ChunkKind::Huge => {
                c.index = last;
                (c.node as usize, self.frame_map.move_huge(chunk, frame))
            }
            _ => {
                let own = self.blocks[c.index as usize].own_mut();
                own.last[page] = last;
                let was = self.frame_map.take(chunk, page);
                self.frame_map.set(chunk, page, frame);
                (usize::from(own.node.replace(page, node as NodeId)), was)
            }
        };
        self.recount(chunk, old, node);
        was
    }
    /// Updates the per-node counts after a page (or the huge page) of a chunk has moved from `old` to `node`.
    #[inline]
    pub(in crate::mm) fn recount(&mut self, chunk: usize, old: usize, node: usize) {
        let c = &mut self.chunks[chunk];
        let pages = if c.kind == ChunkKind::Huge {
            c.node = node as NodeId;
            CHUNK_PAGES
        } else {
            let counts = &mut self.counts[c.index as usize * self.nodes..][..self.nodes];
            counts[old] -= 1;
            counts[node] += 1;
            1
        };
        self.pages_on_node[old] -= pages;
        self.pages_on_node[node] += pages;
    }
    /// Sets `last_cpupid` of an exclusive page.
    #[inline]
    pub fn set_last_cpupid(&mut self, chunk: usize, page: usize, last: u32) {
        let c = &mut self.chunks[chunk];
        match c.kind {
            ChunkKind::Huge => c.index = last,
            _ => self.blocks[c.index as usize].own_mut().last[page] = last,
        }
    }
    /// Write-protects a page (`migration_drops_write`).
    #[inline]
    pub fn set_read_only(&mut self, chunk: usize, page: usize) {
        let c = &mut self.chunks[chunk];
        if c.kind == ChunkKind::Huge {
            c.read_only = CHUNK_PAGES as u16;
            self.write_protected = true;
        } else if c.kind == ChunkKind::Small {
            let b = &mut self.blocks[c.index as usize];
            if !b.read_only.get(page) {
                b.read_only.set(page);
                c.read_only += 1;
                self.write_protected = true;
            }
        }
    }
    /// Makes the entry of an exclusive page writable after a hint fault that did not move the page
    /// (`can_change_pte_writable`, 6.2 on). Unlike a write fault it keeps `last_cpupid`.
    #[inline]
    pub fn restore_write(&mut self, chunk: usize, page: usize) {
        let c = &mut self.chunks[chunk];
        if c.kind == ChunkKind::Huge && c.shared == 0 {
            c.read_only = 0;
        } else if c.kind == ChunkKind::Small && c.read_only > 0 {
            let b = &mut self.blocks[c.index as usize];
            if b.read_only.get(page) && !b.shared.get(page) {
                b.read_only.clear(page);
                c.read_only -= 1;
            }
        }
    }
    /// Makes an entry writable again (`wp_page_reuse`), and resets `last_cpupid` of an exclusive base page. The caller
    /// resets that of a shared page.
    #[inline]
    pub fn reuse_for_write(&mut self, chunk: usize, page: usize) {
        let c = &mut self.chunks[chunk];
        if c.kind != ChunkKind::Small {
            c.read_only = 0;
            return;
        }
        let b = &mut self.blocks[c.index as usize];
        if b.read_only.get(page) {
            b.read_only.clear(page);
            c.read_only -= 1;
            if let Some(own) = b.own.as_mut().filter(|_| !b.shared.get(page)) {
                own.last[page] = NEVER;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mm::units::CHUNK_BYTES;

    #[test]
    fn a_hint_fault_that_leaves_a_page_gives_back_its_write_permission_and_its_last_cpupid() {
        for (restored, wanted) in [(true, 77), (false, NEVER)] {
            let mut v = Vma::new(0, CHUNK_BYTES, VmaKind::PrivateAnon, true, 1);
            v.populate(0, 3, 0, Frame::UNKNOWN);
            v.set_last_cpupid(0, 3, 77);
            v.set_read_only(0, 3);
            assert_eq!(v.next_fault(0, 3, 4, true), Some(3), "a store meets the read-only entry");
            if restored {
                v.restore_write(0, 3);
            } else {
                v.reuse_for_write(0, 3);
            }
            assert_eq!(v.next_fault(0, 3, 4, true), None);
            let block = &v.blocks[v.chunks[0].index as usize];
            assert_eq!(block.own_page(3).1, wanted, "only a write fault forgets who faulted last");
        }
    }
}
