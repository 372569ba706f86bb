//! Entries that map shared pages: mapping them, fork, copy-on-write, unmapping (thp-and-allocation.md section 13).

use super::access_runs::{runs, ALL_RUNS};
use super::chunk::{ChunkKind, EMPTY};
use super::kind::VmaKind;
use super::mapping::Vma;
use crate::mm::account::PageClass;
use crate::mm::block::{Bits512, Block, NEVER};
use crate::mm::object::{Backing, Mapper, PageRef, SharedMemory};
use crate::mm::pageblock::frame::Frame;
use crate::mm::units::CHUNK_PAGES;
use crate::mm::unmapped::Unmapped;
use crate::numa::page::{PageFacts, HPAGE_PAGES};
use crate::numa::state::LastCpupid;
use numalab_base::node_mask::NodeId;

/// Number of entries that a fork copied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CopiedEntries {
    /// Base-page entries.
    pub ptes: u64,
    /// Huge entries.
    pub pmds: u64,
}

impl Vma {
    /// What NUMA balancing needs to know of a shared page, as this VMA maps it.
    pub fn shared_facts(&self, at: PageRef, store: &SharedMemory) -> PageFacts {
        let object = store.object(at.object);
        let (chunk, page) = (at.chunk as usize, usize::from(at.page));
        let Some(b) = object.block(chunk) else { return PageFacts::private_anon(0) };
        let anon = object.backing == Backing::Anon;
        let dirty = b.dirty.get(page);
        let writable = match self.kind {
            _ if self.is_read_only(chunk, page) => false,
            VmaKind::FileRead => false,
            VmaKind::FileShared => dirty,
            _ => true,
        };
        PageFacts {
            nid: usize::from(b.node.get(page)),
            last: LastCpupid::from_raw(b.last[page]),
            pages: if b.huge { HPAGE_PAGES } else { 1 },
            huge: b.huge,
            grain: self.grain.pages() as u32,
            mapcount: b.mapcount[page],
            // The page cache holds a reference.
            refcount: b.mapcount[page] + u32::from(!anon),
            entire_mapcount: if b.huge { b.mapcount[page] } else { 0 },
            first_mapcount: b.mapcount[page],
            writable,
            shared_mapping: self.kind.is_shared(),
            write_notify: self.kind.notifies_writes(),
            file_lru: object.backing == Backing::File,
            dirty: anon || dirty,
            ..PageFacts::private_anon(0)
        }
    }
    /// Whether an entry is write-protected.
    #[inline]
    pub fn is_read_only(&self, chunk: usize, page: usize) -> bool {
        let c = &self.chunks[chunk];
        match c.kind {
            ChunkKind::Empty => false,
            ChunkKind::Huge => c.read_only > 0,
            ChunkKind::Small => self.blocks[c.index as usize].read_only.get(page),
        }
    }
    /// Maps a page of the mapping's first object, which is on `node`, into an empty entry. The caller counts the
    /// mapcount.
    pub fn map_shared(&mut self, chunk: usize, page: usize, node: usize, read_only: bool) {
        self.map_layer(0, chunk, page, node, read_only);
    }
    /// Maps a page of the mapping's object with index `layer`, as [`Self::map_shared`] does.
    pub(in crate::mm) fn map_layer(&mut self, layer: usize, chunk: usize, page: usize, node: usize, read_only: bool) {
        self.write_protected |= read_only;
        let (c, b) = self.small_block(chunk);
        debug_assert!(!b.present.get(page));
        b.present.set(page);
        b.set_shared(page, layer);
        c.present += 1;
        c.shared += 1;
        c.touched |= runs(page, page + 1);
        if read_only {
            b.read_only.set(page);
            c.read_only += 1;
        }
        let index = c.index as usize;
        self.counts[index * self.nodes + node] += 1;
        self.pages_on_node[node] += 1;
    }
    /// Replaces a shared base page on `old` by an exclusive, writable page on `node` (copy-on-write). The caller
    /// counts the mapcount.
    pub fn break_cow(&mut self, chunk: usize, page: usize, old: usize, (node, frame): (usize, Frame)) {
        self.unmark(chunk, page);
        self.frame_map.set(chunk, page, frame);
        self.anon = true;
        let (c, b) = self.small_block(chunk);
        debug_assert!(b.shared.get(page));
        b.clear_shared(page);
        c.shared -= 1;
        if b.read_only.get(page) {
            b.read_only.clear(page);
            c.read_only -= 1;
        }
        let own = b.own_mut();
        own.node.set(page, node as NodeId);
        own.last[page] = NEVER;
        self.recount(chunk, old, node);
    }
    /// Replaces a shared huge page on `old` by an exclusive, writable one on `node` (copy-on-write before 5.8).
    pub fn break_cow_huge(&mut self, chunk: usize, old: usize, (node, frame): (usize, Frame)) {
        self.unmark(chunk, 0);
        self.anon = true;
        self.frame_map.move_huge(chunk, frame);
        let c = &mut self.chunks[chunk];
        debug_assert!(c.kind == ChunkKind::Huge && c.shared > 0);
        (c.shared, c.read_only, c.index) = (0, 0, NEVER);
        self.recount(chunk, old, node);
    }
    /// Updates the counts after a shared page has moved from `old` to `node`.
    #[inline]
    pub fn shared_moved(&mut self, chunk: usize, old: usize, node: usize) {
        self.recount(chunk, old, node);
    }
    /// Whether an entry maps this page.
    #[inline]
    pub fn maps(&self, at: PageRef) -> bool {
        self.page_ref(at.chunk as usize, usize::from(at.page)) == Some(at)
    }
    /// Replaces the entry of a shared page by a migration entry. Returns false if it was PROT_NONE already.
    #[inline]
    pub fn set_migrating(&mut self, chunk: usize, page: usize) -> bool {
        let c = &mut self.chunks[chunk];
        if c.kind == ChunkKind::Huge {
            let was = std::mem::replace(&mut c.pmd_marked, true);
            self.marked_pages += if was { 0 } else { CHUNK_PAGES };
            return !was;
        }
        let b = &mut self.blocks[c.index as usize];
        if b.marked.get(page) {
            return false;
        }
        b.marked.set(page);
        c.marked += 1;
        self.marked_pages += 1;
        true
    }
    /// Splits a shared huge entry into 512 base entries, after the split of its huge page.
    pub fn split_shared_huge(&mut self, chunk: usize) {
        let c = self.chunks[chunk];
        debug_assert!(c.kind == ChunkKind::Huge && c.shared > 0);
        let all = Bits512::range(0, 512);
        let mut b = Block { present: all, shared: all, ..Block::empty() };
        let layer = c.index as usize;
        if layer > 0 {
            b.layers = vec![Bits512::default(); layer];
            b.layers[layer - 1] = all;
        }
        if c.pmd_marked {
            b.marked = all;
        }
        if c.read_only > 0 {
            b.read_only = all;
        }
        self.frame_map.take_huge(chunk);
        self.chunks[chunk] = EMPTY;
        let (fresh, block) = self.small_block(chunk);
        *block = b;
        fresh.present = CHUNK_PAGES as u16;
        fresh.shared = CHUNK_PAGES as u16;
        fresh.touched = if c.touched != 0 { ALL_RUNS } else { 0 };
        fresh.marked = if c.pmd_marked { CHUNK_PAGES as u16 } else { 0 };
        fresh.read_only = c.read_only;
        let index = fresh.index as usize;
        self.counts[index * self.nodes + usize::from(c.node)] = CHUNK_PAGES as u16;
    }

