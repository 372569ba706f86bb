//! `zipf`: independent lines, of which line `n` of the span is drawn in proportion to `n^-theta`.
//!
//! The simulator takes all lines to be used equally often; the worker draws them by rank, and real caches decide.

use super::access_pattern::{AccessPattern, Args};
use super::key::Key;
use super::pattern::Pattern;
use super::ranks::Ranks;
use super::vocabulary::{CacheFit, Lines, Traffic, Walk};

const KEYS: &[Key] = &[Key::number("theta", 1e-6, 100.0, "a skew above 0 and at most 100")];

/// Independent zipf-distributed lines; the first line of the span is the most popular.
pub(super) struct Zipf;

impl AccessPattern for Zipf {
    fn word(&self) -> &'static str {
        "zipf"
    }
    fn keys(&self) -> &'static [Key] {
        KEYS
    }
    fn walk(&self, _: Args) -> Walk {
        Walk::Random(Lines::Ranked)
    }
    fn traffic(&self) -> Traffic {
        Traffic::Random
    }
    fn cache_fit(&self, _: Args) -> CacheFit {
        CacheFit::Uniform
    }
    fn ranks(&self, [theta, _]: Args, lines: u64) -> Ranks {
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
        let mut rank = 0usize;
        Ranks::from_quantiles(lines, |below| {
            let want = total * below;
            while rank < sums.len() && sums[rank] < want {
                rank += 1;
            }
            if rank < sums.len() {
                let before = if rank == 0 { 0.0 } else { sums[rank - 1] };
                rank as f64 + (want - before) / (sums[rank] - before)
            } else {
                tail.position(want - sum) - 0.5
            }
        })
    }
}

impl Pattern {
    /// Independent zipf-distributed lines of skew `theta`, above 0.
    pub fn zipf(theta: f64) -> Self {
        Self::new(&Zipf, [theta, 0.0])
    }
}

/// Ranks that are summed exactly; beyond them the sum is an integral.
const EXACT: u64 = 4096;

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

#[cfg(test)]
mod tests {
    use super::super::ranks::even_bits;
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
            let ranks = Pattern::zipf(theta).ranks(lines);
            let n = 200_000;
            let (mut first, mut upper) = (0, 0);
            for bits in even_bits(n) {
                let rank = ranks.rank(bits);
                assert!(rank < lines);
                first += u32::from(rank == 0);
                upper += u32::from(rank >= lines / 2);
            }
            let (f, u) = (f64::from(first) / n as f64, f64::from(upper) / n as f64);
            let (ef, eu) = expected(lines, theta);
            assert!((f - ef).abs() < 0.01, "{lines} {theta}: first {f} expected {ef}");
            assert!((u - eu).abs() < 0.01, "{lines} {theta}: upper {u} expected {eu}");
        }
    }
}
