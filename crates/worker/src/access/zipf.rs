//! Independent zipf-distributed lines; the first line of the span is the most popular.
//!
//! A table of the inverse distribution function at 1024 equal steps is made when the op is compiled, so
//! that a draw is a lookup and an interpolation without floating point.

use super::{scale, touch, Draw, Range, WriteTurn, LINE_BYTES};

const STEPS: usize = 1024;
/// Ranks summed exactly; beyond them the sum is an integral.
const EXACT: u64 = 4096;
/// Fraction bits of table entries.
const FRACTION: u32 = 16;

/// Inverse distribution function of ranks `0..lines`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    at: Vec<u64>,
}

impl Table {
    /// For `lines` ranks with skew `theta` > 0.
    pub fn new(lines: u64, theta: f64) -> Self {
        let lines = lines.max(1);
        let exact = lines.min(EXACT);
        // Cumulated weight up to and including each exact rank.
        let mut sums = Vec::with_capacity(exact as usize);
        let mut sum = 0.0;
        for rank in 0..exact {
            sum += ((rank + 1) as f64).powf(-theta);
            sums.push(sum);
        }
        let tail = Tail { theta, from: exact as f64 + 0.5 };
        let total = sum + tail.weight(lines as f64 + 0.5);
        let mut at = Vec::with_capacity(STEPS + 1);
        let mut rank = 0usize;
        for step in 0..=STEPS {
            let want = total * step as f64 / STEPS as f64;
            while rank < sums.len() && sums[rank] < want {
                rank += 1;
            }
            let position = if rank < sums.len() {
                let before = if rank == 0 { 0.0 } else { sums[rank - 1] };
                rank as f64 + (want - before) / (sums[rank] - before)
            } else {
                tail.position(want - sum) - 0.5
            };
            let limit = (lines << FRACTION) - 1;
            at.push(((position * f64::from(1u32 << FRACTION)) as u64).min(limit));
        }
        Self { at }
    }

    /// For `lines` ranks of which a share `0..=1` lies below the rank that `quantile` gives for it.
    pub fn from_quantiles(lines: u64, quantile: impl Fn(f64) -> f64) -> Self {
        let limit = (lines.max(1) << FRACTION) - 1;
        let at = |step: usize| (quantile(step as f64 / STEPS as f64) * f64::from(1u32 << FRACTION)) as u64;
        Self { at: (0..=STEPS).map(|step| at(step).min(limit)).collect() }
    }

    /// Rank for 64 random bits.
    #[inline(always)]
    pub fn rank(&self, bits: u64) -> u64 {
        let step = (bits >> 54) as usize;
        let (low, high) = (self.at[step], self.at[step + 1]);
        (low + scale(bits << 10, high - low)) >> FRACTION
    }
}

/// Weights beyond the exact ranks: the integral of x^-theta.
struct Tail {
    theta: f64,
    from: f64,
}

impl Tail {
    fn weight(&self, to: f64) -> f64 {
        if to <= self.from {
            return 0.0;
        }
        let e = 1.0 - self.theta;
        if e.abs() < 1e-9 {
            (to / self.from).ln()
        } else {
            (to.powf(e) - self.from.powf(e)) / e
        }
    }
    fn position(&self, weight: f64) -> f64 {
        let e = 1.0 - self.theta;
        if e.abs() < 1e-9 {
            self.from * weight.exp()
        } else {
            (self.from.powf(e) + weight * e).max(f64::MIN_POSITIVE).powf(1.0 / e)
        }
    }
}

/// `accesses` accesses.
pub fn walk(
    range: Range,
    accesses: u64,
    table: &Table,
    mut turn: WriteTurn,
    draw: &mut Draw,
    after: &mut impl FnMut(u64),
) {
    let last = range.lines() - 1;
    let mut left = accesses;
    while left > 0 {
        let batch = left.min(super::random::BATCH);
        for _ in 0..batch {
            touch(range, table.rank(draw.bits()).min(last) * LINE_BYTES, &mut turn);
        }
        after(batch);
        left -= batch;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Probability of rank 0 and of the upper half, from the definition.
    fn expected(lines: u64, theta: f64) -> (f64, f64) {
        let w: Vec<f64> = (1..=lines).map(|r| (r as f64).powf(-theta)).collect();
        let total: f64 = w.iter().sum();
        (w[0] / total, w[lines as usize / 2..].iter().sum::<f64>() / total)
    }

    #[test]
    fn draws_follow_the_definition() {
        for (lines, theta) in [(100u64, 0.9), (50_000, 0.99), (50_000, 1.0), (20_000, 1.3)] {
            let table = Table::new(lines, theta);
            let mut draw = Draw::new(5, 0);
            let n = 200_000;
            let (mut first, mut upper) = (0, 0);
            for _ in 0..n {
                let rank = table.rank(draw.bits());
                assert!(rank < lines);
                first += u32::from(rank == 0);
                upper += u32::from(rank >= lines / 2);
            }
            let (f, u) = (f64::from(first) / f64::from(n), f64::from(upper) / f64::from(n));
            let (ef, eu) = expected(lines, theta);
            assert!((f - ef).abs() < 0.01, "{lines} {theta}: first {f} expected {ef}");
            assert!((u - eu).abs() < 0.01, "{lines} {theta}: upper {u} expected {eu}");
        }
    }
}
