//! The pageblocks of one zone.

use super::bit_tree::BitTree;
use super::buckets::{Buckets, Link};
use super::fragmentation::buddies_of;
use super::frame::Frame;
use crate::mm::units::CHUNK_PAGES;

pub(super) const BLOCK: u16 = CHUNK_PAGES as u16;
/// Number of blocks that freeing follows for a frame of a compacted block, before it takes any block.
const FORWARD_HOPS: usize = 16;
/// Free buddy blocks by the number of free pages of a block.
const BUDDIES: [u16; 513] = {
    let mut out = [0; 513];
    let mut free = 0;
    while free <= 512 {
        out[free] = buddies_of(free as u16);
        free += 1;
    }
    out
};

/// Counts of one pageblock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct PageBlock {
    free: u16,
    /// Pages of unmovable data; in the last block also the pages beyond the end of the zone.
    unmovable: u16,
}

/// The pageblocks of one zone.
#[derive(Clone, Debug)]
pub struct Pageblocks {
    /// Number of the first block.
    base: u32,
    blocks: Vec<PageBlock>,
    links: Vec<Link>,
    /// Blocks without unmovable pages that are neither empty nor huge pages.
    clean: Buckets,
    /// Blocks with unmovable pages.
    polluted: Buckets,
    pub(super) empty: BitTree,
    huge: BitTree,
    /// Clean blocks with movable pages, which compaction can empty.
    sources: BitTree,
    /// Clean blocks with movable and free pages, which compaction can move pages to.
    targets: BitTree,
    /// Block to which compaction last moved pages of each block; empty before the first compaction.
    forward: Vec<u32>,
    /// Estimated number of free buddy blocks.
    buddies: u64,
}

impl Pageblocks {
    /// A zone of `pages` free pages whose first block has the number `base`.
    pub fn new(base: u32, pages: u64) -> Self {
        let n = pages.div_ceil(CHUNK_PAGES) as usize;
        let mut out = Self {
            base,
            blocks: vec![PageBlock { free: BLOCK, unmovable: 0 }; n],
            links: vec![Link::ALONE; n],
            clean: Buckets::new(),
            polluted: Buckets::new(),
            empty: BitTree::full(n),
            huge: BitTree::new(n),
            sources: BitTree::new(n),
            targets: BitTree::new(n),
            forward: Vec::new(),
            buddies: n as u64,
        };
        let beyond = (n as u64 * CHUNK_PAGES - pages) as u16;
        if beyond > 0 {
            out.update(n - 1, BLOCK - beyond, beyond);
        }
        out
    }
    /// Memory that it takes in the simulator, bytes.
    pub fn state_bytes(&self) -> usize {
        let trees = [&self.empty, &self.huge, &self.sources, &self.targets].map(BitTree::state_bytes);
        self.blocks.capacity() * std::mem::size_of::<PageBlock>()
            + self.links.capacity() * std::mem::size_of::<Link>()
            + self.forward.capacity() * std::mem::size_of::<u32>()
            + trees.iter().sum::<usize>()
    }
    /// Number of blocks.
    pub fn blocks(&self) -> usize {
        self.blocks.len()
    }
    /// Number of the block after the last.
    pub fn end(&self) -> u32 {
        self.base + self.blocks.len() as u32
    }
    /// Whether a frame belongs to this zone.
    #[inline]
    pub fn holds(&self, frame: Frame) -> bool {
        (self.base..self.end()).contains(&frame.block())
    }
    /// Number of free aligned blocks of 512 pages (F9).
    #[inline]
    pub fn empty_blocks(&self) -> u64 {
        self.empty.count() as u64
    }
    /// Number of blocks that are huge pages.
    pub fn huge_blocks(&self) -> u64 {
        self.huge.count() as u64
    }
    /// Estimated number of free buddy blocks of any size (model).
    pub fn buddies(&self) -> u64 {
        self.buddies
    }
    /// Movable pages in the block with this index; 0 for a huge page.
    #[inline]
    pub fn movable(&self, block: usize) -> u16 {
        let b = self.blocks[block];
        if self.huge.contains(block) {
            0
        } else {
            BLOCK - b.free - b.unmovable
        }
    }
    /// Free pages in the block with this index.
    pub fn free_in(&self, block: usize) -> u16 {
        self.blocks[block].free
    }
    /// Number of blocks with unmovable pages.
    pub fn polluted_blocks(&self) -> u64 {
        self.blocks.iter().filter(|b| b.unmovable > 0).count() as u64
    }

