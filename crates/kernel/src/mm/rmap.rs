//! Operations on all mappings of a shared anonymous page: swapping it out, splitting it, migrating it (`try_to_unmap`,
//! `split_huge_page`, `migrate_pages`; thp-and-allocation.md sections 4.4, 11 and 12).
//!
//! Problem: a page that processes share since a fork is freed only when none of them maps it any more.
//! Approach: the object of the page lists its mappers. The page is changed once, and each entry that maps it is
//! changed. On the swap device it takes one slot, which every entry names; the object counts these entries. The first
//! process that reads it back brings the page into memory for all. The others find it there (the swap cache) until no
//! entry names the slot any more.
//! Invariant: the count of a slot is the number of entries that name it, and the slot is free when the count is zero.

use super::account::PageClass;
use super::address_space::AddressSpace;
use super::block::{Block, NEVER};
use super::object::{Backing, PageRef, SharedMemory};
use super::physical_memory::PhysicalMemory;
use super::units::CHUNK_PAGES;
use super::unmapped::Unmapped;
use crate::mm::pageblock::frame::Frame;
use crate::mm::vma::chunk::{ChunkKind, EMPTY};
use crate::mm::vma::mapping::Vma;
use numalab_base::node_mask::NodeId;

/// The address spaces of all processes.
pub trait AddressSpaceTable {
    /// The address space of a process.
    fn space_mut(&mut self, process: u32) -> &mut AddressSpace;
}

/// Result of an attempt to swap out a shared page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SwapOut {
    /// The page is swapped out.
    Done {
        /// Base pages freed.
        pages: u64,
        /// Base pages of these that had to be written; a page whose slot still holds it is not written again.
        written: u64,
        /// Entries changed.
        entries: u64,
    },
    /// The page is locked by a migration, is in an LRU batch, or is not anonymous.
    Busy,
    /// The swap device is full.
    Full,
    /// There are no 512 adjacent slots for a huge page.
    NoCluster,
}

/// State of a swapped page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SwapEntry {
    /// Only this mapping names the slot, so the page will be exclusive.
    Own,
    /// Other mappings name the slot too, and the page is not in memory.
    Shared(PageRef),
    /// The page is in memory already.
    Cached(PageRef),
}

/// Calls `f` for every VMA that maps a page; returns their number.
fn rmap_walk<S: AddressSpaceTable>(
    at: PageRef,
    store: &SharedMemory,
    spaces: &mut S,
    mut f: impl FnMut(&mut Vma),
) -> u64 {
    let mut entries = 0;
    for m in &store.object(at.object).mappers {
        let v = spaces.space_mut(m.process).vma_mut(m.vma as usize);
        if v.maps(at) {
            f(v);
            entries += 1;
        }
    }
    entries
}

/// Swaps out a shared anonymous page of all its mappings, to one slot. A huge page goes to 512 adjacent slots.
pub fn swap_out<S: AddressSpaceTable>(
    at: PageRef,
    store: &mut SharedMemory,
    spaces: &mut S,
    memory: &mut PhysicalMemory,
) -> SwapOut {
    let (chunk, page) = (at.chunk as usize, usize::from(at.page));
    let backing = store.object(at.object).backing;
    let b = store.block_of(at);
    if backing != Backing::Anon || b.locked.get(page) || b.batched.get(page) {
        return SwapOut::Busy;
    }
    let (node, frame) = (usize::from(b.node.get(page)), b.frame[page]);
    if b.huge {
        let Some(first) = memory.swap.take_cluster() else { return SwapOut::NoCluster };
        let entries = rmap_walk(at, store, spaces, |v| v.swap_out_shared_huge(chunk, first));
        let b = store.block_of(at);
        b.evict(page);
        (0..CHUNK_PAGES as usize).for_each(|p| b.add_slot(p, first + p as u32, entries as u32));
        (0..CHUNK_PAGES as u32).for_each(|p| memory.note_eviction(node, frame, first + p));
        memory.free_page(node, frame, PageClass::AnonHuge);
        return SwapOut::Done { pages: CHUNK_PAGES, written: CHUNK_PAGES, entries };
    }
    let known = b.slot(page).map(|(slot, _)| slot);
    let Some(slot) = known.or_else(|| memory.swap.take()) else { return SwapOut::Full };
    let entries = rmap_walk(at, store, spaces, |v| v.swap_out_shared(chunk, page, node, slot));
    let b = store.block_of(at);
    b.evict(page);
    b.add_slot(page, slot, entries as u32);
    memory.note_eviction(node, frame, slot);
    memory.free_page(node, frame, PageClass::Anon);
    SwapOut::Done { pages: 1, written: u64::from(known.is_none()), entries }
}

