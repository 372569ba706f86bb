//! Resampling: bootstrap confidence intervals, and mmtests' sub-selection mean.

use crate::describe::{self, Mean};
use crate::dist;
use numalab_base::rng::SplitMix64;

/// Random subsets per iteration of the sub-selection mean (mmtests-report.md §1.5).
const SELECTIONS: usize = 1000;
/// Share of the samples that a subset holds.
const SELECTED_SHARE: f64 = 0.8;

/// A confidence interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// Percentile-bootstrap interval of the ratio of arithmetic means `col / base`; the two sides are resampled
/// independently. `None` without samples or rounds, or when a resampled baseline mean is 0.
pub fn bootstrap_ratio(base: &[f64], col: &[f64], level: f64, rounds: usize, seed: u64) -> Option<Interval> {
    let mut rng = SplitMix64::new(seed);
    let (mut draw0, mut draw1) = (vec![0.0; base.len()], vec![0.0; col.len()]);
    interval(level, rounds, || {
        resample(&mut rng, base, &mut draw0);
        resample(&mut rng, col, &mut draw1);
        let b = describe::amean(&draw0)?;
        (b != 0.0).then_some(describe::amean(&draw1)? / b)
    })
}

/// Fills `out` with draws from `samples`, with replacement; does nothing when there are no samples.
fn resample(rng: &mut SplitMix64, samples: &[f64], out: &mut [f64]) {
    if samples.is_empty() {
        return;
    }
    for slot in out {
        *slot = samples[rng.below(samples.len() as u64) as usize];
    }
}

/// Percentile interval at `level` of the statistic that `draw` takes of a new resample in each of `rounds`. `None`
/// without rounds, or where the statistic does not exist for a resample.
fn interval(level: f64, rounds: usize, mut draw: impl FnMut() -> Option<f64>) -> Option<Interval> {
    let values: Option<Vec<f64>> = (0..rounds).map(|_| draw()).collect();
    middle(values?, level)
}

/// The interval of the values without a share of `(1 - level) / 2` at each end.
fn middle(mut values: Vec<f64>, level: f64) -> Option<Interval> {
    if values.is_empty() {
        return None;
    }
    values.sort_by(f64::total_cmp);
    let last = values.len() - 1;
    let out = ((1.0 - level) / 2.0 * values.len() as f64).floor() as usize;
    let out = out.min(last / 2);
    Some(Interval { low: values[out], high: values[last - out] })
}

/// Sub-selection mean and half the width of its 95 % interval: `SubAmean` and `SubAmeanCI` of mmtests.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SubMean {
    /// Mean over iterations of the median of the subset means.
    pub mean: f64,
    /// Half the width of the interval.
    pub half_width: f64,
}

