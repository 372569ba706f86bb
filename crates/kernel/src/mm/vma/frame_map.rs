//! The frames of a mapping: the pageblock of each exclusive page, the slot of each swapped page, and the page table of
//! each 2 MiB.
//!
//! Problem: a freed page must go back to its pageblock, or fragmentation is not modelled. Most chunks are huge, and a
//! 16 TiB machine has 2^23 of them.
//! Approach: 16 bytes per chunk, and a block of 512 entries only for chunks with base pages or swapped pages.
//! Invariants: an entry is a pageblock, a slot, or nothing. A chunk with a huge page has no entries.

use crate::mm::pageblock::frame::Frame;
use numalab_base::node_mask::NodeId;
use std::collections::BTreeMap;

/// Set in entries that are swap slots; pageblocks and slots have smaller numbers.
const SLOT: u32 = 1 << 31;
const NOTHING: u32 = u32::MAX;
const NO_TABLE: NodeId = NodeId::MAX;

#[derive(Clone, Copy, Debug)]
struct Chunk {
    /// Pageblock of the huge page.
    huge: u32,
    /// Index of its block of entries.
    entries: u32,
    /// Pageblock of its page table.
    table: u32,
    /// Number of slots among the entries.
    swapped: u16,
    /// Node of its page table, or [`NO_TABLE`].
    table_node: NodeId,
}

const UNTOUCHED: Chunk = Chunk { huge: NOTHING, entries: NOTHING, table: NOTHING, swapped: 0, table_node: NO_TABLE };

#[derive(Clone, Debug)]
struct Entries {
    used: u16,
    at: [u32; 512],
}

/// Pageblocks, swap slots and page tables of one mapping.
#[derive(Clone, Debug)]
pub struct FrameMap {
    chunks: Vec<Chunk>,
    entries: Vec<Entries>,
    free: Vec<u32>,
    tables_on_node: Vec<u64>,
    tables: u64,
    /// Chunks of a page table, as a power of two, and those of the first table that lie before the mapping.
    table_chunks: (u32, u32),
    /// Page tables of a chunk, where it has several, and those beside the first one: chunk, node and pageblock.
    tables_in_chunk: u32,
    more_tables: BTreeMap<usize, Vec<(NodeId, Frame)>>,
    swapped: u64,
    huge: u64,
}

impl FrameMap {
    /// The map of a mapping of `chunks` chunks without pages, on a machine with `nodes` nodes.
    pub fn new(chunks: usize, nodes: usize) -> Self {
        Self {
            chunks: vec![UNTOUCHED; chunks],
            entries: Vec::new(),
            free: Vec::new(),
            tables_on_node: vec![0; nodes],
            tables: 0,
            table_chunks: (0, 0),
            tables_in_chunk: 1,
            more_tables: BTreeMap::new(),
            swapped: 0,
            huge: 0,
        }
    }
    /// The map of a mapping whose page tables cover 2 to the power of `order` chunks each. Of the first table's chunks
    /// `before` lie before the mapping. (Each chunk has a table of its own otherwise.)
    pub fn with_tables_of(self, order: u32, before: u32) -> Self {
        Self { table_chunks: (order, before), ..self }
    }
    /// The map of a mapping whose chunks have `tables` page tables each, which come with its first page.
    pub fn with_tables_in_chunk(self, tables: u32) -> Self {
        Self { tables_in_chunk: tables, ..self }
    }
    /// Page tables that a chunk needs.
    pub fn tables_in_chunk(&self) -> u32 {
        self.tables_in_chunk
    }
    /// Memory that the map takes in the simulator, bytes.
    pub fn state_bytes(&self) -> usize {
        self.chunks.capacity() * std::mem::size_of::<Chunk>() + self.entries.capacity() * std::mem::size_of::<Entries>()
    }

