//! Accessed bits of a mapping's entries: which of them were used since reclaim looked last (`pte_young`).
//!
//! Problem: hardware sets a bit at every access, but the simulator must not do work at every access.
//! Approach: a sweep notes the *runs* of 64 entries that it passes, one bit each in its chunk. Random accesses are
//! only counted, by byte range. When reclaim looks at a chunk, the count since its last look gives the chance that an
//! entry was used, and the bits are drawn. Entries have bits of their own only from then on, so a chunk that reclaim
//! does not look at costs nothing.
//! A new entry counts as used, because the fault that makes it serves an access. A huge entry has one bit: any run of
//! its chunk.

use super::access_runs::{entries_of, runs, RandomUse, RandomUses, ALL_RUNS, SURELY};
use super::chunk::ChunkKind;
use super::mapping::Vma;
use crate::mm::block::Bits512;
use crate::mm::pageblock::frame::Frame;
use crate::mm::units::CHUNK_PAGES;
use numalab_base::math::exp;
use numalab_base::rng::Rng;

impl Vma {
    /// Notes an access to the entries `from..to` of a chunk.
    #[inline]
    pub fn touch(&mut self, chunk: usize, from: usize, to: usize) {
        if from < to {
            let (c, used) = (&mut self.chunks[chunk], runs(from, to));
            // Most sweeps find the runs noted already; then the cache line stays clean.
            if c.touched & used != used {
                c.touched |= used;
            }
        }
    }
    /// Number of the byte range `from..to`, under which its random accesses are counted.
    pub fn random_span(&mut self, from: u64, to: u64) -> usize {
        let spans = &mut self.random.spans;
        spans.iter().position(|s| (s.from, s.to) == (from, to)).unwrap_or_else(|| {
            spans.push(RandomUse { from, to, accesses: 0 });
            spans.len() - 1
        })
    }
    /// Notes random accesses to a byte range.
    #[inline]
    pub fn note_random_accesses(&mut self, span: usize, accesses: u64) {
        self.random.spans[span].accesses += accesses;
        self.random.total += accesses;
    }
    /// Clears the accessed bits and the noted accesses of a forked copy.
    pub(in crate::mm) fn clear_all_young(&mut self) {
        self.random = RandomUses::default();
        self.chunks.iter_mut().for_each(|c| c.touched = 0);
        self.blocks.iter_mut().for_each(|b| b.young = Bits512::default());
    }

    /// Turns the accesses since the last update of a chunk into accessed bits.
    pub fn update_young(&mut self, chunk: usize, rng: &mut Rng) {
        let expected = self.random_accesses(chunk);
        let c = &mut self.chunks[chunk];
        if c.kind != ChunkKind::Small {
            if expected > 0.0 && rng.unit() < 1.0 - exp(-expected * CHUNK_PAGES as f64) {
                c.touched = ALL_RUNS;
            }
            return;
        }
        let b = &mut self.blocks[c.index as usize];
        if c.touched != 0 {
            let used = entries_of(std::mem::take(&mut c.touched));
            b.young = b.young.zip(&used, |y, u| y | u);
        }
        if expected >= SURELY {
            b.young = Bits512::range(0, CHUNK_PAGES as usize);
        } else if expected > 0.0 {
            let chance = 1.0 - exp(-expected);
            for page in 0..CHUNK_PAGES as usize {
                if rng.unit() < chance {
                    b.young.set(page);
                }
            }
        }
    }
    /// Expected random accesses per entry of a chunk since its last update, which is now.
    fn random_accesses(&mut self, chunk: usize) -> f64 {
        let r = &self.random;
        if r.total == r.looked.get(chunk).map_or(0, |l| l.0) {
            return 0.0;
        }
        let now = self.random_accesses_so_far(chunk);
        let chunks = self.chunks.len();
        let r = &mut self.random;
        r.looked.resize(chunks, (0, 0.0));
        let before = std::mem::replace(&mut r.looked[chunk], (r.total, now)).1;
        now - before
    }
    /// Expected random accesses per entry of a chunk since the mapping was made.
    pub(super) fn random_accesses_so_far(&self, chunk: usize) -> f64 {
        let base = self.chunk_base(chunk);
        let here = |s: &&RandomUse| s.from < base + self.chunk_bytes() && s.to > base;
        let page_bytes = self.grain.bytes() as f64;
        let per_entry = |s: &RandomUse| s.accesses as f64 * page_bytes / (s.to - s.from) as f64;
        self.random.spans.iter().filter(here).map(per_entry).sum()
    }
    /// Whether an entry, or the huge entry, was used; clears its bit (`ptep_clear_young_notify`). Call
    /// [`Self::update_young`] for the chunk first.
    pub fn test_clear_young(&mut self, chunk: usize, page: usize) -> bool {
        let c = &mut self.chunks[chunk];
        match c.kind {
            ChunkKind::Empty => false,
            ChunkKind::Huge => std::mem::take(&mut c.touched) != 0,
            ChunkKind::Small => {
                let b = &mut self.blocks[c.index as usize];
                let young = b.young.get(page);
                b.young.clear(page);
                young
            }
        }
    }
    /// Number of present entries of a chunk of base pages that count as used. They were used since reclaim looked
    /// last, or their page is exclusive and was found used then.
    pub fn referenced_pages(&mut self, chunk: usize, rng: &mut Rng) -> u32 {
        self.update_young(chunk, rng);
        let c = self.chunks[chunk];
        if c.kind != ChunkKind::Small {
            return 0;
        }
        let b = &self.blocks[c.index as usize];
        let used = |page: &usize| {
            b.present.get(*page) && (b.young.get(*page) || self.frame_map.get(chunk, *page).has(Frame::REFERENCED))
        };
        (0..CHUNK_PAGES as usize).filter(used).count() as u32
    }

