//! Entries side by side that are alike, for steps over several pages at once.

use super::access_runs::runs;
use super::chunk::ChunkKind;
use super::mapping::Vma;
use super::page_state::PageState;
use crate::mm::block::{Bits512, NEVER};
use crate::mm::object::SharedMemory;
use crate::mm::pageblock::frame::Frame;
use crate::mm::units::CHUNK_PAGES;
use numalab_base::node_mask::NodeId;

impl Vma {
    /// Populates `pages` absent base pages of one pageblock from `first` on, as [`Self::populate`] does one after the
    /// other. The chunk has base pages already, and no entry that maps the zero page.
    pub fn populate_run(&mut self, chunk: usize, first: usize, pages: usize, (node, frame): (usize, Frame)) {
        self.anon = true;
        self.frame_map.set_run(chunk, first, pages, frame);
        let (c, b) = self.small_block(chunk);
        let added = Bits512::range(first, first + pages);
        debug_assert_eq!(b.present.zip(&added, |p, a| p & a).count(), 0);
        b.present = b.present.zip(&added, |p, a| p | a);
        let own = b.own_mut();
        own.node.fill(first..first + pages, node as NodeId);
        own.last[first..first + pages].fill(NEVER);
        c.present += pages as u16;
        c.touched |= runs(first, first + pages);
        let index = c.index as usize;
        self.counts[index * self.nodes + node] += pages as u16;
        self.pages_on_node[node] += pages as u64;
    }
    /// Absent pages side by side from `page` on, at most `most`, in a chunk that has base pages; 0 in any other.
    #[inline]
    pub fn absent_run(&self, chunk: usize, page: usize, most: usize) -> usize {
        let c = &self.chunks[chunk];
        if c.kind != ChunkKind::Small {
            return 0;
        }
        let end = (page + most).min(CHUNK_PAGES as usize);
        self.blocks[c.index as usize].present.next(page).unwrap_or(end).min(end) - page
    }
    /// Marked base pages side by side from `page` on that no other mapping can have, at most `most`; 0 where there are
    /// huge pages or large folios.
    #[inline]
    pub fn marked_run(&self, chunk: usize, page: usize, most: usize) -> usize {
        let c = &self.chunks[chunk];
        if c.kind != ChunkKind::Small || c.marked == 0 || self.folios.any() {
            return 0;
        }
        let end = (page + most).min(CHUNK_PAGES as usize);
        let b = &self.blocks[c.index as usize];
        let others = b.marked.zip(&b.exclusive(), |marked, own| !(marked & own));
        others.next(page).unwrap_or(end).min(end) - page
    }
    /// Base pages side by side from `page` on that are write-protected, in common with other mappings, and not marked,
    /// at most `most`; 0 where there are huge pages or large folios.
    #[inline]
    pub fn write_protected_run(&self, chunk: usize, page: usize, most: usize) -> usize {
        let c = &self.chunks[chunk];
        if c.kind != ChunkKind::Small || c.shared == 0 || self.folios.any() {
            return 0;
        }
        let end = (page + most).min(CHUNK_PAGES as usize);
        let b = &self.blocks[c.index as usize];
        let common = b.read_only.zip(&b.shared, |read_only, shared| read_only & shared);
        let others = common.zip(&b.marked, |common, marked| !(common & !marked));
        others.next(page).unwrap_or(end).min(end) - page
    }
    /// Puts the nodes of pages side by side from `page` on into `nodes`, as far as a write finds them without a fault,
    /// at most `most`.
    pub fn ready_nodes(
        &self,
        chunk: usize,
        page: usize,
        most: usize,
        (store, nodes): (&SharedMemory, &mut Vec<NodeId>),
    ) {
        let end = (page + most).min(CHUNK_PAGES as usize);
        let end = self.next_fault(chunk, page, end, true).unwrap_or(end);
        let c = &self.chunks[chunk];
        nodes.clear();
        match c.kind {
            ChunkKind::Small if c.shared == 0 && !self.folios.any() => match &self.blocks[c.index as usize].own {
                Some(own) => own.node.append_to(page..end, nodes),
                None => nodes.resize(end - page, 0),
            },
            _ => nodes.extend((page..end).map_while(|p| self.ready_page(chunk, p, store))),
        }
    }
    /// Node of a page that a write finds without a fault.
    fn ready_page(&self, chunk: usize, page: usize, store: &SharedMemory) -> Option<NodeId> {
        match self.page(chunk, page, store) {
            PageState::Ready { node } => Some(node),
            _ => None,
        }
    }
    /// Node and last cpupid of a page of [`Self::marked_run`]; `None` if its mark is gone.
    #[inline]
    pub fn marked_page(&self, chunk: usize, page: usize) -> Option<(usize, u32)> {
        let c = &self.chunks[chunk];
        let block = (c.kind == ChunkKind::Small).then(|| &self.blocks[c.index as usize])?;
        block.marked.get(page).then(|| {
            let (node, last) = block.own_page(page);
            (usize::from(node), last)
        })
    }
}