    /// The copy of this mapping in a forked child. Page tables of shared mappings, and of files that were never
    /// written to, are not copied; the child maps the pages by its own faults. Otherwise all pages become shared and
    /// write-protected, and marks are copied.
    pub fn fork(&mut self, store: &mut SharedMemory, me: Mapper, child: Mapper) -> (Vma, CopiedEntries) {
        debug_assert!(self.partly_mapped.is_empty(), "deferred huge pages are not split");
        let mut copied = CopiedEntries::default();
        if self.kind.is_shared() || (self.kind.is_file() && !self.anon) {
            let mut v = Vma::in_grains(self.grain, (self.start, self.end), self.kind, self.huge_ok, self.nodes);
            v.objects.clone_from(&self.objects);
            for &o in &v.objects {
                store.object_mut(o).mappers.push(child);
            }
            return (v, copied);
        }
        self.share_exclusive_pages(store, me);
        self.write_protected = true;
        for i in 0..self.chunks.len() {
            let c = &mut self.chunks[i];
            match c.kind {
                ChunkKind::Empty => {}
                ChunkKind::Huge => {
                    c.read_only = CHUNK_PAGES as u16;
                    store.object_mut(self.objects[c.index as usize]).block_mut(i).mapcount[0] += 1;
                    copied.pmds += 1;
                }
                ChunkKind::Small => {
                    let b = &mut self.blocks[c.index as usize];
                    b.read_only = b.shared;
                    c.read_only = c.shared;
                    copied.ptes += u64::from(c.present);
                    for (layer, &object) in self.objects.iter().enumerate() {
                        let mapped = b.layer(layer);
                        let mut from = 0;
                        while let Some(p) = mapped.next(from) {
                            store.object_mut(object).block_mut(i).mapcount[p] += 1;
                            from = p + 1;
                        }
                    }
                }
            }
            copied.ptes += self.share_slots(i, store);
            copied.ptes += if self.is_huge_zero_page(i) { 0 } else { u64::from(self.zeros.bits(i).count()) };
            copied.pmds += u64::from(self.is_huge_zero_page(i));
        }
        for &o in &self.objects {
            store.object_mut(o).mappers.push(child);
        }
        let mut copy = self.clone();
        copy.frame_map = self.frame_map.forked();
        // The child has new page tables, which are not marked.
        copy.chunks.iter_mut().filter(|c| c.kind == ChunkKind::Small).for_each(|c| c.pmd_marked = false);
        copy.clear_all_young();
        (copy, copied)
    }
    /// Counts another entry for each slot of a chunk (`swap_duplicate`); returns their number.
    fn share_slots(&mut self, chunk: usize, store: &mut SharedMemory) -> u64 {
        if self.frame_map.swapped_in_chunk(chunk) == 0 {
            return 0;
        }
        for page in 0..CHUNK_PAGES as usize {
            let Some(layer) = self.slot_layer(chunk, page, store) else { continue };
            let b = store.object_mut(self.objects[layer]).block_mut(chunk);
            if let Some((slot, _)) = b.slot(page) {
                b.add_slot(page, slot, 1);
            }
        }
        u64::from(self.frame_map.swapped_in_chunk(chunk))
    }
    /// Moves the exclusive pages and slots into a new object, with this mapping as its only mapper.
    fn share_exclusive_pages(&mut self, store: &mut SharedMemory, me: Mapper) {
        let has_own =
            |i: &(usize, Vec<(usize, u32)>)| self.chunks[i.0].present > self.chunks[i.0].shared || !i.1.is_empty();
        let own: Vec<_> = (0..self.chunks.len()).map(|i| (i, self.own_slots(i, store))).filter(has_own).collect();
        if own.is_empty() {
            return;
        }
        let id = store.create(Backing::Anon, self.chunks.len());
        let object = store.object_mut(id);
        object.mappers.push(me);
        let layer = self.objects.len();
        self.objects.push(id);
        for (i, slots) in own {
            let block = object.block_mut(i);
            slots.into_iter().for_each(|(page, slot)| block.add_slot(page, slot, 1));
            let c = &mut self.chunks[i];
            if c.present == c.shared {
                continue;
            }
            if c.kind == ChunkKind::Huge {
                block.huge = true;
                block.resident.set(0);
                block.node.set(0, c.node);
                (block.last[0], block.mapcount[0]) = (c.index, 1);
                block.frame[0] = self.frame_map.share_huge(i);
                c.shared = CHUNK_PAGES as u16;
                c.index = layer as u32;
                continue;
            }
            // Each of its pages is mapped by both from now on.
            self.folios.split_chunk(i);
            let b = &mut self.blocks[c.index as usize];
            let mine = b.exclusive();
            let mut from = 0;
            while let Some(p) = mine.next(from) {
                let (node, last) = b.own_page(p);
                block.node.set(p, node);
                block.last[p] = last;
                block.frame[p] = self.frame_map.take(i, p);
                block.mapcount[p] = 1;
                b.set_shared(p, layer);
                from = p + 1;
            }
            block.resident = mine;
            b.own = None;
            c.shared = c.present;
        }
    }

