//! Huge pages that are being moved base page by base page: AutoNUMA splits a huge page and migrates its 512 pages one
//! after the other, and whoever touches the one whose entry is a migration entry sleeps until it is restored
//! (designs-2012.md sections 1.5 and 8.1, point 10).
//!
//! A thread that sweeps the same range ahead of that page never meets it; one that comes from behind catches up with
//! it, because a migration takes longer than going over a page, and from there on proceeds at its pace. Moves of single
//! base pages are over before anybody is likely to come by, and are not looked at.

/// A huge page that is being moved page by page.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Front {
    /// Process.
    pub process: usize,
    /// Mapping.
    pub vma: usize,
    /// Chunk.
    pub chunk: usize,
    /// When the first page is taken away, ns.
    pub from_ns: u64,
    /// When the last one is back, ns.
    pub until_ns: u64,
    /// Time of one page, ns.
    pub page_ns: f64,
}

/// All of them: at most one per thread, so a plain list.
#[derive(Clone, Debug, Default)]
pub struct Fronts(Vec<Front>);

impl Fronts {
    /// Nothing is being moved.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
    /// A move begins; those that are over at `now_ns`, which no thread is behind of, are forgotten.
    pub fn begin(&mut self, front: Front, now_ns: u64) {
        self.0.retain(|f| f.until_ns > now_ns);
        self.0.push(front);
    }
    /// How long a thread sleeps that enters `page` of a chunk at `clock` and would leave the page before `end` at
    /// `leaves_ns`, ns.
    pub fn wait_ns(&self, at: (usize, usize, usize), (page, end): (usize, usize), clock: u64, leaves_ns: u64) -> u64 {
        let meets = |f: &&Front| {
            (f.process, f.vma, f.chunk) == at
                && (f.from_ns..f.until_ns).contains(&clock)
                && page as f64 * f.page_ns <= (clock - f.from_ns) as f64
        };
        let free_ns = |f: &Front| f.from_ns + (end as f64 * f.page_ns) as u64;
        self.0.iter().filter(meets).map(|f| free_ns(f).saturating_sub(leaves_ns)).max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: (usize, usize, usize) = (0, 1, 7);

    fn fronts() -> Fronts {
        let mut f = Fronts::default();
        // 512 pages of 60 us from 1 ms on.
        let (from_ns, until_ns, page_ns) = (1_000_000, 1_000_000 + 512 * 60_000, 60_000.0);
        f.begin(Front { process: 0, vma: 1, chunk: 7, from_ns, until_ns, page_ns }, 0);
        f
    }

    #[test]
    fn from_behind_a_thread_goes_at_the_pace_of_the_moves() {
        // At 2 ms the 17th page is away: the first ten are free again, all hundred are so at 7 ms.
        assert_eq!(fronts().wait_ns(AT, (0, 10), 2_000_000, 2_200_000), 0);
        assert_eq!(fronts().wait_ns(AT, (0, 100), 2_000_000, 3_800_000), 3_200_000);
        // A thread slower than the moves does not wait.
        assert_eq!(fronts().wait_ns(AT, (0, 100), 2_000_000, 9_000_000), 0);
    }

    #[test]
    fn ahead_of_it_elsewhere_before_and_after_nobody_waits() {
        let f = fronts();
        assert_eq!(f.wait_ns(AT, (17, 100), 2_000_000, 2_100_000), 0);
        assert_eq!(f.wait_ns((0, 1, 8), (0, 100), 2_000_000, 2_100_000), 0);
        assert_eq!(f.wait_ns((1, 1, 7), (0, 100), 2_000_000, 2_100_000), 0);
        assert_eq!(f.wait_ns(AT, (0, 100), 999_999, 1_000_500), 0);
        assert_eq!(f.wait_ns(AT, (0, 100), 31_720_000, 31_800_000), 0);
    }

    #[test]
    fn what_is_over_is_forgotten() {
        let mut f = fronts();
        let later = Front { process: 1, vma: 0, chunk: 0, from_ns: 32_000_000, until_ns: 33_000_000, page_ns: 2000.0 };
        f.begin(later, 31_720_000);
        assert_eq!(f.0, [later]);
    }
}
