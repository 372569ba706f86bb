//! The asterisk of a significant difference: two rules of mmtests (mmtests-report.md §1.6), and Welch's test.

use crate::{describe, dist, welch};

/// Level of the generation-B test.
const LEVEL_B: f64 = 0.10;
/// Level of the Welch rule.
const LEVEL_WELCH: f64 = 0.05;
/// 97.5 % quantile of the standard normal distribution: half the width of a generation-C interval, in standard
/// deviations.
pub const HALF_WIDTH: f64 = 1.959_963_984_540_054;

/// When a cell is starred.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StarRule {
    /// Generation B, mmtests of October 2018 to November 2024: unpooled t, df = N0 + N1 - 2, p < 0.10.
    #[default]
    GenB,
    /// Generation C, mmtests since November 2024: the intervals of 1.96 standard deviations around the means do not
    /// touch. The standard deviation is that of the samples, not of the mean.
    GenC,
    /// Welch's test with its own degrees of freedom: p < 0.05, and at least two samples on either side.
    Welch,
}

impl StarRule {
    /// Name on the command line and in records: `b`, `c` or `welch`.
    pub fn name(self) -> &'static str {
        match self {
            StarRule::GenB => "b",
            StarRule::GenC => "c",
            StarRule::Welch => "welch",
        }
    }
    /// Every rule, in order.
    pub const ALL: [StarRule; 3] = [StarRule::GenB, StarRule::GenC, StarRule::Welch];

    /// One line for the legend: what a star means.
    pub fn legend(self) -> &'static str {
        match self {
            StarRule::GenB => "* p < 0.10, two-sample t (unpooled, df = N0 + N1 - 2), mmtests 2018-2024",
            StarRule::GenC => "* intervals mean +- 1.96 standard deviations do not touch, mmtests since November 2024",
            StarRule::Welch => "* p < 0.05, Welch's t test; never with fewer than two runs a side",
        }
    }
}

/// A figure of one column that may be starred.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figure {
    /// The printed mean (harmonic for rates), or another starred statistic.
    pub value: f64,
    /// Standard deviation, of the kind that the rule uses; `None` with a single sample.
    pub stddev: Option<f64>,
    /// Number of samples.
    pub n: usize,
}

/// An interval around a figure (generation C).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Span {
    /// The figure.
    pub value: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// Outcome of a comparison of two figures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Verdict {
    /// Whether the cell is starred.
    pub starred: bool,
    /// Two-sided probability, where the rule has one.
    pub p: Option<f64>,
    /// `(baseline - column) / (sum of the half widths that face each other)`, generation C only. The intervals do not
    /// touch where its absolute value is above 1.
    pub interval_ratio: Option<f64>,
}

impl Verdict {
    /// No star, for want of samples.
    const NONE: Verdict = Verdict { starred: false, p: None, interval_ratio: None };
}

/// Compares two figures under `rule`.
pub fn judge(rule: StarRule, base: Figure, col: Figure) -> Verdict {
    match rule {
        StarRule::GenB => gen_b(base, col),
        StarRule::GenC => match (normal_span(base), normal_span(col)) {
            (Some(b), Some(c)) => gen_c(b, c),
            _ => Verdict::NONE,
        },
        StarRule::Welch => own_df(base, col),
    }
}

/// Standard error of the difference, unpooled; a missing deviation counts as 0.
fn standard_error(base: Figure, col: Figure) -> f64 {
    let part = |f: Figure| f.stddev.map_or(0.0, |s| s * s / f.n as f64);
    (part(base) + part(col)).sqrt()
}

/// The verdict where neither side has any spread: starred if the figures differ.
fn without_error(base: Figure, col: Figure) -> Verdict {
    let starred = base.value != col.value;
    Verdict { starred, p: Some(f64::from(u8::from(!starred))), interval_ratio: None }
}

/// Generation B.
fn gen_b(base: Figure, col: Figure) -> Verdict {
    let se = standard_error(base, col);
    if se == 0.0 {
        return without_error(base, col);
    }
    // These are not the Welch-Satterthwaite degrees of freedom, but those of the published stars.
    let df = (base.n + col.n) as f64 - 2.0;
    let p = dist::t_two_sided((base.value - col.value) / se, df);
    Verdict { starred: p < LEVEL_B, p: Some(p), interval_ratio: None }
}

/// Welch's test from figures.
fn own_df(base: Figure, col: Figure) -> Verdict {
    let (Some(s0), Some(s1)) = (base.stddev, col.stddev) else { return Verdict::NONE };
    let se = standard_error(base, col);
    if se == 0.0 {
        return without_error(base, col);
    }
    let (n0, n1) = (base.n as f64, col.n as f64);
    let df = welch::degrees_of_freedom(s0 * s0 / n0, n0, s1 * s1 / n1, n1);
    let p = dist::t_two_sided((base.value - col.value) / se, df);
    Verdict { starred: p < LEVEL_WELCH, p: Some(p), interval_ratio: None }
}