    /// Unmaps every page in `from..to`. Reports to `freed` the exclusive pages, the anonymous pages that no other
    /// VMA maps, and the swap slots. Keeps a huge page that is only partly in the range. Returns the number of
    /// cleared entries.
    pub fn zap_range(&mut self, from: u64, to: u64, store: &mut SharedMemory, mut freed: impl FnMut(Unmapped)) -> u64 {
        let mut cleared = 0;
        for (chunk, lo, hi) in self.chunk_ranges(from, self.grain.floor(to)) {
            self.zeros.clear(chunk, || Bits512::range(lo, hi));
            if self.frame_map.swapped_in_chunk(chunk) > 0 {
                (lo..hi).for_each(|p| self.release_slot(chunk, p, store, &mut freed));
            }
            cleared += match self.chunks[chunk].kind {
                ChunkKind::Empty => 0,
                ChunkKind::Huge if hi - lo == 512 => self.zap_huge_pmd(chunk, store, &mut freed),
                ChunkKind::Huge => 0,
                ChunkKind::Small => self.zap_pte_range(chunk, Bits512::range(lo, hi), store, &mut freed),
            };
        }
        cleared
    }
    fn zap_huge_pmd(&mut self, chunk: usize, store: &mut SharedMemory, freed: &mut impl FnMut(Unmapped)) -> u64 {
        // The table was deposited for a split. Without entry and table the next fault may be huge again.
        if let Some((node, frame)) = self.frame_map.take_table(chunk) {
            freed(Unmapped::Page { node, frame, class: PageClass::PageTables });
        }
        let mapped = self.page_ref(chunk, 0);
        let (node, frame) = self.clear_huge(chunk);
        match mapped {
            Some(at) => store.unmap(at, freed),
            None => freed(Unmapped::Page { node, frame, class: PageClass::AnonHuge }),
        }
        CHUNK_PAGES
    }
    /// Counts the pages of a chunk off at once, if all belong to shared memory, which keeps its pages; returns whether.
    fn unmap_at_once(&mut self, chunk: usize, gone: &Bits512, store: &mut SharedMemory) -> bool {
        let c = &self.chunks[chunk];
        let Some(&object) = self.objects.first() else { return false };
        let object = store.object_mut(object);
        let simple = c.shared == c.present && self.blocks[c.index as usize].layers.is_empty();
        if !simple || object.backing != Backing::Shmem {
            return false;
        }
        self.unmap_run(chunk, gone, object.block_mut(chunk));
        true
    }
    fn zap_pte_range(
        &mut self,
        chunk: usize,
        range: Bits512,
        store: &mut SharedMemory,
        freed: &mut impl FnMut(Unmapped),
    ) -> u64 {
        let index = self.chunks[chunk].index;
        let gone = range.zip(&self.blocks[index as usize].present, |a, p| a & p);
        if self.folios.of(chunk).is_some() {
            (0..CHUNK_PAGES as usize).filter(|p| gone.get(*p)).for_each(|p| self.folios.split(chunk, p));
        }
        let mut from = if self.unmap_at_once(chunk, &gone, store) { CHUNK_PAGES as usize } else { 0 };
        while let Some(p) = gone.next(from) {
            from = p + 1;
            let node = match self.page_ref(chunk, p) {
                Some(at) => {
                    let node = usize::from(store.block_of(at).node.get(p));
                    store.unmap(at, freed);
                    node
                }
                None => {
                    let node = usize::from(self.blocks[index as usize].own_page(p).0);
                    if self.partly_mapped.is_empty() || !self.unmap_thp_part(chunk, p, freed) {
                        freed(Unmapped::Page { node, frame: self.frame_map.take(chunk, p), class: PageClass::Anon });
                    }
                    node
                }
            };
            self.counts[index as usize * self.nodes + node] -= 1;
            self.pages_on_node[node] -= 1;
        }
        let (c, b) = self.small_block(chunk);
        let clear = |bits: &mut Bits512, count: &mut u16| {
            let n = bits.zip(&range, |m, r| m & r).count();
            *bits = bits.zip(&range, |m, r| m & !r);
            *count -= n as u16;
            u64::from(n)
        };
        let marked = clear(&mut b.marked, &mut c.marked);
        clear(&mut b.read_only, &mut c.read_only);
        clear(&mut b.shared, &mut c.shared);
        b.layers.iter_mut().for_each(|l| *l = l.zip(&range, |m, r| m & !r));
        let cleared = clear(&mut b.present, &mut c.present);
        if c.present == 0 {
            *c = EMPTY;
            *b = Block::empty();
            self.free_blocks.push(index);
        }
        self.marked_pages -= marked;
        cleared
    }
}
