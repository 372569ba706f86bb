//! Zipf-distributed ranks: rank k of n has probability proportional to `k^-theta`.
//!
//! Drawn by rejection-inversion (Hörmann and Derflinger, "Rejection-inversion to generate variates from
//! monotone discrete distributions", 1996): invert the integral of the density, accept almost always.
//! No table, so n may be the number of lines of a whole region; at most 1.3 tries on average.

use super::Rng;
use crate::hw::math::{exp, expm1, ln, ln_1p};

/// A prepared zipf distribution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Zipf {
    n: f64,
    theta: f64,
    /// Integral at the left end of the first rank's share.
    first: f64,
    /// Integral at the right end of the last rank.
    last: f64,
    /// Distance below which acceptance needs no further test.
    sure: f64,
}

impl Zipf {
    /// Ranks `0..n` with skew `theta > 0` (0.99 is the usual key-value figure). `n = 0` is taken as 1,
    /// a `theta` that is not positive as 0 (uniform).
    pub fn new(n: u64, theta: f64) -> Self {
        let theta = if theta > 0.0 { theta } else { 0.0 };
        let n = n.max(1) as f64;
        let mut z = Self { n, theta, first: 0.0, last: 0.0, sure: 0.0 };
        z.first = z.integral(1.5) - 1.0;
        z.last = z.integral(n + 0.5);
        z.sure = 2.0 - z.inverse(z.integral(2.5) - z.density(2.0));
        z
    }

    /// A rank in `0..n`; 0 is the most popular.
    pub fn draw(&self, rng: &mut Rng) -> u64 {
        loop {
            let u = self.last + rng.unit() * (self.first - self.last);
            let x = self.inverse(u);
            let k = ((x + 0.5) as u64 as f64).clamp(1.0, self.n);
            if k - x <= self.sure || u >= self.integral(k + 0.5) - self.density(k) {
                return k as u64 - 1;
            }
        }
    }

    fn density(&self, x: f64) -> f64 {
        exp(-self.theta * ln(x))
    }

    /// `(x^(1-theta) - 1) / (1 - theta)`, which is `ln x` in the limit.
    fn integral(&self, x: f64) -> f64 {
        let l = ln(x);
        let t = (1.0 - self.theta) * l;
        if t.abs() < 1e-9 {
            return l * (1.0 + 0.5 * t);
        }
        l * expm1(t) / t
    }

    fn inverse(&self, y: f64) -> f64 {
        let t = ((1.0 - self.theta) * y).max(-1.0);
        if t.abs() < 1e-9 {
            return exp(y * (1.0 - 0.5 * t));
        }
        exp(y * ln_1p(t) / t)
    }
}