/// The interval `value +- 1.96 stddev`; `None` with a single sample.
pub fn normal_span(f: Figure) -> Option<Span> {
    let half = HALF_WIDTH * f.stddev?;
    Some(Span { value: f.value, low: f.value - half, high: f.value + half })
}

/// Order-statistic interval of a percentile of best-first samples, from binomial quantiles at 2.5 % and 97.5 %. mmtests
/// takes it for "Variable" tables since November 2024. `None` with fewer than two samples.
pub fn percentile_span(sorted: &[f64], percent: f64) -> Option<Span> {
    let last = sorted.len().checked_sub(1).filter(|n| *n > 0)?;
    let at = |p: f64| sorted[dist::binomial_quantile(p, last, percent / 100.0)];
    let (a, b) = (at(0.025), at(0.975));
    Some(Span { value: describe::percentile(sorted, percent)?, low: a.min(b), high: a.max(b) })
}

/// Generation C on given intervals: starred when they do not touch. Without any width, it is starred when the figures
/// differ by more than 1 in the unit of the table.
pub fn gen_c(base: Span, col: Span) -> Verdict {
    let facing = if col.value < base.value {
        (base.value - base.low) + (col.high - col.value)
    } else {
        (base.high - base.value) + (col.value - col.low)
    };
    let difference = base.value - col.value;
    let ratio = if facing == 0.0 { difference } else { difference / facing };
    Verdict { starred: ratio.abs() > 1.0, p: None, interval_ratio: Some(ratio) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(value: f64, stddev: f64, n: usize) -> Figure {
        Figure { value, stddev: Some(stddev), n }
    }

    #[test]
    fn coremark_of_imb_numa_nr_2021_under_both_generations() {
        // §1.6: t = 9.15 if N = 30, p below 1e-12, starred; under C the difference is 0.63 of the half widths.
        let (base, col) = (figure(389_627.78, 17_361.82, 30), figure(451_015.49, 32_378.08, 30));
        let t = (col.value - base.value) / standard_error(base, col);
        assert!((t - 9.15).abs() < 0.005, "{t}");
        let b = judge(StarRule::GenB, base, col);
        assert!(b.starred && b.p.unwrap() < 1e-12);
        let c = judge(StarRule::GenC, base, col);
        assert!(!c.starred);
        assert!((c.interval_ratio.unwrap() + 0.63).abs() < 0.005, "{c:?}");
    }

    #[test]
    fn single_samples_of_the_boundary_vectors() {
        // §4.5: 5.00 and 5.01 are starred under B (no variance, different), not under C.
        let one = |v| Figure { value: v, stddev: None, n: 1 };
        assert!(judge(StarRule::GenB, one(5.0), one(5.01)).starred);
        assert!(!judge(StarRule::GenB, one(5.0), one(5.0)).starred);
        assert!(!judge(StarRule::GenC, one(5.0), one(5.01)).starred);
        assert!(!judge(StarRule::Welch, one(5.0), one(5.01)).starred);
    }

    #[test]
    fn no_width_under_c_needs_more_than_one_unit() {
        assert!(!judge(StarRule::GenC, figure(5.0, 0.0, 3), figure(6.0, 0.0, 3)).starred);
        assert!(judge(StarRule::GenC, figure(5.0, 0.0, 3), figure(6.01, 0.0, 3)).starred);
        assert!(judge(StarRule::Welch, figure(5.0, 0.0, 3), figure(5.01, 0.0, 3)).starred);
    }

    #[test]
    fn percentile_span_takes_order_statistics() {
        // Seven samples: B(6, 0.95) gives the positions 4 and 6; percentile 95 is the sixth sample.
        let sorted = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0];
        assert_eq!(percentile_span(&sorted, 95.0), Some(Span { value: 6.0, low: 5.0, high: 7.0 }));
        assert_eq!(percentile_span(&[1.0], 95.0), None);
        assert_eq!(percentile_span(&[], 95.0), None);
    }

    #[test]
    fn disjoint_vma_2023_stars_cannot_come_from_the_documented_test() {
        // §4.3: syst-NUMA02, sums 491 / 494 / 489 over 7: t at most 1.73 and 1.55, p at least 0.109 and 0.147.
        for (t, p_min) in [(1.73, 0.109), (1.55, 0.147)] {
            let p = dist::t_two_sided(t, 12.0);
            assert!((p - p_min).abs() < 0.001, "{p}");
        }
    }
}