/// The sub-selection mean of mmtests over iterations; `mean` is the kind of mean taken of a subset.
///
/// For each iteration, 1000 random subsets of 80 % of its samples, drawn with replacement, give the median of the
/// subset means. Another 1000 subsets give the median of the subset variances. mmtests draws new subsets each time;
/// here `seed` fixes them.
///
/// `None` when an iteration has fewer than three samples (a subset of one has no variance) or a mean does not exist.
pub fn sub_mean(iterations: &[&[f64]], mean: Mean, seed: u64) -> Option<SubMean> {
    if iterations.is_empty() {
        return None;
    }
    let mut rng = SplitMix64::new(seed);
    let (mut medians, mut variances, mut sizes) = (Vec::new(), Vec::new(), Vec::new());
    for samples in iterations {
        let size = (SELECTED_SHARE * samples.len() as f64) as usize;
        if size < 2 {
            return None;
        }
        let mut draw = vec![0.0; size];
        let mut select = |statistic: &dyn Fn(&[f64]) -> Option<f64>| -> Option<Vec<f64>> {
            (0..SELECTIONS)
                .map(|_| {
                    resample(&mut rng, samples, &mut draw);
                    statistic(&draw)
                })
                .collect()
        };
        medians.push(describe::median(&select(&|x| mean.of(x))?)?);
        variances.push(describe::median(&select(&|x| describe::stddev(x).map(|s| s * s))?)?);
        sizes.push(size as f64);
    }
    let mean = describe::amean(&medians)?;
    let within = describe::amean(&variances)?;
    let weighted: f64 = medians.iter().zip(&sizes).map(|(m, k)| (m - mean) * (m - mean) * k).sum();
    let between = if medians.len() > 1 { weighted / (medians.len() - 1) as f64 } else { 0.0 };
    let total: f64 = sizes.iter().sum();
    Some(SubMean { mean, half_width: dist::normal_quantile(0.975) * ((between + within) / total).sqrt() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ramp(n: usize) -> Vec<f64> {
        (0..n).map(|i| 100.0 + i as f64).collect()
    }

    /// Bootstrap interval of the arithmetic mean at 95 %.
    fn bootstrap(samples: &[f64], rounds: usize, seed: u64) -> Option<Interval> {
        let (mut rng, mut draw) = (SplitMix64::new(seed), vec![0.0; samples.len()]);
        interval(0.95, rounds, || {
            resample(&mut rng, samples, &mut draw);
            describe::amean(&draw)
        })
    }

    #[test]
    fn bootstrap_agrees_with_theory_and_repeats() {
        let x = ramp(100);
        let ci = bootstrap(&x, 2000, 7).unwrap();
        // Standard error of a bootstrap mean: population sd / sqrt(n) = 28.866 / 10.
        let want = 1.96 * describe::population_stddev(&x).unwrap() / 10.0;
        let half = (ci.high - ci.low) / 2.0;
        assert!((half / want - 1.0).abs() < 0.07, "{half} {want}");
        assert!(ci.low < 149.5 && 149.5 < ci.high);
        assert_eq!(bootstrap(&x, 2000, 7), Some(ci));
        assert_ne!(bootstrap(&x, 2000, 8), Some(ci));
    }

    #[test]
    fn constant_samples_have_no_width() {
        let ci = bootstrap_ratio(&[2.0; 5], &[3.0; 5], 0.95, 200, 1).unwrap();
        assert_eq!((ci.low, ci.high), (1.5, 1.5));
        assert_eq!(bootstrap_ratio(&[0.0; 5], &[3.0; 5], 0.95, 200, 1), None);
        assert_eq!(bootstrap(&[], 200, 1), None);
        assert_eq!(bootstrap(&[1.0], 0, 1), None);
    }

    #[test]
    fn sub_mean_is_near_the_mean_with_a_known_width() {
        let x = ramp(100);
        let s = sub_mean(&[&x], Mean::Arithmetic, 3).unwrap();
        // One iteration: half width = 1.96 sqrt(variance / 80), the median subset variance near 833.25.
        let want = 1.96 * (833.25_f64 / 80.0).sqrt();
        assert!((s.mean - 149.5).abs() < 1.0, "{s:?}");
        assert!((s.half_width / want - 1.0).abs() < 0.05, "{s:?} {want}");
        assert_eq!(sub_mean(&[&x], Mean::Arithmetic, 3), Some(s));
    }

    #[test]
    fn sub_mean_between_iterations() {
        // Two constant iterations of 10: medians 1 and 3, no variance within; between = 2 * 8 / 1, total 16.
        let (a, b) = ([1.0; 10], [3.0; 10]);
        let s = sub_mean(&[&a, &b], Mean::Arithmetic, 1).unwrap();
        assert_eq!(s.mean, 2.0);
        assert!((s.half_width - 1.959_964).abs() < 1e-5, "{s:?}");
        assert_eq!(sub_mean(&[&[1.0, 2.0]], Mean::Arithmetic, 1), None);
        assert_eq!(sub_mean(&[], Mean::Arithmetic, 1), None);
    }
}
