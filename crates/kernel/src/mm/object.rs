//! Memory that several VMAs can map: page cache, shared memory, and pages shared since a fork.
//!
//! Problem: 288 processes that map the same 4 MB must not cost 288 copies of the data about a page. Yet each has its
//! own entries, and a migration must reach all of them.
//! Approach: a [`SharedObject`] holds the pages of one range of addresses, in blocks of 512 like the chunks of a
//! mapping, each with a mapcount. It also lists its *mappers*: all VMAs that can map its pages (the reverse map).
//! A mapping keeps only bitmaps of its entries. A fork moves the exclusive pages of a private mapping into a new
//! object, which both VMAs map write-protected. A store gives the writer an exclusive copy again. All mappers
//! have an object at the same addresses, so its chunk and page numbers are the same everywhere.
//! Invariants (checked by the simulator): the mapcount of a page is the number of VMAs that map it. Anonymous
//! pages have a mapcount of at least one. Every resident page is one allocated frame.

use super::account::PageClass;
use super::block::{Bits512, NEVER};
use super::page_nodes::PageNodes;
use super::read_ahead::prefetch;
use super::units::CHUNK_PAGES;
use super::unmapped::Unmapped;
use super::vma::for_runs;
use crate::mm::pageblock::frame::Frame;

/// Kind of a shared object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backing {
    /// Anonymous pages that processes share since a fork. A page is freed with its last mapping.
    Anon,
    /// Shared memory. Pages are freed when no process maps the object any more.
    Shmem,
    /// A file. Pages stay in the page cache.
    File,
}

impl Backing {
    /// Use of its pages. Mapped file pages count as shared memory, because neither is reclaimed while a workload uses
    /// it (model).
    pub fn class(self, huge: bool) -> PageClass {
        match self {
            Self::Anon if huge => PageClass::AnonHuge,
            Self::Anon => PageClass::Anon,
            Self::Shmem | Self::File => PageClass::Shmem,
        }
    }
}

/// A mapping of a shared object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mapper {
    /// Process number.
    pub process: u32,
    /// Mapping id in its address space.
    pub vma: u32,
}

/// A page of a shared object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageRef {
    /// Object number.
    pub object: u32,
    /// 2 MiB block of the object.
    pub chunk: u32,
    /// Page of the block; 0 for a huge page.
    pub page: u16,
}

/// Up to 512 pages of an object.
#[derive(Clone, Debug)]
pub struct SharedBlock {
    /// Whether this is one huge page, described by entry 0.
    pub huge: bool,
    /// Pages in memory.
    pub resident: Bits512,
    /// Pages written to since they were read (files only).
    pub dirty: Bits512,
    /// Pages that a migration has locked.
    pub locked: Bits512,
    /// Pages in the LRU batch of a CPU.
    pub batched: Bits512,
    /// Node of each page.
    pub node: PageNodes,
    /// Last cpupid of each page, or [`NEVER`].
    pub last: [u32; 512],
    /// Number of VMAs that map each page.
    pub mapcount: [u32; 512],
    /// Pageblock of each page.
    pub frame: [Frame; 512],
    /// Pages that no process maps any more, and that are in the page cache of their node (files only).
    pub cached: Bits512,
    /// Swap slots of pages of the block; `None` until there is one (anonymous only).
    slots: Option<Box<Slots>>,
}

/// Slots of pages that are swapped out, or read back while entries still name the slot.
#[derive(Clone, Debug)]
struct Slots {
    slot: [u32; 512],
    /// Number of entries that name the slot; 0 if there is no slot.
    entries: [u32; 512],
}