    /// Takes a page for movable data: from the fullest clean block, an empty one, or a polluted one.
    #[inline]
    pub fn take_movable(&mut self) -> Option<Frame> {
        let block = self.clean.fullest().or_else(|| self.empty.first()).or_else(|| self.polluted.fullest())?;
        let b = self.blocks[block];
        self.update(block, b.free - 1, b.unmovable);
        Some(self.frame(block))
    }
    /// Takes up to `most` pages for movable data from the block that [`Self::take_movable`] would take them from, one
    /// after the other. Returns the block and their number, at least 1.
    pub fn take_movable_run(&mut self, most: u64) -> Option<(Frame, u64)> {
        let block = self.clean.fullest().or_else(|| self.empty.first()).or_else(|| self.polluted.fullest())?;
        let b = self.blocks[block];
        let pages = most.min(u64::from(b.free));
        self.update(block, b.free - pages as u16, b.unmovable);
        Some((self.frame(block), pages))
    }
    /// Takes a page for unmovable data, from a polluted block if there is one. Otherwise it pollutes the emptiest
    /// block and returns true.
    pub fn take_unmovable(&mut self) -> Option<(Frame, bool)> {
        let polluted = self.polluted.fullest();
        let room = |b: &usize| self.blocks[*b].free > 0;
        let block = polluted.or_else(|| self.empty.first()).or_else(|| self.clean.emptiest().filter(room))?;
        let b = self.blocks[block];
        self.update(block, b.free - 1, b.unmovable + 1);
        Some((self.frame(block), polluted.is_none()))
    }
    /// Takes the lowest empty block for a huge page.
    #[inline]
    pub fn take_huge(&mut self) -> Option<Frame> {
        let block = self.empty.first()?;
        Some(self.take_huge_at(block))
    }
    /// Takes the empty block with this index for a huge page, as compaction does with a block that it has emptied.
    pub fn take_huge_at(&mut self, block: usize) -> Frame {
        let was_empty = self.empty.remove(block);
        debug_assert!(was_empty, "block {block} is not empty");
        self.huge.insert(block);
        self.blocks[block].free = 0;
        self.buddies -= u64::from(BUDDIES[512]);
        self.frame(block)
    }
    /// Frees a movable page. Returns false if the zone has none, which is an error of the caller.
    #[inline]
    pub fn put_movable(&mut self, frame: Frame) -> bool {
        let Some(block) = self.resolve(frame) else { return false };
        let b = self.blocks[block];
        self.update(block, b.free + 1, b.unmovable);
        true
    }
    /// Frees `pages` movable pages of one block. Returns false if the zone has no more of them, which is an error of
    /// the caller.
    pub fn put_movable_run(&mut self, frame: Frame, pages: u64) -> bool {
        if let Some(block) = self.index(frame).filter(|b| u64::from(self.movable(*b)) >= pages) {
            let b = self.blocks[block];
            self.update(block, b.free + pages as u16, b.unmovable);
            return true;
        }
        (0..pages).all(|_| self.put_movable(frame))
    }
    /// Frees an unmovable page. Returns false if its block has none, which is an error of the caller.
    pub fn put_unmovable(&mut self, frame: Frame) -> bool {
        let Some(block) = self.index(frame).filter(|b| self.blocks[*b].unmovable > 0) else { return false };
        let b = self.blocks[block];
        self.update(block, b.free + 1, b.unmovable - 1);
        true
    }
    /// Frees a huge page. Returns false if the frame is not a huge page, which is an error of the caller.
    #[inline]
    pub fn put_huge(&mut self, frame: Frame) -> bool {
        let Some(block) = self.huge_index(frame) else { return false };
        self.huge.remove(block);
        self.blocks[block].free = BLOCK;
        self.empty.insert(block);
        self.buddies += u64::from(BUDDIES[512]);
        true
    }
    /// Splits a huge page into 512 movable pages of the same block. Returns false if the frame is not a huge page.
    pub fn split_huge(&mut self, frame: Frame) -> bool {
        let Some(block) = self.huge_index(frame) else { return false };
        self.huge.remove(block);
        self.clean.push(&mut self.links, block, 0);
        self.sources.insert(block);
        true
    }

