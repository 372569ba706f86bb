//! Splitting huge pages, collapsing base pages into one, and swapping exclusive pages out and in
//! (thp-and-allocation.md sections 4.4, 9.4 and 11).
//!
//! Also what page-table walks need to know of a mapping.

use super::access_runs::ALL_RUNS;
use super::chunk::{Chunk, ChunkKind, EMPTY};
use super::mapping::Vma;
use crate::mm::block::{Bits512, Block, OwnPages, NEVER};
use crate::mm::page_nodes::PageNodes;
use crate::mm::pageblock::frame::Frame;
use crate::mm::units::CHUNK_PAGES;

impl Vma {
    /// Share of the resident pages that huge pages map, 0..=1.
    pub fn huge_share(&self) -> f64 {
        let rss = self.rss_pages();
        if rss == 0 {
            return 0.0;
        }
        (self.frame_map.huge_pages() * CHUNK_PAGES) as f64 / rss as f64
    }
    /// Page tables on each node. If no page table is noted, the number of pages stands for it.
    pub fn tables_on_node(&self) -> &[u64] {
        if self.frame_map.tables() == 0 {
            self.pages_on_node()
        } else {
            self.frame_map.tables_on_node()
        }
    }
    /// Whether a fault may map a huge page: nothing is mapped or swapped in the whole 2 MiB, and they have no page
    /// table.
    pub fn huge_fault_fits(&self, chunk: usize) -> bool {
        self.huge_ok
            && self.chunks[chunk].kind == ChunkKind::Empty
            && !self.frame_map.has_table(chunk)
            && self.frame_map.swapped_in_chunk(chunk) == 0
            && self.chunk_is_whole(chunk)
    }

    /// Splits the exclusive huge page of a chunk into 512 base pages of the same pageblock; returns its node and
    /// pageblock.
    pub fn split_huge(&mut self, chunk: usize) -> (usize, Frame) {
        let c = self.chunks[chunk];
        debug_assert!(c.kind == ChunkKind::Huge && c.shared == 0);
        let at = (usize::from(c.node), self.frame_map.huge(chunk));
        self.frame_map.split(chunk);
        self.chunks[chunk] = EMPTY;
        let all = |yes: bool| if yes { Bits512::range(0, 512) } else { Bits512::default() };
        let count = |yes: bool| if yes { CHUNK_PAGES as u16 } else { 0 };
        let (fresh, block) = self.small_block(chunk);
        *block = Block {
            present: all(true),
            marked: all(c.pmd_marked),
            read_only: all(c.read_only > 0),
            own: Some(Box::new(OwnPages { node: PageNodes::all(c.node), last: [c.index; 512] })),
            ..Block::empty()
        };
        let (marked, read_only) = (count(c.pmd_marked), count(c.read_only > 0));
        let touched = if c.touched != 0 { ALL_RUNS } else { 0 };
        *fresh = Chunk { present: CHUNK_PAGES as u16, marked, read_only, touched, ..*fresh };
        let index = fresh.index as usize;
        self.counts[index * self.nodes + at.0] = CHUNK_PAGES as u16;
        at
    }

    /// Collapses the base pages of a chunk into a huge page in `frame` of `node`. Calls `freed` with node and
    /// pageblock of each base page. None of them may be shared or swapped out.
    pub fn collapse(&mut self, chunk: usize, node: usize, frame: Frame, mut freed: impl FnMut(usize, Frame)) {
        let c = self.chunks[chunk];
        debug_assert!(!self.is_partly_mapped(chunk), "its deferred huge page is not split");
        debug_assert!(c.kind == ChunkKind::Small && c.shared == 0 && self.frame_map.swapped_in_chunk(chunk) == 0);
        let present = self.blocks[c.index as usize].present;
        let mut from = 0;
        while let Some(page) = present.next(from) {
            let old = self.blocks[c.index as usize].own_page(page).0;
            freed(usize::from(old), self.frame_map.take(chunk, page));
            from = page + 1;
        }
        self.marked_pages -= u64::from(c.marked);
        for n in 0..self.nodes {
            let pages = std::mem::take(&mut self.counts[c.index as usize * self.nodes + n]);
            self.pages_on_node[n] -= u64::from(pages);
        }
        self.folios.split_chunk(chunk);
        self.chunks[chunk] = EMPTY;
        self.blocks[c.index as usize] = Block::empty();
        self.free_blocks.push(c.index);
        self.populate_huge(chunk, node, frame);
    }

