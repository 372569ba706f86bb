//! Draws from distributions, on top of the uniform ones.
//!
//! The two counting draws ([`Rng::binomial`], [`Rng::distinct_hits`]) are exact while the count is
//! small (they step from success to success) and use the normal distribution with the exact mean and
//! variance beyond [`EXACT_MEAN`], where the two cannot be told apart in a run.

use super::Rng;
use crate::hw::math::{exp, expm1, ln, ln_1p};

/// Expected counts up to this are drawn exactly.
const EXACT_MEAN: f64 = 32.0;

impl Rng {
    /// Exponential with the given mean (same unit); 0 for a mean of 0 or below.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        if mean <= 0.0 {
            return 0.0;
        }
        -mean * ln(self.unit_positive())
    }

    /// Standard normal (mean 0, variance 1), by the polar method.
    pub fn normal(&mut self) -> f64 {
        loop {
            let x = 2.0 * self.unit() - 1.0;
            let y = 2.0 * self.unit() - 1.0;
            let r2 = x * x + y * y;
            if r2 > 0.0 && r2 < 1.0 {
                return x * (-2.0 * ln(r2) / r2).sqrt();
            }
        }
    }

    /// Number of trials up to and including the first success, at least 1; `u64::MAX` for `p <= 0`.
    pub fn geometric(&mut self, p: f64) -> u64 {
        if p >= 1.0 {
            return 1;
        }
        if p.is_nan() || p <= 0.0 {
            return u64::MAX;
        }
        // Casting saturates, which is what a gap beyond 2^64 should do.
        ((ln(self.unit_positive()) / ln_1p(-p)) as u64).saturating_add(1)
    }

    /// Number of successes in `n` trials of probability `p`.
    pub fn binomial(&mut self, n: u64, p: f64) -> u64 {
        if p.is_nan() || p <= 0.0 || n == 0 {
            return 0;
        }
        if p >= 1.0 {
            return n;
        }
        if p > 0.5 {
            return n - self.binomial(n, 1.0 - p);
        }
        let mean = n as f64 * p;
        if mean > EXACT_MEAN {
            return self.rounded_normal(mean, mean * (1.0 - p), n);
        }
        let mut left = n;
        let mut hits = 0;
        loop {
            let gap = self.geometric(p);
            if gap > left {
                return hits;
            }
            left -= gap;
            hits += 1;
        }
    }

    /// Number of uniform accesses to `pages` pages up to and including the first that hits one of the
    /// `pending` ones; `u64::MAX` if none is pending. The page hit is uniform among the pending ones.
    pub fn accesses_until_hit(&mut self, pending: u64, pages: u64) -> u64 {
        if pending == 0 || pages == 0 {
            return u64::MAX;
        }
        self.geometric(pending as f64 / pages as f64)
    }

    /// How many of the `pending` pages among `pages` are hit at least once by `accesses` independent
    /// uniform accesses; a page is no longer pending once hit. At most `min(pending, accesses)`.
    /// Which pages: any set of that size is equally likely.
    pub fn distinct_hits(&mut self, pending: u64, pages: u64, accesses: u64) -> u64 {
        let pending = pending.min(pages);
        if pending == 0 || accesses == 0 {
            return 0;
        }
        if pages == 1 {
            return 1;
        }
        let (k, n, m) = (pending as f64, pages as f64, accesses as f64);
        let missed = exp(m * ln_1p(-1.0 / n));
        let expected_hits = k * (1.0 - missed);
        if expected_hits <= EXACT_MEAN {
            return self.distinct_hits_exact(pending, pages, accesses);
        }
        let most = pending.min(accesses);
        if k * missed <= EXACT_MEAN && m > k {
            // Rare misses are nearly independent of each other.
            return (pending - self.binomial(pending, missed)).clamp(1, most);
        }
        // Two pages are both missed with probability missed^2 * (1 - 1/(n-1)^2)^m: slightly negative correlation.
        let correlation = missed * missed * expm1(m * ln_1p(-1.0 / ((n - 1.0) * (n - 1.0))));
        let variance = k * missed * (1.0 - missed) + k * (k - 1.0) * correlation;
        self.rounded_normal(expected_hits, variance, most).max(1)
    }

    /// Steps from one newly hit page to the next: the gaps are geometric with a shrinking probability.
    fn distinct_hits_exact(&mut self, pending: u64, pages: u64, accesses: u64) -> u64 {
        let mut left = accesses;
        let mut hits = 0;
        while hits < pending {
            let gap = self.accesses_until_hit(pending - hits, pages);
            if gap > left {
                break;
            }
            left -= gap;
            hits += 1;
        }
        hits
    }

    fn rounded_normal(&mut self, mean: f64, variance: f64, most: u64) -> u64 {
        let x = mean + variance.max(0.0).sqrt() * self.normal() + 0.5;
        // A negative value casts to 0.
        (x as u64).min(most)
    }
}