    /// Notes the pageblock of a huge page.
    pub fn set_huge(&mut self, chunk: usize, frame: Frame) {
        self.huge += 1;
        self.chunks[chunk].huge = frame.0;
    }
    /// Sets the new pageblock of a huge page that has moved; returns the old one.
    pub fn move_huge(&mut self, chunk: usize, frame: Frame) -> Frame {
        Frame(std::mem::replace(&mut self.chunks[chunk].huge, frame.0))
    }
    /// Removes the pageblock of a huge page that becomes shared, and returns it.
    pub fn share_huge(&mut self, chunk: usize) -> Frame {
        self.move_huge(chunk, Frame::UNKNOWN)
    }
    /// The map of a forked copy. Its entries map shared pages, which have no pageblock here, and name the same slots.
    pub fn forked(&self) -> Self {
        let mut copy = Self::new(self.chunks.len(), self.tables_on_node.len());
        (copy.huge, copy.table_chunks) = (self.huge, self.table_chunks);
        copy.tables_in_chunk = self.tables_in_chunk;
        for chunk in (0..self.chunks.len()).filter(|c| self.chunks[*c].swapped > 0) {
            for page in 0..512 {
                if let Some(slot) = self.slot(chunk, page) {
                    copy.set_slot(chunk, page, slot);
                }
            }
        }
        copy
    }
    /// Number of huge pages.
    #[inline]
    pub fn huge_pages(&self) -> u64 {
        self.huge
    }
    /// Pageblock of a huge page.
    #[inline]
    pub fn huge(&self, chunk: usize) -> Frame {
        Frame(self.chunks[chunk].huge)
    }
    /// Removes the pageblock of a huge page and returns it.
    pub fn take_huge(&mut self, chunk: usize) -> Frame {
        self.huge -= 1;
        Frame(std::mem::replace(&mut self.chunks[chunk].huge, NOTHING))
    }
    /// Replaces a huge page by 512 base pages of the same pageblock.
    pub fn split(&mut self, chunk: usize) {
        let frame = self.take_huge(chunk);
        if frame != Frame::UNKNOWN {
            let e = self.entries_mut(chunk);
            *e = Entries { used: 512, at: [frame.0; 512] };
        }
    }

    /// Notes the pageblock of a base page.
    #[inline]
    pub fn set(&mut self, chunk: usize, page: usize, frame: Frame) {
        let e = self.entries_mut(chunk);
        e.used += u16::from(e.at[page] == NOTHING);
        e.at[page] = frame.0;
        e.used -= u16::from(frame == Frame::UNKNOWN);
    }
    /// Notes the pageblock of `pages` base pages from `first` on, which had none.
    pub fn set_run(&mut self, chunk: usize, first: usize, pages: usize, frame: Frame) {
        let e = self.entries_mut(chunk);
        debug_assert!(e.at[first..first + pages].iter().all(|at| *at == NOTHING));
        e.at[first..first + pages].fill(frame.0);
        e.used += if frame == Frame::UNKNOWN { 0 } else { pages as u16 };
    }
    /// Pageblock of a base page; [`Frame::UNKNOWN`] if it is not in memory.
    #[inline]
    pub fn get(&self, chunk: usize, page: usize) -> Frame {
        match self.entry(chunk, page) {
            at if at & SLOT == 0 => Frame(at),
            _ => Frame::UNKNOWN,
        }
    }
    /// Removes the pageblock of a base page and returns it.
    #[inline]
    pub fn take(&mut self, chunk: usize, page: usize) -> Frame {
        let frame = self.get(chunk, page);
        if frame != Frame::UNKNOWN {
            self.clear(chunk, page);
        }
        frame
    }

    /// Notes the swap slot of a page.
    pub fn set_slot(&mut self, chunk: usize, page: usize, slot: u32) {
        debug_assert!(slot < SLOT - 1);
        let e = self.entries_mut(chunk);
        e.used += u16::from(e.at[page] == NOTHING);
        e.at[page] = SLOT | slot;
        self.chunks[chunk].swapped += 1;
        self.swapped += 1;
    }
    /// Swap slot of a page; `None` if the page is not swapped.
    #[inline]
    pub fn slot(&self, chunk: usize, page: usize) -> Option<u32> {
        if self.chunks[chunk].swapped == 0 {
            return None;
        }
        let at = self.entry(chunk, page);
        (at != NOTHING && at & SLOT != 0).then_some(at & !SLOT)
    }
    /// Removes the swap slot of a page and returns it.
    pub fn take_slot(&mut self, chunk: usize, page: usize) -> Option<u32> {
        let slot = self.slot(chunk, page)?;
        self.chunks[chunk].swapped -= 1;
        self.swapped -= 1;
        self.clear(chunk, page);
        Some(slot)
    }
    /// Number of swapped pages of a chunk.
    #[inline]
    pub fn swapped_in_chunk(&self, chunk: usize) -> u16 {
        self.chunks[chunk].swapped
    }
    /// Number of swapped pages.
    pub fn swapped(&self) -> u64 {
        self.swapped
    }

