//! The two scanners of compaction, at pageblock granularity (model; thp-and-allocation.md section 10.2).
//!
//! The migrate scanner moves up and looks for clean blocks with movable pages. The free scanner moves down and looks
//! for clean blocks with free pages. Pages move from the former to the latter until a block is empty, the scanners
//! meet, or the block limit of asynchronous compaction is reached. Both scanners keep their positions.

use super::odds::Odds;
use crate::mm::pageblock::pageblocks::Pageblocks;
use crate::mm::units::CHUNK_PAGES;
use numalab_base::rng::Rng;

/// Positions of the scanners of a zone, block indices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scanners {
    migrate: usize,
    /// `None` at the end of the zone.
    free: Option<usize>,
}

/// Result of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The block with this index is empty now.
    Emptied(usize),
    /// The scanners met, so compaction can do no more.
    Met,
    /// The limit of blocks is reached.
    Budget,
}

/// Work of a run, pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CompactWork {
    /// Scanned by the migrate scanner.
    pub migrate_scanned: u64,
    /// Scanned by the free scanner.
    pub free_scanned: u64,
    /// Moved.
    pub moved: u64,
    /// Isolated but not moved.
    pub failed: u64,
}

impl Scanners {
    /// Runs until a block is empty, the scanners meet, or `blocks` source blocks have been tried.
    pub fn run(
        &mut self,
        pageblocks: &mut Pageblocks,
        odds: &Odds,
        blocks: u32,
        rng: &mut Rng,
        work: &mut CompactWork,
    ) -> Outcome {
        let mut free = self.free.unwrap_or(pageblocks.blocks().saturating_sub(1));
        for _ in 0..blocks {
            let Some(source) = pageblocks.source_from(self.migrate).filter(|s| *s < free) else {
                return self.met();
            };
            work.migrate_scanned += CHUNK_PAGES;
            let pages = pageblocks.movable(source);
            let run = odds.movable_run(pages, rng);
            let mut left = run;
            while left > 0 {
                let Some(target) = pageblocks.target_to(free).filter(|t| *t > source) else {
                    return self.met();
                };
                work.free_scanned += CHUNK_PAGES;
                let moved = left.min(pageblocks.free_in(target));
                pageblocks.move_pages(source, target, moved);
                work.moved += u64::from(moved);
                left -= moved;
                free = target;
            }
            self.free = Some(free);
            self.migrate = source + 1;
            if run == pages {
                return Outcome::Emptied(source);
            }
            work.failed += 1;
        }
        Outcome::Budget
    }
    fn met(&mut self) -> Outcome {
        *self = Self::default();
        Outcome::Met
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mm::compact::odds::expected_success;

    fn run(s: &mut Scanners, pageblocks: &mut Pageblocks, ppm: u32, blocks: u32, seed: u64) -> (Outcome, CompactWork) {
        let mut work = CompactWork::default();
        let out = s.run(pageblocks, &Odds::new(ppm), blocks, &mut Rng::new(seed), &mut work);
        (out, work)
    }

    #[test]
    fn empties_the_lowest_block_into_the_highest() {
        let mut pageblocks = Pageblocks::new(0, 8 * CHUNK_PAGES);
        pageblocks.fragment(500, 0, &mut Rng::new(1));
        let mut s = Scanners::default();
        let pages = u64::from(pageblocks.movable(0));
        let (out, work) = run(&mut s, &mut pageblocks, 0, 32, 1);
        assert_eq!((out, work.moved, work.migrate_scanned), (Outcome::Emptied(0), pages, 512));
        assert_eq!(pageblocks.empty_blocks(), 1);
        assert!(pageblocks.movable(7) == 512 || pageblocks.movable(7) > pages as u16);
        pageblocks.check().unwrap();
        assert_eq!(run(&mut s, &mut pageblocks, 0, 32, 1).0, Outcome::Emptied(1), "goes on where it stopped");
    }

    #[test]
    fn polluted_blocks_are_neither_source_nor_target() {
        let mut pageblocks = Pageblocks::new(0, 8 * CHUNK_PAGES);
        pageblocks.fragment(500, 1000, &mut Rng::new(1));
        let (out, work) = run(&mut Scanners::default(), &mut pageblocks, 0, 32, 1);
        assert_eq!((out, work), (Outcome::Met, CompactWork::default()));
    }

    #[test]
    fn gives_up_when_the_scanners_meet_or_the_budget_is_spent() {
        let mut pageblocks = Pageblocks::new(0, 100 * CHUNK_PAGES);
        pageblocks.fragment(500, 0, &mut Rng::new(1));
        let (out, work) = run(&mut Scanners::default(), &mut pageblocks, 1_000_000, 32, 1);
        assert_eq!((out, work.migrate_scanned, work.moved), (Outcome::Budget, 32 * 512, 0));
        let mut s = Scanners::default();
        assert_eq!(run(&mut s, &mut pageblocks, 1_000_000, u32::MAX, 1).0, Outcome::Met);
        assert_eq!(s, Scanners::default(), "the next run starts over");
    }

    #[test]
    fn success_of_one_candidate_agrees_with_the_expectation() {
        // One clean block at 60 % occupancy can be emptied with (1 - q)^307. Polluted blocks are skipped.
        let (mut done, tries) = (0, 400);
        for seed in 0..tries {
            let mut pageblocks = Pageblocks::new(0, 6 * CHUNK_PAGES);
            pageblocks.fragment(400, 0, &mut Rng::new(7));
            done += u32::from(matches!(
                run(&mut Scanners::default(), &mut pageblocks, 1000, 1, seed).0,
                Outcome::Emptied(_)
            ));
        }
        let expected = expected_success(0.0, 0.6, 0.001, 1);
        let share = f64::from(done) / tries as f64;
        assert!((share - expected).abs() < 0.07, "{share}, expected {expected}");
    }
}