    /// Adds the exclusive pages on the active list, on each node, to `out`.
    pub fn add_active_on_node(&self, out: &mut [u64]) {
        self.add_active_partly_mapped(out);
        for (chunk, c) in self.chunks.iter().enumerate() {
            match c.kind {
                ChunkKind::Huge if c.shared == 0 && self.frame(chunk, 0).has(Frame::ACTIVE) => {
                    out[usize::from(c.node)] += CHUNK_PAGES;
                }
                ChunkKind::Small => {
                    let active = |page: &usize| self.frame_map.get(chunk, *page).has(Frame::ACTIVE);
                    let on = |page| self.exclusive_node(chunk, page);
                    (0..CHUNK_PAGES as usize).filter(active).filter_map(on).for_each(|node| out[node] += 1);
                }
                _ => {}
            }
        }
    }

    /// Pageblock and flags of an exclusive page, or of the huge page.
    #[inline]
    pub fn frame(&self, chunk: usize, page: usize) -> Frame {
        match self.chunks[chunk].kind {
            ChunkKind::Huge => self.frame_map.huge(chunk),
            _ => self.frame_map.get(chunk, page),
        }
    }
    /// Sets the flags of an exclusive page, or of the huge page.
    pub fn set_flags(&mut self, chunk: usize, page: usize, frame: Frame) {
        if frame == Frame::UNKNOWN {
            return;
        }
        match self.chunks[chunk].kind {
            ChunkKind::Huge => {
                self.frame_map.move_huge(chunk, frame);
            }
            _ => self.frame_map.set(chunk, page, frame),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mm::vma::kind::VmaKind;

    fn vma() -> (Vma, Rng) {
        let mut v = Vma::new(0, 8 << 20, VmaKind::PrivateAnon, true, 2);
        (0..512).for_each(|p| v.populate(0, p, 0, Frame(3)));
        v.populate_huge(1, 1, Frame(4));
        let mut rng = Rng::new(5);
        for chunk in 0..2 {
            v.update_young(chunk, &mut rng);
            (0..512).for_each(|p| {
                v.test_clear_young(chunk, p);
            });
        }
        (v, rng)
    }

    fn young(v: &mut Vma, rng: &mut Rng) -> usize {
        v.update_young(0, rng);
        (0..512).filter(|p| v.test_clear_young(0, *p)).count()
    }

    #[test]
    fn entries_are_born_used_and_a_look_clears_them() {
        let mut v = Vma::new(0, 4 << 20, VmaKind::PrivateAnon, true, 2);
        let mut rng = Rng::new(5);
        v.populate(0, 70, 0, Frame(3));
        v.populate_huge(1, 0, Frame(4));
        v.update_young(0, &mut rng);
        assert!(v.test_clear_young(0, 70) && !v.test_clear_young(0, 70));
        assert!(v.test_clear_young(1, 0) && !v.test_clear_young(1, 0));
    }

    #[test]
    fn a_sweep_marks_the_runs_it_goes_over() {
        let (mut v, mut rng) = vma();
        assert_eq!(young(&mut v, &mut rng), 0);
        v.touch(0, 63, 65);
        assert_eq!(young(&mut v, &mut rng), 128);
        v.touch(0, 0, 512);
        assert_eq!(young(&mut v, &mut rng), 512);
        v.touch(0, 500, 500);
        assert_eq!(young(&mut v, &mut rng), 0);
        v.touch(1, 9, 10);
        v.update_young(1, &mut rng);
        assert!(v.test_clear_young(1, 0), "a huge entry has one bit");
        assert_eq!([runs(0, 1), runs(0, 512), runs(64, 192), runs(511, 512)], [1, 0xff, 0b110, 0x80]);
    }

    #[test]
    fn random_accesses_use_entries_by_chance() {
        let (mut v, mut rng) = vma();
        let span = v.random_span(0, 8 << 20);
        assert_eq!((v.random_span(0, 8 << 20), v.random_span(0, 4096)), (span, span + 1));
        // There are 2048 pages with one access each on average, so 1 - 1/e of them are used, whatever was counted
        // before.
        for _ in 0..3 {
            v.note_random_accesses(span, 2048);
            let n = young(&mut v, &mut rng);
            assert!((260..390).contains(&n), "{n} of 512");
            assert_eq!(young(&mut v, &mut rng), 0, "no access since");
        }
        v.note_random_accesses(span, 2048 * 50);
        assert_eq!(young(&mut v, &mut rng), 512);
        v.update_young(1, &mut rng);
        assert!(v.test_clear_young(1, 0), "512 chances");
        // Accesses to another range do not change this chunk.
        let far = v.random_span(6 << 20, 8 << 20);
        v.note_random_accesses(far, 1 << 20);
        assert_eq!(young(&mut v, &mut rng), 0);
    }

    #[test]
    fn a_huge_page_splits_and_forks_with_its_bit() {
        let (mut v, mut rng) = vma();
        v.touch(1, 0, 1);
        v.split_huge(1);
        v.update_young(1, &mut rng);
        assert!((0..512).all(|p| v.test_clear_young(1, p)));
        v.touch(0, 0, 512);
        assert_eq!(v.referenced_pages(0, &mut rng), 512);
        assert_eq!(v.referenced_pages(0, &mut rng), 512, "looking without clearing");
        v.clear_all_young();
        assert_eq!(v.referenced_pages(0, &mut rng), 0);
        v.set_flags(0, 9, Frame(3).with(Frame::REFERENCED, true));
        assert_eq!(v.referenced_pages(0, &mut rng), 1);
    }
}