/// Splits a shared huge page into base pages, in all its mappings.
pub fn split<S: AddressSpaceTable>(at: PageRef, store: &mut SharedMemory, spaces: &mut S, memory: &mut PhysicalMemory) {
    let b = store.block_of(at);
    let (node, frame) = (usize::from(b.node.get(0)), b.frame[0]);
    b.split();
    memory.split_frame(node, frame);
    rmap_walk(at, store, spaces, |v| v.split_shared_huge(at.chunk as usize));
}

/// Moves a shared page to a frame of another node, in all its mappings, and frees the old frame. The new entries are
/// not marked.
pub fn migrate<S: AddressSpaceTable>(
    at: PageRef,
    (node, frame): (usize, Frame),
    store: &mut SharedMemory,
    spaces: &mut S,
    memory: &mut PhysicalMemory,
) {
    let (chunk, page) = (at.chunk as usize, usize::from(at.page));
    let backing = store.object(at.object).backing;
    let b = store.block_of(at);
    let old = usize::from(b.node.replace(page, node as NodeId));
    let was = b.frame[page];
    let pages = if b.huge { CHUNK_PAGES } else { 1 };
    b.frame[page] = if backing == Backing::Anon { memory.carry_flags(was, node, frame, pages) } else { frame };
    memory.free_page(old, was, backing.class(b.huge));
    rmap_walk(at, store, spaces, |v| {
        v.unmark(chunk, page);
        v.shared_moved(chunk, old, node);
    });
}

impl Vma {
    /// State of a swapped page; `None` if the page is not swapped.
    pub fn swap_entry(&self, chunk: usize, page: usize, store: &SharedMemory) -> Option<SwapEntry> {
        self.frame_map.slot(chunk, page)?;
        let Some(layer) = self.slot_layer(chunk, page, store) else { return Some(SwapEntry::Own) };
        let at = PageRef { object: self.objects[layer], chunk: chunk as u32, page: page as u16 };
        let b = store.object(at.object).block(chunk)?;
        Some(match b.slot(page) {
            _ if b.resident.get(page) => SwapEntry::Cached(at),
            Some((_, 1)) => SwapEntry::Own,
            _ => SwapEntry::Shared(at),
        })
    }

    /// Maps a swapped page that is in memory as a shared page, write-protected.
    pub fn swap_in_shared(&mut self, at: PageRef, store: &mut SharedMemory, freed: &mut impl FnMut(Unmapped)) {
        let (chunk, page) = (at.chunk as usize, usize::from(at.page));
        self.release_slot(chunk, page, store, freed);
        let layer = self.objects.iter().position(|o| *o == at.object).unwrap_or(0);
        let b = store.block_of(at);
        b.mapcount[page] += 1;
        self.map_layer(layer, chunk, page, usize::from(b.node.get(page)), true);
    }
    /// Replaces the entry of a shared base page on `node` by a slot.
    fn swap_out_shared(&mut self, chunk: usize, page: usize, node: usize, slot: u32) {
        self.unmark(chunk, page);
        let index = self.chunks[chunk].index;
        let (c, b) = self.small_block(chunk);
        b.present.clear(page);
        b.clear_shared(page);
        c.present -= 1;
        c.shared -= 1;
        if b.read_only.get(page) {
            b.read_only.clear(page);
            c.read_only -= 1;
        }
        if c.present == 0 {
            *c = EMPTY;
            *b = Block::empty();
            self.free_blocks.push(index);
        }
        self.counts[index as usize * self.nodes + node] -= 1;
        self.pages_on_node[node] -= 1;
        self.frame_map.set_slot(chunk, page, slot);
    }
    /// Replaces the huge entry of a shared huge page by 512 slots from `first` on.
    fn swap_out_shared_huge(&mut self, chunk: usize, first: u32) {
        debug_assert!(self.chunks[chunk].kind == ChunkKind::Huge && self.chunks[chunk].shared > 0);
        self.clear_huge(chunk);
        (0..CHUNK_PAGES as u32).for_each(|i| self.frame_map.set_slot(chunk, i as usize, first + i));
    }
}

impl SharedMemory {
    /// Notes that a page has been read from its slot into a frame; no entry maps it yet.
    pub fn read_back(&mut self, at: PageRef, (node, frame): (usize, Frame)) {
        let page = usize::from(at.page);
        let b = self.block_of(at);
        b.resident.set(page);
        b.node.set(page, node as NodeId);
        (b.last[page], b.frame[page], b.mapcount[page]) = (NEVER, frame, 0);
    }
    /// Number of slots that shared pages use, and number of entries that name them.
    pub fn slots(&self) -> (u64, u64) {
        let blocks = self.iter().flat_map(|(_, o)| o.blocks());
        blocks
            .flat_map(|(_, b)| (0..CHUNK_PAGES as usize).filter_map(|p| b.slot(p)))
            .fold((0, 0), |(n, all), s| (n + 1, all + u64::from(s.1)))
    }
}