    /// First block at or after `from` that compaction can empty.
    pub(crate) fn source_from(&self, from: usize) -> Option<usize> {
        self.sources.at_or_after(from)
    }
    /// Last block at or before `to` that compaction can move pages to.
    pub(crate) fn target_to(&self, to: usize) -> Option<usize> {
        self.targets.at_or_before(to)
    }
    /// Moves `pages` movable pages from block `from` to block `to`, which has that many free pages.
    pub(crate) fn move_pages(&mut self, from: usize, to: usize, pages: u16) {
        let (a, b) = (self.blocks[from], self.blocks[to]);
        self.update(from, a.free + pages, a.unmovable);
        self.update(to, b.free - pages, b.unmovable);
        if self.forward.is_empty() {
            self.forward = vec![u32::MAX; self.blocks.len()];
        }
        self.forward[from] = to as u32;
    }

    #[inline]
    fn frame(&self, block: usize) -> Frame {
        Frame(self.base + block as u32)
    }
    #[inline]
    fn index(&self, frame: Frame) -> Option<usize> {
        self.holds(frame).then(|| (frame.block() - self.base) as usize)
    }
    fn huge_index(&self, frame: Frame) -> Option<usize> {
        if frame == Frame::UNKNOWN {
            return self.huge.last();
        }
        self.index(frame).filter(|b| self.huge.contains(*b))
    }
    /// Block of a movable page: the block of its frame if that has movable pages, else the block to which compaction
    /// moved them, else the emptiest block.
    #[inline]
    fn resolve(&self, frame: Frame) -> Option<usize> {
        let mut at = self.index(frame);
        for _ in 0..FORWARD_HOPS {
            let Some(block) = at else { break };
            if self.movable(block) > 0 {
                return Some(block);
            }
            at = self.forward.get(block).map(|f| *f as usize).filter(|f| *f < self.blocks.len());
        }
        let polluted = || self.polluted.emptiest().filter(|b| self.movable(*b) > 0);
        let any = || (0..self.blocks.len()).find(|b| self.movable(*b) > 0);
        self.clean.emptiest().or_else(polluted).or_else(any)
    }
    /// Changes the counts of a block that is not a huge page, and updates the indices.
    #[inline]
    pub(super) fn update(&mut self, block: usize, free: u16, unmovable: u16) {
        let old = self.blocks[block];
        self.blocks[block] = PageBlock { free, unmovable };
        self.buddies = self.buddies + u64::from(BUDDIES[free as usize]) - u64::from(BUDDIES[old.free as usize]);
        if old.free == BLOCK {
            self.empty.remove(block);
        } else if old.unmovable > 0 {
            self.polluted.unlink(&mut self.links, block, old.free);
        } else {
            self.clean.unlink(&mut self.links, block, old.free);
        }
        if free == BLOCK {
            self.empty.insert(block);
        } else if unmovable > 0 {
            self.polluted.push(&mut self.links, block, free);
        } else {
            self.clean.push(&mut self.links, block, free);
        }
        let (was, is) = (Self::uses(old.free, old.unmovable), Self::uses(free, unmovable));
        if was != is {
            self.sources.set(block, is.0);
            self.targets.set(block, is.1);
        }
    }
    /// Whether a block with these counts is a source, and whether it is a target, of compaction.
    #[inline]
    fn uses(free: u16, unmovable: u16) -> (bool, bool) {
        let movable = unmovable == 0 && free < BLOCK;
        (movable, movable && free > 0)
    }

