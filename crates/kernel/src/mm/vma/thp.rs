//! A huge page becomes 512 base pages, and the other way round.

use super::super::block::{Bits512, Block, NEVER};
use super::super::CHUNK_PAGES;
use super::{Chunk, ChunkKind, Vma, EMPTY};

impl Vma {
    /// Splits the huge page of a chunk into base pages on the same node. All of them remember what the huge page
    /// remembered and are marked if it was. Returns the node; `None` if the chunk holds no huge page of this mapping's own.
    pub fn split_huge(&mut self, chunk: usize) -> Option<usize> {
        let c = self.chunks[chunk];
        if c.kind != ChunkKind::Huge || c.shared > 0 {
            return None;
        }
        let mut b = Block::empty();
        b.present = Bits512::range(0, CHUNK_PAGES as usize);
        let own = b.own_mut();
        own.node = [c.node; 512];
        own.last = [c.index; 512];
        let mut marked = 0;
        if c.huge_marked {
            b.marked = b.present;
            marked = CHUNK_PAGES as u16;
        }
        let index = match self.free_blocks.pop() {
            Some(i) => {
                self.blocks[i as usize] = b;
                i
            }
            None => {
                self.blocks.push(b);
                (self.blocks.len() - 1) as u32
            }
        };
        self.chunks[chunk] = Chunk { kind: ChunkKind::Small, index, present: CHUNK_PAGES as u16, marked, ..EMPTY };
        Some(usize::from(c.node))
    }
    /// Makes the base pages of a chunk one huge page on `node`. It remembers what its first page remembered, and is
    /// marked if any of them was. Calls `freed(node, pages)` for what is given back; the caller has allocated the
    /// huge page. False, and nothing changed, unless the chunk holds base pages, all of this
    /// mapping's own.
    pub fn collapse(&mut self, chunk: usize, node: usize, mut freed: impl FnMut(usize, u64)) -> bool {
        let c = self.chunks[chunk];
        if c.kind != ChunkKind::Small || c.present == 0 || c.shared > 0 {
            return false;
        }
        let b = &mut self.blocks[c.index as usize];
        let last = b.present.next(0).map_or(NEVER, |p| b.own_page(p).1);
        *b = Block::empty();
        self.free_blocks.push(c.index);
        for n in 0..self.nodes {
            let count = u64::from(std::mem::take(&mut self.counts[chunk * self.nodes + n]));
            self.pages_on_node[n] -= count;
            if count > 0 {
                freed(n, count);
            }
        }
        self.marked_pages -= u64::from(c.marked);
        let huge_marked = c.marked > 0;
        self.marked_pages += if huge_marked { CHUNK_PAGES } else { 0 };
        self.chunks[chunk] = Chunk {
            kind: ChunkKind::Huge,
            node: node as u8,
            huge_marked,
            present: CHUNK_PAGES as u16,
            index: last,
            ..EMPTY
        };
        self.counts[chunk * self.nodes + node] = CHUNK_PAGES as u16;
        self.pages_on_node[node] += CHUNK_PAGES;
        true
    }
    /// Node of the first page of a chunk that is this mapping's own, and what that page remembers.
    pub fn first_page(&self, chunk: usize) -> Option<(usize, u32)> {
        let c = &self.chunks[chunk];
        match c.kind {
            ChunkKind::Empty => None,
            ChunkKind::Huge => (c.shared == 0).then_some((usize::from(c.node), c.index)),
            ChunkKind::Small => {
                let b = &self.blocks[c.index as usize];
                b.exclusive().next(0).map(|p| b.own_page(p)).map(|(node, last)| (usize::from(node), last))
            }
        }
    }
    /// First marked page at or after `from` of a chunk of base pages.
    pub fn next_marked(&self, chunk: usize, from: usize) -> Option<usize> {
        let c = &self.chunks[chunk];
        match c.kind {
            ChunkKind::Small if c.marked > 0 => self.blocks[c.index as usize].marked.next(from),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::VmaKind;
    use super::*;
    use crate::mm::{PageState, SharedMemory, CHUNK_BYTES};
    use crate::numa::mark::MarkRules;

    fn vma() -> Vma {
        let mut v = Vma::new(0, 2 * CHUNK_BYTES, VmaKind::PrivateAnon, true, 2);
        v.populate_huge(0, 1);
        v.set_last(0, 0, 7);
        v
    }

    #[test]
    fn a_split_keeps_node_memory_and_mark() {
        let mut v = vma();
        let mut store = SharedMemory::default();
        v.mark_range(0, CHUNK_BYTES, &MarkRules::OWN_PAGES, &mut store);
        assert_eq!(v.split_huge(0), Some(1));
        assert_eq!(v.page(0, 300, &store), PageState::Marked { node: 1, last: 7, pages: 1, shared: None });
        assert_eq!((v.rss_pages(), v.marked_pages(), v.pages_on_node()[1]), (512, 512, 512));
        assert!(v.check().is_ok());
        assert_eq!(v.split_huge(0), None);
        assert_eq!(v.next_marked(0, 5), Some(5));
    }

    #[test]
    fn a_collapse_gives_back_what_it_replaces() {
        let mut v = vma();
        v.split_huge(0);
        v.move_page(0, 9, 0, 3);
        let mut freed = Vec::new();
        assert!(v.collapse(0, 0, |n, p| freed.push((n, p))));
        assert_eq!(freed, [(0, 1), (1, 511)]);
        assert_eq!((v.chunk(0).kind, v.pages_on_node()[0], v.rss_pages()), (ChunkKind::Huge, 512, 512));
        assert_eq!(v.first_page(0), Some((0, 7)), "what the first page remembered");
        assert!(v.check().is_ok());
        assert!(!v.collapse(1, 0, |_, _| {}), "nothing there");
    }

    #[test]
    fn split_and_collapse_in_turn_need_no_more_blocks() {
        let mut v = vma();
        for _ in 0..3 {
            assert!(v.split_huge(0).is_some());
            assert!(v.collapse(0, 1, |_, _| {}));
        }
        assert_eq!(v.blocks.len(), 1);
        assert!(v.check().is_ok());
    }
}