impl SharedBlock {
    fn empty() -> Self {
        Self {
            huge: false,
            resident: Bits512::default(),
            dirty: Bits512::default(),
            locked: Bits512::default(),
            batched: Bits512::default(),
            node: PageNodes::ZERO,
            last: [NEVER; 512],
            mapcount: [0; 512],
            frame: [Frame::UNKNOWN; 512],
            cached: Bits512::default(),
            slots: None,
        }
    }
    /// Slot of a page and the number of entries that name it.
    #[inline]
    pub fn slot(&self, page: usize) -> Option<(u32, u32)> {
        let s = self.slots.as_ref()?;
        (s.entries[page] > 0).then(|| (s.slot[page], s.entries[page]))
    }
    /// Adds `entries` to the number of entries that name the slot of a page.
    pub(super) fn add_slot(&mut self, page: usize, slot: u32, entries: u32) {
        let s = self.slots.get_or_insert_with(|| Box::new(Slots { slot: [NEVER; 512], entries: [0; 512] }));
        debug_assert!(s.entries[page] == 0 || s.slot[page] == slot);
        s.slot[page] = slot;
        s.entries[page] += entries;
    }
    /// One entry no longer names the slot of a page; returns the slot if no entry does.
    pub(super) fn drop_slot(&mut self, page: usize) -> Option<u32> {
        let s = self.slots.as_mut()?;
        s.entries[page] -= 1;
        (s.entries[page] == 0).then(|| s.slot[page])
    }
    /// A page, or the huge page, leaves memory; no entry maps it.
    pub(super) fn evict(&mut self, page: usize) {
        self.huge = false;
        self.resident.clear(page);
        self.last[page] = NEVER;
        self.mapcount[page] = 0;
    }
    /// Pages in memory, base pages.
    pub fn pages(&self) -> u64 {
        if self.huge {
            CHUNK_PAGES
        } else {
            u64::from(self.resident.count())
        }
    }
    /// Splits the huge page into 512 base pages of the same pageblock.
    pub fn split(&mut self) {
        debug_assert!(self.huge);
        self.huge = false;
        self.resident = Bits512::range(0, 512);
        self.node.fill(0..512, self.node.get(0));
        self.last = [self.last[0]; 512];
        self.mapcount = [self.mapcount[0]; 512];
        self.frame = [self.frame[0]; 512];
    }
}

/// Pages of one range of addresses, and the VMAs that can map them.
#[derive(Clone, Debug)]
pub struct SharedObject {
    /// Kind of the object.
    pub backing: Backing,
    /// Mappings of the object, in the order of their creation.
    pub mappers: Vec<Mapper>,
    /// Base pages that each of its pages stands for.
    grain: u64,
    /// Grains that have come into memory.
    filled: u64,
    blocks: Vec<Option<Box<SharedBlock>>>,
}

impl SharedObject {
    /// A block; `None` if none of its pages has been touched.
    #[inline]
    pub fn block(&self, chunk: usize) -> Option<&SharedBlock> {
        self.blocks[chunk].as_deref()
    }
    /// A block, created on first use.
    #[inline]
    pub fn block_mut(&mut self, chunk: usize) -> &mut SharedBlock {
        self.blocks[chunk].get_or_insert_with(|| Box::new(SharedBlock::empty()))
    }
    /// Reads ahead where a block is.
    #[inline]
    pub fn read_ahead(&self, chunk: usize) {
        prefetch(&self.blocks[chunk]);
    }
    /// Base pages that each of its pages stands for.
    #[inline]
    pub fn grain(&self) -> u64 {
        self.grain
    }
    /// Grains that have come into memory; counted by [`Self::fill`], and only where a grain has several pages.
    #[inline]
    pub fn filled(&self) -> u64 {
        self.filled
    }
    /// A grain has come into memory.
    pub fn fill(&mut self) {
        self.filled += 1;
    }
    /// Whether a page is in memory.
    pub fn resident(&self, chunk: usize, page: usize) -> bool {
        self.block(chunk).is_some_and(|b| b.resident.get(page))
    }
    /// Blocks with their numbers.
    pub fn blocks(&self) -> impl Iterator<Item = (usize, &SharedBlock)> {
        self.blocks.iter().enumerate().filter_map(|(i, b)| b.as_deref().map(|b| (i, b)))
    }
}

/// All shared objects of a run.
#[derive(Clone, Debug, Default)]
pub struct SharedMemory {
    objects: Vec<SharedObject>,
}

