//! The odds that all pages of a block can be moved (model).
//!
//! Any page is locked or under writeback with a small fixed probability `q`, so a block of `m` pages can be emptied
//! with probability `(1 - q)^m`. The odds are in fixed point, so that every platform draws the same.

use crate::mm::units::CHUNK_PAGES;
use numalab_base::rng::Rng;

/// 1.0 in fixed point.
const ONE: u64 = 1 << 32;

/// The odds for blocks of up to 512 pages.
#[derive(Clone, Debug)]
pub struct Odds {
    /// `(1 - q)^m` by `m`, in units of 2^-32.
    pass: Vec<u64>,
}

impl Odds {
    /// The odds if a page cannot be moved with probability `unmovable_ppm` / 10^6.
    pub fn new(unmovable_ppm: u32) -> Self {
        let keep = 1_000_000 - u64::from(unmovable_ppm.min(1_000_000));
        let mut pass = vec![ONE];
        for m in 0..CHUNK_PAGES as usize {
            pass.push(pass[m] * keep / 1_000_000);
        }
        Self { pass }
    }
    /// Draws how many of `pages` are moved before the first one that cannot be moved; all of them if there is none.
    pub fn movable_run(&self, pages: u16, rng: &mut Rng) -> u16 {
        let draw = rng.next_u64() >> 32;
        if draw < self.pass[pages as usize] {
            return pages;
        }
        self.pass[..=pages as usize].partition_point(|p| draw < *p).saturating_sub(1) as u16
    }
}

/// Expected success of compaction that may look at `candidates` blocks (vector 28 of thp-and-allocation.md section 17).
/// A share `polluted` of the blocks holds unmovable pages; the others are filled to `occupancy` (0..=1). A page cannot
/// be moved with probability `q`.
#[cfg(test)]
pub(super) fn expected_success(polluted: f64, occupancy: f64, q: f64, candidates: u32) -> f64 {
    use numalab_base::math::powf;
    let one = (1.0 - polluted) * powf(1.0 - q, CHUNK_PAGES as f64 * occupancy);
    1.0 - powf(1.0 - one, f64::from(candidates))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vector_28_expected_success() {
        let near = |a: f64, b: f64| assert!((a - b).abs() < 0.0006, "{a} {b}");
        near(expected_success(0.3, 0.6, 0.001, 1), 0.515);
        near(expected_success(0.3, 0.6, 0.001, 4), 0.945);
        near(expected_success(0.95, 0.6, 0.001, 1), 0.0368);
        near(expected_success(0.95, 0.6, 0.001, 4), 0.139);
    }

    #[test]
    fn draws_follow_the_odds() {
        let (odds, mut rng) = (Odds::new(1000), Rng::new(3));
        let n = 20_000;
        let all = (0..n).filter(|_| odds.movable_run(307, &mut rng) == 307).count();
        let expected = 0.999f64.powi(307);
        assert!((all as f64 / f64::from(n) - expected).abs() < 0.01, "{all} of {n}, expected {expected}");
    }

    #[test]
    fn certain_cases() {
        let mut rng = Rng::new(1);
        assert!((0..1000).all(|_| Odds::new(0).movable_run(512, &mut rng) == 512));
        assert!((0..1000).all(|_| Odds::new(1_000_000).movable_run(1, &mut rng) == 0));
        assert!((0..1000).all(|_| Odds::new(500_000).movable_run(3, &mut rng) <= 3));
    }
}