    /// The chunk with which the table of a chunk is noted: the first of its chunks in the mapping.
    #[inline]
    fn table_of(&self, chunk: usize) -> usize {
        let (order, before) = self.table_chunks;
        ((chunk + before as usize) >> order << order).saturating_sub(before as usize)
    }
    /// Whether a chunk has a page table.
    #[inline]
    pub fn has_table(&self, chunk: usize) -> bool {
        self.chunks[self.table_of(chunk)].table_node != NO_TABLE
    }
    /// Notes the page table of a chunk, and of the others that it covers.
    pub fn set_table(&mut self, chunk: usize, node: usize, frame: Frame) {
        debug_assert!(!self.has_table(chunk) && node < usize::from(NO_TABLE));
        let at = self.table_of(chunk);
        let c = &mut self.chunks[at];
        (c.table, c.table_node) = (frame.0, node as NodeId);
        self.tables_on_node[node] += 1;
        self.tables += 1;
    }
    /// Notes one more page table of a chunk that has several.
    pub fn add_table(&mut self, chunk: usize, node: usize, frame: Frame) {
        debug_assert!(self.has_table(chunk) && self.tables_in_chunk > 1);
        self.more_tables.entry(chunk).or_default().push((node as NodeId, frame));
        self.tables_on_node[node] += 1;
        self.tables += 1;
    }
    /// Removes a page table of a chunk; returns its node and pageblock.
    pub fn take_table(&mut self, chunk: usize) -> Option<(usize, Frame)> {
        if !self.has_table(chunk) {
            return None;
        }
        let at = self.table_of(chunk);
        if let Some((node, frame)) = self.more_tables.get_mut(&at).and_then(Vec::pop) {
            self.tables_on_node[usize::from(node)] -= 1;
            self.tables -= 1;
            return Some((usize::from(node), frame));
        }
        let c = &mut self.chunks[at];
        let node = usize::from(std::mem::replace(&mut c.table_node, NO_TABLE));
        self.tables_on_node[node] -= 1;
        self.tables -= 1;
        Some((node, Frame(c.table)))
    }
    /// Number of page tables on each node.
    #[inline]
    pub fn tables_on_node(&self) -> &[u64] {
        &self.tables_on_node
    }
    /// Number of page tables.
    pub fn tables(&self) -> u64 {
        self.tables
    }

    #[inline]
    fn entry(&self, chunk: usize, page: usize) -> u32 {
        self.entries.get(self.chunks[chunk].entries as usize).map_or(NOTHING, |e| e.at[page])
    }
    fn entries_mut(&mut self, chunk: usize) -> &mut Entries {
        if self.chunks[chunk].entries == NOTHING {
            let index = self.free.pop().unwrap_or_else(|| {
                self.entries.push(Entries { used: 0, at: [NOTHING; 512] });
                (self.entries.len() - 1) as u32
            });
            self.chunks[chunk].entries = index;
        }
        &mut self.entries[self.chunks[chunk].entries as usize]
    }
    #[inline]
    fn clear(&mut self, chunk: usize, page: usize) {
        let index = self.chunks[chunk].entries;
        let e = &mut self.entries[index as usize];
        e.at[page] = NOTHING;
        e.used -= 1;
        if e.used == 0 {
            self.chunks[chunk].entries = NOTHING;
            self.free.push(index);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_slots_and_tables_come_and_go() {
        let mut p = FrameMap::new(2, 3);
        p.set(1, 7, Frame(40));
        p.set(1, 8, Frame(41));
        assert_eq!((p.get(1, 7), p.get(1, 9), p.get(0, 7)), (Frame(40), Frame::UNKNOWN, Frame::UNKNOWN));
        assert_eq!(p.take(1, 7), Frame(40));
        p.set_slot(1, 7, 99);
        assert_eq!((p.slot(1, 7), p.slot(1, 8), p.get(1, 7)), (Some(99), None, Frame::UNKNOWN));
        assert_eq!((p.swapped(), p.swapped_in_chunk(1)), (1, 1));
        assert_eq!((p.take_slot(1, 7), p.take_slot(1, 7), p.take(1, 8)), (Some(99), None, Frame(41)));
        assert_eq!((p.free.len(), p.entries.len()), (1, 1), "the empty block is used again");
        p.set_table(0, 2, Frame(5));
        assert_eq!((p.tables(), p.tables_on_node()), (1, [0, 0, 1].as_slice()));
        assert_eq!((p.take_table(0), p.take_table(0)), (Some((2, Frame(5))), None));
    }

    #[test]
    fn a_split_page_lies_where_it_lay() {
        let mut p = FrameMap::new(1, 1);
        p.set_huge(0, Frame(3));
        p.split(0);
        assert!((0..512).all(|i| p.take(0, i) == Frame(3)));
        assert_eq!((p.huge(0), p.free.len()), (Frame::UNKNOWN, 1));
        p.set_huge(0, Frame::UNKNOWN);
        p.split(0);
        assert_eq!((p.get(0, 0), p.huge_pages()), (Frame::UNKNOWN, 0), "of an unknown frame nothing is noted");
    }

    #[test]
    fn a_table_may_cover_many_chunks() {
        // Four chunks a table, and the mapping begins with the last of the first four.
        let mut p = FrameMap::new(6, 2).with_tables_of(2, 3);
        p.set_table(3, 1, Frame(5));
        assert_eq!([0, 1, 2, 3, 4, 5].map(|c| p.has_table(c)), [false, true, true, true, true, false]);
        assert_eq!(p.forked().table_chunks, (2, 3));
        assert_eq!((p.take_table(1), p.take_table(4), p.tables()), (Some((1, Frame(5))), None, 0));
    }
}
