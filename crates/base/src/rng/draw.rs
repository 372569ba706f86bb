//! Draws from distributions, made from uniform draws.
//!
//! [`Rng::binomial`] is exact while the expected count is small: it steps from success to success. Beyond
//! [`EXACT_MEAN`] it uses the normal distribution with the exact mean and variance; no run is long enough to tell the
//! two apart.

use super::xoshiro::Rng;
use super::ziggurat::standard_exponential;
use crate::math::{ln, ln_1p};

/// Binomial counts with an expected value up to this are drawn exactly.
const EXACT_MEAN: f64 = 32.0;

/// Chances below this have a short series for their logarithm.
const SMALL: f64 = 1.0 / 256.0;

impl Rng {
    /// Exponential draw with the given mean, in the unit of the mean; 0 for a mean of 0 or below.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        if mean <= 0.0 {
            return 0.0;
        }
        -mean * ln(self.unit_positive())
    }

    /// Exponential draw with a mean of 1, from other uniform draws than [`Self::exponential`] and in a fraction of the
    /// time.
    #[inline]
    pub fn standard_exponential(&mut self) -> f64 {
        standard_exponential(self)
    }

    /// Standard normal draw (mean 0, variance 1), by the polar method.
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
        // The cast saturates, which is right for a gap beyond 2^64.
        ((ln(self.unit_positive()) / ln_1p(-p)) as u64).saturating_add(1)
    }

    /// As [`Self::geometric`], from other uniform draws and in a fraction of the time: for callers that draw it for
    /// each event.
    pub fn next_success(&mut self, p: f64) -> u64 {
        if p >= 1.0 {
            return 1;
        }
        if p.is_nan() || p <= 0.0 {
            return u64::MAX;
        }
        // The series of -ln(1 - p); what it leaves out is below 10^-9 of it.
        let rate = if p < SMALL { p * (1.0 + p * (0.5 + p * (1.0 / 3.0 + p * 0.25))) } else { -ln_1p(-p) };
        ((standard_exponential(self) / rate) as u64).saturating_add(1)
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

    fn rounded_normal(&mut self, mean: f64, variance: f64, most: u64) -> u64 {
        let x = mean + variance.max(0.0).sqrt() * self.normal() + 0.5;
        // A negative value casts to 0.
        (x as u64).min(most)
    }
}
