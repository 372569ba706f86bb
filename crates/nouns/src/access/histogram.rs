//! How often parts of a span were visited: what the pattern `recorded` draws from.
//!
//! Problem: the same histogram serves spans of any size, and a run asks it at every fault.
//! Approach: the span is divided into equal parts, and cumulative sums of their visits are kept as whole numbers. A
//! share of the visits is a look-up and an interpolation; nothing is allocated after the histogram is made.
//! Units: shares from 0 to 1. Invariants: at least one visit, sums never fall, the last one is the whole.

use super::ranks::Ranks;
use numalab_base::math::exp;
use serde::{Deserialize, Serialize};

/// Most parts of a histogram.
pub const MAX_PARTS: usize = 4096;

/// Steps of the share of a span that a cache holds, in [`Histogram::cached`].
const HELD_STEPS: usize = 64;

/// How often parts of a span were visited.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Vec<u64>", into = "Vec<u64>")]
pub struct Histogram {
    /// Visits below each part, and at last all of them.
    sums: Vec<u64>,
    /// Share of the visits that a cache answers which holds so many 64ths of the span.
    cached: Vec<f64>,
    /// Parts by how hot they are, hottest first.
    levels: Vec<Level>,
}

/// Parts of a span that are about as hot as each other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Level {
    /// Share of the visits that go there.
    pub visits: f64,
    /// Share of the span that is as hot or hotter.
    pub span: f64,
}

/// Why counts are no histogram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoHistogram {
    /// There are no parts, or more than [`MAX_PARTS`].
    Parts(usize),
    /// No part was visited.
    Empty,
    /// All visits together are more than 2^64.
    TooMany,
}

impl std::fmt::Display for NoHistogram {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Parts(n) => write!(f, "it has {n} parts; expected 1 to {MAX_PARTS}"),
            Self::Empty => f.write_str("none of its parts was visited; expected at least one line"),
            Self::TooMany => f.write_str("its lines come to more than 2^64; expected fewer"),
        }
    }
}

impl TryFrom<Vec<u64>> for Histogram {
    type Error = NoHistogram;

    /// From the visits of each part, in the order of addresses.
    ///
    /// # Errors
    /// No parts or too many, no visits or too many.
    fn try_from(visits: Vec<u64>) -> Result<Self, NoHistogram> {
        if visits.is_empty() || visits.len() > MAX_PARTS {
            return Err(NoHistogram::Parts(visits.len()));
        }
        let mut sums = Vec::with_capacity(visits.len() + 1);
        let mut sum = 0u64;
        sums.push(0);
        for n in &visits {
            sum = sum.checked_add(*n).ok_or(NoHistogram::TooMany)?;
            sums.push(sum);
        }
        if sum == 0 {
            return Err(NoHistogram::Empty);
        }
        let weights: Vec<f64> = visits.iter().map(|n| *n as f64 / sum as f64).collect();
        Ok(Self { sums, cached: cached(&weights), levels: levels(&weights) })
    }
}

impl From<Histogram> for Vec<u64> {
    fn from(h: Histogram) -> Self {
        h.visits().collect()
    }
}

/// The visits of each part: this text is a part of the identity of a plan.
impl std::fmt::Debug for Histogram {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Histogram ")?;
        f.debug_list().entries(self.visits()).finish()
    }
}

