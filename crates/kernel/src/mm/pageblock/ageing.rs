//! Fragmented memory, as a long-running system leaves it, for scenarios (model; thp-and-allocation.md section 3.3).

use super::pageblocks::{Pageblocks, BLOCK};
use crate::mm::units::CHUNK_PAGES;
use numalab_base::rng::Rng;

/// Pages that fragmentation has put into use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Aged {
    /// Movable pages that are never freed.
    pub movable: u64,
    /// Unmovable pages that are never freed.
    pub unmovable: u64,
}

impl Pageblocks {
    /// Leaves about `free_permille` of the pages of all empty blocks free, at random places, and puts one unmovable
    /// page into about `unmovable_permille` of these blocks. No block stays empty, unless `free_permille` is 1000 and
    /// `unmovable_permille` is 0.
    pub fn fragment(&mut self, free_permille: u64, unmovable_permille: u64, rng: &mut Rng) -> Aged {
        let mut out = Aged::default();
        let (free, polluted) = (free_permille.min(1000), unmovable_permille.min(1000));
        if free == 1000 && polluted == 0 {
            return out;
        }
        let mut at = 0;
        while let Some(block) = self.empty.at_or_after(at) {
            at = block + 1;
            let unmovable = u16::from(rng.below(1000) < polluted);
            let drawn = rng.binomial(CHUNK_PAGES, free as f64 / 1000.0) as u16;
            let left = drawn.min(BLOCK - unmovable.max(1));
            self.update(block, left, unmovable);
            out.unmovable += u64::from(unmovable);
            out.movable += u64::from(BLOCK - left - unmovable);
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fragmenting_leaves_the_asked_share_free_and_no_block_empty() {
        let pages = 2000 * CHUNK_PAGES;
        let mut s = Pageblocks::new(0, pages);
        let aged = s.fragment(400, 100, &mut Rng::new(1));
        let free = s.check().unwrap();
        assert_eq!(free + aged.movable + aged.unmovable, pages);
        assert!((free as f64 / pages as f64 - 0.4).abs() < 0.005, "{free} of {pages}");
        assert!((aged.unmovable as f64 / 2000.0 - 0.1).abs() < 0.03, "{}", aged.unmovable);
        assert_eq!((s.empty_blocks(), s.polluted_blocks()), (0, aged.unmovable));
    }
}