    /// Replaces an exclusive base page by a swap slot; returns its node and pageblock.
    pub fn swap_out(&mut self, chunk: usize, page: usize, slot: u32) -> (usize, Frame) {
        debug_assert!(self.partly_mapped.iter().all(|p| !p.maps(chunk, page)), "its deferred huge page is not split");
        self.unmark(chunk, page);
        self.folios.split(chunk, page);
        let index = self.chunks[chunk].index;
        let (c, b) = self.small_block(chunk);
        debug_assert!(b.present.get(page) && !b.shared.get(page));
        b.present.clear(page);
        c.present -= 1;
        if b.read_only.get(page) {
            b.read_only.clear(page);
            c.read_only -= 1;
        }
        let node = usize::from(b.own_page(page).0);
        if c.present == 0 {
            *c = EMPTY;
            *b = Block::empty();
            self.free_blocks.push(index);
        }
        self.counts[index as usize * self.nodes + node] -= 1;
        self.pages_on_node[node] -= 1;
        let frame = self.frame_map.take(chunk, page);
        self.frame_map.set_slot(chunk, page, slot);
        (node, frame)
    }
    /// `last_cpupid` of an exclusive page, or of the huge page.
    pub fn last_cpupid(&self, chunk: usize, page: usize) -> u32 {
        let c = &self.chunks[chunk];
        match c.kind {
            ChunkKind::Small => self.blocks[c.index as usize].own_page(page).1,
            _ => c.index,
        }
    }
    /// Replaces the exclusive huge page of a chunk by 512 slots from `first` on; returns its node and pageblock.
    pub fn swap_out_huge(&mut self, chunk: usize, first: u32) -> (usize, Frame) {
        let c = self.chunks[chunk];
        debug_assert!(c.kind == ChunkKind::Huge && c.shared == 0);
        let (node, frame) = self.clear_huge(chunk);
        (0..CHUNK_PAGES as u32).for_each(|i| self.frame_map.set_slot(chunk, i as usize, first + i));
        (node, frame)
    }
    /// Clears a huge entry; returns the node and pageblock of its page.
    pub(in crate::mm) fn clear_huge(&mut self, chunk: usize) -> (usize, Frame) {
        let c = self.chunks[chunk];
        if c.pmd_marked {
            self.marked_pages -= CHUNK_PAGES;
        }
        let node = usize::from(c.node);
        self.chunks[chunk] = EMPTY;
        self.pages_on_node[node] -= CHUNK_PAGES;
        (node, self.frame_map.take_huge(chunk))
    }
    /// Gives a collapsed page a `last_cpupid` and a mark from its base pages.
    pub fn set_collapsed_state(&mut self, chunk: usize, last: u32, marked: bool) {
        self.set_last_cpupid(chunk, 0, last);
        let c = &mut self.chunks[chunk];
        if marked && c.kind == ChunkKind::Huge && !c.pmd_marked {
            c.pmd_marked = true;
            self.marked_pages += CHUNK_PAGES;
        }
    }
    /// The first `last_cpupid` among the exclusive pages of a chunk that have one; a collapsed page takes it.
    pub fn first_last_cpupid(&self, chunk: usize) -> u32 {
        let c = &self.chunks[chunk];
        if c.kind != ChunkKind::Small {
            return NEVER;
        }
        let b = &self.blocks[c.index as usize];
        let own = b.exclusive();
        let pages = std::iter::successors(own.next(0), |p| own.next(p + 1));
        pages.map(|p| b.own_page(p).1).find(|last| *last != NEVER).unwrap_or(NEVER)
    }
    /// Node of the first exclusive page of a chunk.
    pub fn first_node(&self, chunk: usize) -> Option<usize> {
        let c = &self.chunks[chunk];
        match c.kind {
            ChunkKind::Huge if c.shared == 0 => Some(usize::from(c.node)),
            ChunkKind::Small => {
                let b = &self.blocks[c.index as usize];
                b.exclusive().next(0).map(|p| usize::from(b.own_page(p).0))
            }
            _ => None,
        }
    }
    /// First marked page at or after `from`, in a chunk of base pages.
    pub fn next_marked(&self, chunk: usize, from: usize) -> Option<usize> {
        let c = &self.chunks[chunk];
        match c.kind {
            ChunkKind::Small if c.marked > 0 => self.blocks[c.index as usize].marked.next(from),
            _ => None,
        }
    }
    /// Node of an exclusive base page; `None` if the entry maps none.
    #[inline]
    pub fn exclusive_node(&self, chunk: usize, page: usize) -> Option<usize> {
        let c = &self.chunks[chunk];
        if c.kind != ChunkKind::Small {
            return None;
        }
        let b = &self.blocks[c.index as usize];
        (b.present.get(page) && !b.shared.get(page)).then(|| usize::from(b.own_page(page).0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mm::vma::kind::VmaKind;

    fn vma() -> Vma {
        Vma::new(0, 4 << 20, VmaKind::PrivateAnon, true, 2)
    }

    #[test]
    fn a_split_page_keeps_its_node_and_mark_and_collapses_again() {
        let mut v = vma();
        v.populate_huge(1, 1, Frame(9));
        assert!(v.huge_share() == 1.0 && !v.huge_fault_fits(1) && v.huge_fault_fits(0));
        assert_eq!(v.split_huge(1), (1, Frame(9)));
        assert_eq!((v.pages_on_node(), v.huge_share()), ([0, 512].as_slice(), 0.0));
        v.check().unwrap();
        let mut freed = Vec::new();
        v.collapse(1, 0, Frame(4), |node, frame| freed.push((node, frame)));
        assert_eq!((freed.len(), freed[511]), (512, (1, Frame(9))));
        assert_eq!((v.pages_on_node(), v.frame_map.huge(1)), ([512, 0].as_slice(), Frame(4)));
        v.check().unwrap();
    }

    #[test]
    fn a_collapsed_page_remembers_what_the_first_page_with_a_memory_did() {
        let mut v = vma();
        (2..6).for_each(|p| v.populate(0, p, 1, Frame(7)));
        assert_eq!((v.first_node(0), v.first_last_cpupid(0)), (Some(1), NEVER));
        v.set_last_cpupid(0, 4, 3);
        v.set_last_cpupid(0, 5, 2);
        assert_eq!(v.first_last_cpupid(0), 3, "pages 2 and 3 have none");
    }

    #[test]
    fn swapped_pages_are_absent_and_know_their_slots() {
        let mut v = vma();
        v.populate(0, 3, 1, Frame(7));
        v.populate_huge(1, 0, Frame(8));
        assert_eq!(v.swap_out(0, 3, 40), (1, Frame(7)));
        assert_eq!(v.swap_out_huge(1, 512), (0, Frame(8)));
        assert_eq!((v.rss_pages(), v.frame_map.swapped()), (0, 513));
        assert_eq!((v.frame_map.take_slot(0, 3), v.frame_map.slot(1, 511)), (Some(40), Some(1023)));
        assert!(!v.huge_fault_fits(1), "its pages are on disk");
        v.check().unwrap();
    }
}