impl Histogram {
    /// Number of parts.
    pub fn parts(&self) -> usize {
        self.sums.len() - 1
    }
    /// All visits.
    pub fn total(&self) -> u64 {
        self.sums[self.parts()]
    }
    /// The visits of each part, in the order of addresses.
    pub fn visits(&self) -> impl Iterator<Item = u64> + '_ {
        self.sums.windows(2).map(|w| w[1] - w[0])
    }
    /// Share of the visits that go to the span below `place`, a share of its length. Inside a part they are even.
    #[inline]
    pub fn below(&self, place: f64) -> f64 {
        let at = (place * self.parts() as f64).clamp(0.0, self.parts() as f64);
        let part = (at as usize).min(self.parts() - 1);
        let (low, high) = (self.sums[part] as f64, self.sums[part + 1] as f64);
        (low + (at - part as f64) * (high - low)) / self.total() as f64
    }
    /// Share of the visits to the part `share` of the span that is visited most.
    pub fn hottest(&self, share: f64) -> f64 {
        let mut visits: Vec<u64> = self.visits().collect();
        visits.sort_unstable_by(|a, b| b.cmp(a));
        let parts = share.clamp(0.0, 1.0) * self.parts() as f64;
        let weight = |n: usize| (parts - n as f64).clamp(0.0, 1.0);
        visits.iter().enumerate().map(|(n, v)| weight(n) * *v as f64).sum::<f64>() / self.total() as f64
    }
    /// Parts by how hot they are, hottest first: a level is at least half as hot as its hottest part. At most 8.
    #[inline]
    pub fn levels(&self) -> &[Level] {
        &self.levels
    }
    /// The place below which the share `below` of the visits lies, a share of the length of the span below 1.
    pub fn place(&self, below: f64) -> f64 {
        let want = below.clamp(0.0, 1.0 - f64::EPSILON) * self.total() as f64;
        let part = self.sums.partition_point(|sum| *sum as f64 <= want).clamp(1, self.parts()) - 1;
        let (low, high) = (self.sums[part] as f64, self.sums[part + 1] as f64);
        (part as f64 + ((want - low) / (high - low)).clamp(0.0, 1.0)) / self.parts() as f64
    }
    /// Share of the visits that find their line in a cache which holds the share `held` of the span. It keeps lines
    /// that were used last: a line is there if it was used within a time that is the same for all lines (H. Che and
    /// others, "Hierarchical Web caching systems", IEEE JSAC 2002).
    #[inline]
    pub fn cached(&self, held: f64) -> f64 {
        let at = (held * HELD_STEPS as f64).clamp(0.0, HELD_STEPS as f64);
        let step = (at as usize).min(HELD_STEPS - 1);
        self.cached[step] + (at - step as f64) * (self.cached[step + 1] - self.cached[step])
    }
    /// The lines of a span of `lines` lines by how often they are drawn; the first line has the first rank. What lies
    /// within a 1024th of the visits is spread evenly.
    pub fn ranks(&self, lines: u64) -> Ranks {
        let part_lines = lines as f64 / self.parts() as f64;
        let mut part = 0;
        Ranks::from_quantiles(lines, |below| {
            let want = below * self.total() as f64;
            while part + 1 < self.parts() && self.sums[part + 1] as f64 <= want {
                part += 1;
            }
            let (low, high) = (self.sums[part] as f64, self.sums[part + 1] as f64);
            let inside = if high > low { ((want - low) / (high - low)).clamp(0.0, 1.0) } else { 0.0 };
            (part as f64 + inside) * part_lines
        })
    }
}

/// Most levels of a histogram.
const MAX_LEVELS: usize = 8;

fn levels(weights: &[f64]) -> Vec<Level> {
    let mut hottest: Vec<f64> = weights.iter().copied().filter(|w| *w > 0.0).collect();
    hottest.sort_unstable_by(|a, b| b.total_cmp(a));
    let (mut out, mut first): (Vec<Level>, f64) = (Vec::new(), 0.0);
    for (n, weight) in hottest.into_iter().enumerate() {
        let span = (n + 1) as f64 / weights.len() as f64;
        let is_full = out.len() == MAX_LEVELS;
        match out.last_mut() {
            Some(last) if weight >= 0.5 * first || is_full => {
                last.visits += weight;
                last.span = span;
            }
            _ => {
                first = weight;
                out.push(Level { visits: weight, span });
            }
        }
    }
    out
}

/// Share of the visits that a cache answers, by 64ths of the span that it holds. `weights` are shares of the visits of
/// equal parts.
fn cached(weights: &[f64]) -> Vec<f64> {
    let parts = weights.len() as f64;
    // Of a line that takes the share `w` of its part's even use, the odds to have been used within `time`.
    let there = |w: f64, time: f64| 1.0 - exp(-w * parts * time);
    let held = |time: f64| weights.iter().map(|w| there(*w, time)).sum::<f64>() / parts;
    let hits = |time: f64| weights.iter().map(|w| w * there(*w, time)).sum::<f64>();
    let used = weights.iter().filter(|w| **w > 0.0).count() as f64 / parts;
    let of = |step: usize| {
        let want = step as f64 / HELD_STEPS as f64;
        // All that is used fits.
        if want >= used {
            return 1.0;
        }
        let (mut low, mut high) = (0.0, 1.0);
        while held(high) < want && high < 1e12 {
            high *= 2.0;
        }
        for _ in 0..60 {
            let middle = 0.5 * (low + high);
            if held(middle) < want {
                low = middle;
            } else {
                high = middle;
            }
        }
        hits(high)
    };
    (0..=HELD_STEPS).map(|step| if step == 0 { 0.0 } else { of(step) }).collect()
}