    /// Whether the 64 blocks from `64 * word` on are all free, and all indices say so. Most of a large machine is.
    fn are_untouched(&self, word: usize) -> bool {
        let none = [&self.huge, &self.sources, &self.targets].iter().all(|index| index.word(word) == 0);
        let blocks = self.blocks.get(word * 64..word * 64 + 64);
        let free = |b: &PageBlock| b.free == BLOCK && b.unmovable == 0;
        none && self.empty.word(word) == u64::MAX && blocks.is_some_and(|b| b.iter().all(free))
    }

    /// Checks the indices against the blocks; returns the free pages.
    ///
    /// # Errors
    /// A sentence that names the first disagreement.
    pub fn check(&self) -> Result<u64, String> {
        let (mut free, mut buddies, mut untouched_to) = (0, 0, 0);
        for (i, b) in self.blocks.iter().enumerate() {
            if i % 64 == 0 && self.are_untouched(i / 64) {
                free += 64 * u64::from(BLOCK);
                buddies += 64 * u64::from(BUDDIES[BLOCK as usize]);
                untouched_to = i + 64;
            }
            if i < untouched_to {
                continue;
            }
            if b.free + b.unmovable > BLOCK {
                return Err(format!("block {i}: {} free and {} unmovable pages", b.free, b.unmovable));
            }
            let huge = self.huge.contains(i);
            let (source, target) = if huge { (false, false) } else { Self::uses(b.free, b.unmovable) };
            let right = self.empty.contains(i) == (b.free == BLOCK)
                && self.sources.contains(i) == source
                && self.targets.contains(i) == target
                && !(huge && (b.free > 0 || b.unmovable > 0));
            if !right {
                return Err(format!("block {i}: an index disagrees with {b:?}, huge {huge}"));
            }
            free += u64::from(b.free);
            buddies += u64::from(BUDDIES[b.free as usize]);
        }
        if buddies != self.buddies {
            return Err(format!("{} free buddy blocks noted, {buddies} counted", self.buddies));
        }
        Ok(free)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use numalab_base::rng::Rng;

    #[test]
    fn small_pages_fill_one_block_before_the_next() {
        let mut s = Pageblocks::new(100, 4 * CHUNK_PAGES);
        let frames: Vec<u32> = (0..600).filter_map(|_| s.take_movable()).map(|f| f.0).collect();
        assert!(frames[..512].iter().all(|f| *f == 100) && frames[512..].iter().all(|f| *f == 101));
        assert_eq!(s.empty_blocks(), 2);
        assert!(s.put_movable(Frame(100)));
        assert_eq!(s.take_movable(), Some(Frame(100)), "the fullest block with room");
        for _ in 0..512 {
            assert!(s.put_movable(Frame(100)));
        }
        assert_eq!(s.empty_blocks(), 3);
        assert_eq!(s.check(), Ok(4 * 512 - 88));
    }

    /// A run takes what as many single pages would, and ends where they would go on in another block.
    #[test]
    fn a_run_takes_what_single_pages_would() {
        let mut rng = Rng::new(3);
        let (mut runs, mut single) = (Pageblocks::new(7, 40 * CHUNK_PAGES), Pageblocks::new(7, 40 * CHUNK_PAGES));
        for _ in 0..400 {
            if rng.below(4) == 0 {
                assert_eq!(runs.take_unmovable(), single.take_unmovable());
            }
            let Some((frame, pages)) = runs.take_movable_run(1 + rng.below(90)) else { break };
            for _ in 0..pages {
                assert_eq!(single.take_movable(), Some(frame));
            }
            assert_eq!((runs.check(), runs.buddies()), (single.check(), single.buddies()));
            if rng.below(3) == 0 {
                assert!(runs.put_movable(frame) && single.put_movable(frame));
            }
        }
    }

    #[test]
    fn unmovable_pages_share_a_block_and_pollute_no_second() {
        let mut s = Pageblocks::new(0, 3 * CHUNK_PAGES);
        assert_eq!(s.take_unmovable(), Some((Frame(0), true)));
        assert_eq!(s.take_unmovable(), Some((Frame(0), false)));
        assert_eq!(s.take_movable(), Some(Frame(1)), "movable pages keep away from it");
        assert_eq!(s.polluted_blocks(), 1);
        assert!(s.put_unmovable(Frame(0)) && s.put_unmovable(Frame(0)) && !s.put_unmovable(Frame(0)));
        assert_eq!((s.polluted_blocks(), s.empty_blocks()), (0, 2));
    }

    #[test]
    fn movable_pages_use_polluted_blocks_last() {
        let mut s = Pageblocks::new(0, 2 * CHUNK_PAGES);
        s.take_unmovable();
        for _ in 0..512 {
            assert_eq!(s.take_movable(), Some(Frame(1)));
        }
        assert_eq!(s.take_movable(), Some(Frame(0)));
        assert_eq!(s.check(), Ok(510));
    }

    #[test]
    fn huge_pages_take_the_lowest_empty_block_and_give_it_back() {
        let mut s = Pageblocks::new(7, 3 * CHUNK_PAGES + 100);
        assert_eq!(s.empty_blocks(), 3, "a partial block is never empty");
        assert_eq!((s.take_huge(), s.take_huge()), (Some(Frame(7)), Some(Frame(8))));
        assert!(s.put_huge(Frame(7)) && !s.put_huge(Frame(7)));
        assert_eq!(s.take_huge(), Some(Frame(7)));
        assert!(s.split_huge(Frame(8)));
        assert_eq!(s.movable(1), 512);
        assert!(s.put_movable(Frame(8)));
        assert!(s.put_huge(Frame::UNKNOWN));
        assert_eq!(s.check(), Ok(100 + 1 + 512 + 512));
    }

    #[test]
    fn pages_of_a_compacted_block_are_freed_where_they_went() {
        let mut s = Pageblocks::new(0, 3 * CHUNK_PAGES);
        (0..1100).for_each(|_| assert!(s.take_movable().is_some()));
        (0..400).for_each(|_| assert!(s.put_movable(Frame(0))));
        s.move_pages(0, 2, 112);
        assert_eq!(s.empty_blocks(), 1);
        let huge = s.take_huge_at(0);
        for _ in 0..112 {
            assert!(s.put_movable(Frame(0)), "a stale frame");
        }
        assert_eq!((s.movable(2), s.movable(1)), (76, 512));
        assert!(s.put_huge(huge));
        assert_eq!(s.check(), Ok(512 * 3 - 588));
    }

    #[test]
    fn random_use_keeps_the_indices_true() {
        let mut rng = Rng::new(9);
        let mut s = Pageblocks::new(5, 40 * CHUNK_PAGES + 13);
        let (mut small, mut fixed, mut huge): (Vec<Frame>, Vec<Frame>, Vec<Frame>) = Default::default();
        for step in 0..60_000 {
            let r = rng.below(100);
            if r < 45 {
                small.extend(s.take_movable());
            } else if r < 47 {
                fixed.extend(s.take_unmovable().map(|f| f.0));
            } else if r < 50 {
                huge.extend(s.take_huge());
            } else if r < 96 && !small.is_empty() {
                let at = rng.below(small.len() as u64) as usize;
                assert!(s.put_movable(small.swap_remove(at)));
            } else if r < 98 && !fixed.is_empty() {
                let at = rng.below(fixed.len() as u64) as usize;
                assert!(s.put_unmovable(fixed.swap_remove(at)));
            } else if r < 99 && !huge.is_empty() {
                let at = rng.below(huge.len() as u64) as usize;
                assert!(s.put_huge(huge.swap_remove(at)));
            } else if let Some(f) = huge.pop() {
                assert!(s.split_huge(f));
                small.extend([f; 512]);
            }
            if step % 1000 == 0 {
                let used = (small.len() + fixed.len() + 512 * huge.len()) as u64;
                assert_eq!(s.check(), Ok(40 * 512 + 13 - used));
            }
        }
    }
}