impl SharedMemory {
    /// Creates an object of `chunks` chunks without pages or mappers; returns its number.
    pub fn create(&mut self, backing: Backing, chunks: usize) -> u32 {
        self.create_in_grains(backing, chunks, 1)
    }
    /// As [`Self::create`], of grains of so many base pages.
    pub fn create_in_grains(&mut self, backing: Backing, chunks: usize, grain: u64) -> u32 {
        self.objects.push(SharedObject { backing, mappers: Vec::new(), grain, filled: 0, blocks: vec![None; chunks] });
        self.objects.len() as u32 - 1
    }
    /// An object.
    #[inline]
    pub fn object(&self, id: u32) -> &SharedObject {
        &self.objects[id as usize]
    }
    /// An object, for changes.
    #[inline]
    pub fn object_mut(&mut self, id: u32) -> &mut SharedObject {
        &mut self.objects[id as usize]
    }
    /// All objects with their numbers.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &SharedObject)> {
        self.objects.iter().enumerate().map(|(i, o)| (i as u32, o))
    }
    /// The block of a page that is in memory.
    #[inline]
    pub fn block_of(&mut self, at: PageRef) -> &mut SharedBlock {
        self.objects[at.object as usize].block_mut(at.chunk as usize)
    }
    /// Node of an anonymous page that processes share since a fork; `None` for other kinds.
    pub fn anon_node(&self, at: PageRef) -> Option<usize> {
        let object = &self.objects[at.object as usize];
        let b = object.block(at.chunk as usize).filter(|_| object.backing == Backing::Anon)?;
        Some(usize::from(b.node.get(usize::from(at.page))))
    }
    /// Whether a migration holds the lock of a page.
    #[inline]
    pub fn locked(&self, at: PageRef) -> bool {
        let block = self.objects[at.object as usize].block(at.chunk as usize);
        block.is_some_and(|b| b.locked.get(at.page as usize))
    }
    /// One VMA no longer maps a page. If no VMA does, an anonymous page is freed and a page of a file is left
    /// in the page cache; both are reported to `freed`.
    pub fn unmap(&mut self, at: PageRef, freed: &mut impl FnMut(Unmapped)) {
        let o = &mut self.objects[at.object as usize];
        let backing = o.backing;
        let b = o.block_mut(at.chunk as usize);
        let page = at.page as usize;
        b.mapcount[page] -= 1;
        if b.mapcount[page] > 0 || backing == Backing::Shmem {
            return;
        }
        if backing == Backing::File {
            return self.leave_in_page_cache(at, freed);
        }
        let (node, frame) = (usize::from(b.node.get(page)), b.frame[page]);
        freed(Unmapped::Page { node, frame, class: backing.class(b.huge) });
        b.huge = false;
        b.resident.clear(page);
        b.last[page] = NEVER;
    }
    /// Leaves a page of a file in the page cache if no VMA maps it.
    pub fn leave_in_page_cache(&mut self, at: PageRef, freed: &mut impl FnMut(Unmapped)) {
        let (b, page) = (self.block_of(at), usize::from(at.page));
        if b.mapcount[page] > 0 || !b.resident.get(page) {
            return;
        }
        freed(Unmapped::Cached { node: usize::from(b.node.get(page)), frame: b.frame[page] });
        b.cached.set(page);
        b.locked.clear(page);
        b.resident.clear(page);
        b.last[page] = NEVER;
    }
    /// Removes a mapper. Shared memory is freed with its last mapper; a file keeps its pages.
    pub fn drop_mapper(&mut self, id: u32, mapper: Mapper, freed: &mut impl FnMut(Unmapped)) {
        let o = &mut self.objects[id as usize];
        o.mappers.retain(|m| *m != mapper);
        if !o.mappers.is_empty() || o.backing == Backing::File {
            return;
        }
        for block in o.blocks.iter_mut().filter_map(Option::take) {
            let mut from = 0;
            while let Some(page) = block.resident.next(from) {
                let (node, frame) = (usize::from(block.node.get(page)), block.frame[page]);
                let class = o.backing.class(block.huge);
                freed(match o.grain {
                    1 => Unmapped::Page { node, frame, class },
                    pages => Unmapped::Grain { node, frame, class, pages },
                });
                from = page + 1;
            }
        }
    }
    /// Adds the base pages on each node to `out`.
    pub fn add_pages_on_node(&self, out: &mut [u64]) {
        let blocks = self.objects.iter().flat_map(|o| o.blocks().map(|(_, b)| (o.grain, b)));
        for (grain, b) in blocks {
            if b.huge {
                out[usize::from(b.node.get(0))] += CHUNK_PAGES;
                continue;
            }
            for (w, &word) in b.resident.0.iter().enumerate() {
                for_runs(w, word, |from, to| b.node.each(from..to, |node, pages| out[node] += grain * pages));
            }
        }
    }
}

impl SharedMemory {
    /// Adds the anonymous pages on the active list, on each node, to `out`.
    pub fn add_active_on_node(&self, out: &mut [u64]) {
        let anon = self.objects.iter().filter(|o| o.backing == Backing::Anon);
        for (_, b) in anon.flat_map(SharedObject::blocks) {
            let (pages, each) = if b.huge { (1, CHUNK_PAGES) } else { (CHUNK_PAGES as usize, 1) };
            let active = |page: &usize| b.resident.get(*page) && b.frame[*page].has(Frame::ACTIVE);
            (0..pages).filter(active).for_each(|page| out[usize::from(b.node.get(page))] += each);
        }
    }
}