#[cfg(test)]
mod tests {
    use super::super::ranks::even_bits;
    use super::*;

    fn of(visits: &[u64]) -> Histogram {
        Histogram::try_from(visits.to_vec()).unwrap()
    }

    #[test]
    fn shares_follow_the_visits() {
        let h = of(&[90, 0, 5, 5]);
        assert_eq!((h.parts(), h.total()), (4, 100));
        for (place, share) in [(0.0, 0.0), (0.125, 0.45), (0.25, 0.9), (0.5, 0.9), (0.75, 0.95), (1.0, 1.0), (9.0, 1.0)]
        {
            assert!((h.below(place) - share).abs() < 1e-12, "{place}: {}", h.below(place));
        }
        for (below, place) in [(0.0, 0.0), (0.45, 0.125), (0.9, 0.5), (0.92, 0.6), (1.0, 1.0)] {
            assert!((h.place(below) - place).abs() < 1e-9, "{below}: {}", h.place(below));
        }
        assert!((h.hottest(0.25) - 0.9).abs() < 1e-12 && (h.hottest(0.125) - 0.45).abs() < 1e-12);
        let text = serde_json::to_string(&h).unwrap();
        assert_eq!(text, "[90,0,5,5]");
        assert_eq!(serde_json::from_str::<Histogram>(&text).unwrap(), h);
        assert_eq!(format!("{h:?}"), "Histogram [90, 0, 5, 5]");
    }

    #[test]
    fn what_is_no_histogram_is_refused() {
        assert_eq!(Histogram::try_from(Vec::new()), Err(NoHistogram::Parts(0)));
        assert_eq!(Histogram::try_from(vec![1; MAX_PARTS + 1]), Err(NoHistogram::Parts(MAX_PARTS + 1)));
        assert_eq!(Histogram::try_from(vec![0, 0]), Err(NoHistogram::Empty));
        assert_eq!(Histogram::try_from(vec![u64::MAX, 1]), Err(NoHistogram::TooMany));
        assert!(serde_json::from_str::<Histogram>("[0]").unwrap_err().to_string().contains("none of its parts"));
    }

    #[test]
    fn a_cache_keeps_what_is_used_most() {
        let even = of(&[7; 8]);
        assert!((even.cached(0.25) - 0.25).abs() < 0.02, "{}", even.cached(0.25));
        // An eighth of the span has nine tenths of the visits: a quarter of the span holds nearly all of them.
        let skewed = of(&[630, 10, 10, 10, 10, 10, 10, 10]);
        assert!(skewed.cached(0.25) > 0.85 && skewed.cached(0.25) < 0.95, "{}", skewed.cached(0.25));
        assert_eq!((skewed.cached(0.0), skewed.cached(1.0)), (0.0, 1.0));
        assert_eq!(of(&[1, 0, 0, 0]).cached(0.25), 1.0, "what is not used needs no room");
        let steps: Vec<f64> = (0..=100).map(|i| skewed.cached(f64::from(i) / 100.0)).collect();
        assert!(steps.windows(2).all(|w| w[0] <= w[1] + 1e-9), "{steps:?}");
    }

    #[test]
    fn levels_are_parts_of_like_heat() {
        assert_eq!(of(&[6, 5, 4, 5]).levels(), [Level { visits: 1.0, span: 1.0 }]);
        let two = of(&[90, 0, 5, 5]);
        assert_eq!(two.levels().iter().map(|l| l.span).collect::<Vec<_>>(), [0.25, 0.75]);
        assert!((two.levels()[0].visits - 0.9).abs() < 1e-12 && (two.levels()[1].visits - 0.1).abs() < 1e-12);
        let steep: Vec<u64> = (0..20).map(|n| 1 << (2 * n)).collect();
        let levels = of(&steep).levels().to_vec();
        assert_eq!((levels.len(), levels[7].span), (8, 1.0));
        assert!((levels.iter().map(|l| l.visits).sum::<f64>() - 1.0).abs() < 1e-12);
    }

    #[test]
    fn draws_follow_the_visits() {
        let (h, lines) = (of(&[90, 0, 5, 5]), 4000);
        let ranks = h.ranks(lines);
        let mut drawn = [0u64; 4];
        even_bits(100_000).for_each(|bits| drawn[(ranks.rank(bits) * 4 / lines) as usize] += 1);
        for (got, want) in drawn.into_iter().zip([90_000, 0, 5000, 5000u64]) {
            assert!(got.abs_diff(want) < 200, "{drawn:?}");
        }
    }
}
