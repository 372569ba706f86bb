//! Huge pages that are being moved base page by base page: AutoNUMA splits a huge page and migrates its 512 pages one
//! after the other, and whoever touches the one whose entry is a migration entry sleeps until it is restored
//! (designs-2012.md sections 1.5 and 8.1, point 10).
//!
//! The pages are isolated from the first to the last, each put at the head of the list (`list_add`), and migrated from
//! the head on (19/33): the last page goes first. A thread that sweeps the range upwards therefore meets the moves
//! once, and waits for no more than the page it meets. Moves of single base pages are over before anybody is likely to
//! come by, and are not looked at.

use crate::state::wait::NOBODY;
use numalab_kernel::mm::CHUNK_PAGES;

/// A huge page that is being moved page by page.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SplitThpMigration {
    /// Who moves it.
    pub task: u32,
    /// Process.
    pub process: usize,
    /// Mapping.
    pub vma: usize,
    /// Chunk.
    pub chunk: usize,
    /// When the first of them, the last page, is taken away, ns.
    pub from_ns: u64,
    /// When page 0 is back, ns.
    pub until_ns: u64,
    /// Time of one page, ns.
    pub page_ns: f64,
}

/// All of them: at most one per thread, so a plain list.
#[derive(Clone, Debug, Default)]
pub struct SplitThpMigrations(Vec<SplitThpMigration>);

impl SplitThpMigrations {
    /// Nothing is being moved.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
    /// A move begins; those that are over at `now_ns`, which no thread is behind of, are forgotten.
    pub fn begin(&mut self, front: SplitThpMigration, now_ns: u64) {
        self.0.retain(|f| f.until_ns > now_ns);
        self.0.push(front);
    }
    /// How long a thread sleeps that sweeps the pages `page..end` of a chunk from `clock` to `leaves_ns`, ns, and
    /// behind whom.
    pub fn wait_ns(
        &self,
        at: (usize, usize, usize),
        (page, end): (usize, usize),
        clock: u64,
        leaves_ns: u64,
    ) -> (u64, u32) {
        let here = self.0.iter().filter(|f| (f.process, f.vma, f.chunk) == at && clock < f.until_ns);
        here.map(|f| (f.meets((page, end), clock, leaves_ns), f.task)).max().unwrap_or((0, NOBODY))
    }
}

impl SplitThpMigration {
    /// What the sweep of [`SplitThpMigrations::wait_ns`] waits at the page it meets the moves at. Times are from
    /// `clock` on.
    fn meets(&self, (page, end): (usize, usize), clock: u64, leaves_ns: u64) -> u64 {
        if end <= page {
            return 0;
        }
        let per_page = (leaves_ns - clock) as f64 / (end - page) as f64;
        let begun = self.from_ns as f64 - clock as f64;
        // Page p is away from here on until `page_ns` later.
        let taken = |p: usize| begun + (CHUNK_PAGES as usize - 1 - p) as f64 * self.page_ns;
        let enters = |p: usize| (p - page) as f64 * per_page;
        // The first page that is taken before the sweep has left it; the ones above were moved earlier still.
        let Some(p) = (page..end).find(|p| taken(*p) < enters(*p) + per_page) else { return 0 };
        (taken(p) + self.page_ns - enters(p).max(taken(p))).max(0.0) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: (usize, usize, usize) = (0, 1, 7);

    fn split_thp_migrations() -> SplitThpMigrations {
        let mut f = SplitThpMigrations::default();
        // 512 pages of 60 us from 1 ms on.
        let (from_ns, until_ns, page_ns) = (1_000_000, 1_000_000 + 512 * 60_000, 60_000.0);
        f.begin(SplitThpMigration { task: 3, process: 0, vma: 1, chunk: 7, from_ns, until_ns, page_ns }, 0);
        f
    }

    #[test]
    fn a_sweep_meets_the_moves_once_and_waits_for_one_page_at_most() {
        // After 101 moves, at 7.06 ms, the turn is page 410's, and a thread enters page 400 at 10 us a page: it comes
        // to 409 at 7.15, while that page is away, from 7.12 to 7.18.
        let at = 1_000_000 + 101 * 60_000;
        assert_eq!(split_thp_migrations().wait_ns(AT, (400, 420), at, at + 200_000), (30_000, 3));
        // Swept slowly a page is taken away under the thread, which waits for all of its move.
        assert_eq!(split_thp_migrations().wait_ns(AT, (405, 415), at, at + 5_000_000), (60_000, 3));
        // All pieces of a sweep of the chunk wait for one page together.
        let mut clock = 1_000_000;
        let mut waited = 0;
        for page in (0..512).step_by(8) {
            let leaves = clock + 8 * 10_000;
            let (wait, _) = split_thp_migrations().wait_ns(AT, (page, page + 8), clock, leaves);
            (waited, clock) = (waited + wait, leaves + wait);
        }
        assert!(waited > 0 && waited <= 60_000, "{waited}");
    }

    #[test]
    fn below_and_above_it_elsewhere_before_and_after_nobody_waits() {
        let f = split_thp_migrations();
        let waits = |at, pages, clock, leaves_ns| f.wait_ns(at, pages, clock, leaves_ns).0;
        assert_eq!(waits(AT, (0, 100), 2_000_000, 2_100_000), 0, "not moved yet");
        assert_eq!(waits(AT, (500, 512), 2_000_000, 2_100_000), 0, "back on their new node");
        assert_eq!(waits((0, 1, 8), (0, 512), 1_000_000, 32_000_000), 0);
        assert_eq!(waits((1, 1, 7), (0, 512), 1_000_000, 32_000_000), 0);
        assert_eq!(waits(AT, (0, 512), 900_000, 999_999), 0);
        assert_eq!(waits(AT, (0, 512), 31_720_000, 31_800_000), 0);
    }

    #[test]
    fn what_is_over_is_forgotten() {
        let mut f = split_thp_migrations();
        let (from_ns, until_ns) = (32_000_000, 33_000_000);
        let later = SplitThpMigration { task: 4, process: 1, vma: 0, chunk: 0, from_ns, until_ns, page_ns: 2000.0 };
        f.begin(later, 31_720_000);
        assert_eq!(f.0, [later]);
    }
}
