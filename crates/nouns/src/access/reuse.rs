//! `reuse`: dependent lines of which some are favoured, as programs return to what they used lately.
//!
//! Draws are independent ranks with `P(rank > k) = (1 + k / reach)^-alpha`, cut off at the span. A cache that keeps the
//! `C` bytes used most misses `(1 + C / reach)^-alpha` of them: the power law of cache misses ([`CacheFit::Reuse`]).

use super::access_pattern::{AccessPattern, Args};
use super::key::Key;
use super::pattern::Pattern;
use super::ranks::Ranks;
use super::vocabulary::{CacheFit, Lines, Traffic, Walk, LINE_BYTES, REUSE_REACH_BYTES};

/// 0.5 is the square-root rule; programs have 0.3 to 0.7.
const KEYS: &[Key] = &[Key::number("alpha", 0.1, 2.0, "a power from 0.1 to 2")];

/// Dependent lines of which some are favoured.
pub(super) struct Reuse;

impl AccessPattern for Reuse {
    fn word(&self) -> &'static str {
        "reuse"
    }
    fn keys(&self) -> &'static [Key] {
        KEYS
    }
    fn walk(&self, _: Args) -> Walk {
        Walk::Random(Lines::Scattered)
    }
    fn traffic(&self) -> Traffic {
        Traffic::Dependent
    }
    fn cache_fit(&self, [alpha, _]: Args) -> CacheFit {
        CacheFit::Reuse { alpha }
    }
    fn ranks(&self, [alpha, _]: Args, lines: u64) -> Ranks {
        let reach = (REUSE_REACH_BYTES / LINE_BYTES) as f64;
        let beyond = (1.0 + lines as f64 / reach).powf(-alpha);
        Ranks::from_quantiles(lines, |below| {
            let above = beyond + (1.0 - below) * (1.0 - beyond);
            reach * (above.powf(-1.0 / alpha) - 1.0)
        })
    }
}

impl Pattern {
    /// Dependent lines of which some are favoured with the power `alpha`, 0.1 to 2.
    pub fn reuse(alpha: f64) -> Self {
        Self::new(&Reuse, [alpha, 0.0])
    }
}

#[cfg(test)]
mod tests {
    use super::super::ranks::even_bits;
    use super::*;

    #[test]
    fn the_share_beyond_a_cache_falls_as_the_power_law() {
        let (lines, alpha, draws) = (400_000u64, 0.5, 200_000);
        let ranks = Pattern::reuse(alpha).ranks(lines);
        let beyond = |k: f64| (1.0 + k / 2048.0).powf(-alpha);
        for kept in [2048u64, 16_384, 100_000] {
            let missed = even_bits(draws).filter(|&bits| ranks.rank(bits) >= kept).count();
            let all = beyond(lines as f64);
            let expected = (beyond(kept as f64) - all) / (1.0 - all);
            let share = missed as f64 / draws as f64;
            assert!((share - expected).abs() < 0.01, "{kept}: {share} expected {expected}");
        }
    }
}
