//! How often the lines of a span are used, as a table that a draw looks up.

/// Equal steps of the distribution function.
const STEPS: usize = 1024;
/// Fraction bits of table entries.
const FRACTION: u32 = 16;

/// The inverse distribution function of ranks `0..lines` at 1024 equal steps. A draw is one look-up and an
/// interpolation without floating point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ranks {
    at: Vec<u64>,
}

impl Ranks {
    /// Every rank equally often.
    pub fn even(lines: u64) -> Self {
        Self::from_quantiles(lines, |below| below * lines as f64)
    }

    /// For `lines` ranks, a share `0..=1` of whose draws lies below the rank that `quantile` gives for that share.
    /// Shares are asked for in ascending order.
    pub fn from_quantiles(lines: u64, mut quantile: impl FnMut(f64) -> f64) -> Self {
        let limit = (lines.max(1) << FRACTION) - 1;
        let mut at = |step: usize| (quantile(step as f64 / STEPS as f64) * f64::from(1u32 << FRACTION)) as u64;
        Self { at: (0..=STEPS).map(|step| at(step).min(limit)).collect() }
    }

    /// The rank for 64 random bits.
    #[inline(always)]
    pub fn rank(&self, bits: u64) -> u64 {
        let step = (bits >> 54) as usize;
        let (low, high) = (self.at[step], self.at[step + 1]);
        (low + scale(bits << 10, high - low)) >> FRACTION
    }
}

/// `x` scaled from 64 bits to `0..n`.
#[inline(always)]
pub fn scale(x: u64, n: u64) -> u64 {
    ((u128::from(x) * u128::from(n)) >> 64) as u64
}

/// `n` 64-bit words that are spread evenly: draws whose shares have no scatter.
#[cfg(test)]
pub(super) fn even_bits(n: u64) -> impl Iterator<Item = u64> {
    (0..n).map(move |i| ((u128::from(i) << 64) / u128::from(n)) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn even_ranks_are_drawn_equally_often() {
        let ranks = Ranks::even(100);
        let mut drawn = [0; 100];
        even_bits(100_000).for_each(|bits| drawn[ranks.rank(bits) as usize] += 1);
        assert!(drawn.iter().all(|n| (950..=1050).contains(n)), "{drawn:?}");
    }
}
