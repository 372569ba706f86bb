//! Descriptive statistics in mmtests' sense (mmtests-report.md §1.5).
//!
//! Samples are pooled and ordered *best first*. Percentiles and means of the best work on that order, so in a
//! throughput table the first quartile is the largest of the three.

/// The better direction of a metric.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Better {
    /// Larger is better: throughput, scores.
    Higher,
    /// Smaller is better: times, costs, spreads.
    #[default]
    Lower,
    /// Neither is better: counts of activity, which grow for good and for bad reasons.
    Neutral,
}

impl Better {
    /// The direction that the flag of a record states.
    pub fn from_flag(higher_is_better: bool) -> Self {
        if higher_is_better {
            Better::Higher
        } else {
            Better::Lower
        }
    }
    /// The word of the JSON form: `higher`, `lower` or `neutral`.
    pub fn name(self) -> &'static str {
        match self {
            Better::Higher => "higher",
            Better::Lower => "lower",
            Better::Neutral => "neutral",
        }
    }
}

/// The kind of mean of a figure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mean {
    /// The mean of times, counts and shares.
    #[default]
    Arithmetic,
    /// The mean of rates (work per time): the rate of all runs together, if each did the same work.
    Harmonic,
}

impl Mean {
    /// The mean of samples. `None` without samples, and for the harmonic mean also if a sample is zero or negative.
    pub fn of(self, samples: &[f64]) -> Option<f64> {
        match self {
            Mean::Arithmetic => amean(samples),
            Mean::Harmonic => hmean(samples),
        }
    }
}

/// A copy of the finite samples, best first: descending for [`Better::Higher`], else ascending.
pub fn best_first(samples: &[f64], better: Better) -> Vec<f64> {
    let mut sorted: Vec<f64> = samples.iter().copied().filter(|x| x.is_finite()).collect();
    sorted.sort_by(f64::total_cmp);
    if better == Better::Higher {
        sorted.reverse();
    }
    sorted
}

/// Smallest sample; `None` without samples.
pub fn min(samples: &[f64]) -> Option<f64> {
    samples.iter().copied().reduce(f64::min)
}

/// Largest sample; `None` without samples.
pub fn max(samples: &[f64]) -> Option<f64> {
    samples.iter().copied().reduce(f64::max)
}

/// Arithmetic mean; `None` without samples.
pub fn amean(samples: &[f64]) -> Option<f64> {
    if samples.is_empty() {
        return None;
    }
    Some(samples.iter().sum::<f64>() / samples.len() as f64)
}

/// Harmonic mean; `None` without samples or if a sample is zero or negative.
pub fn hmean(samples: &[f64]) -> Option<f64> {
    if samples.is_empty() || samples.iter().any(|x| *x <= 0.0 || x.is_nan()) {
        return None;
    }
    Some(samples.len() as f64 / samples.iter().map(|x| 1.0 / x).sum::<f64>())
}

/// Sum of the squared differences from `mean`.
fn squares(samples: &[f64], mean: f64) -> f64 {
    samples.iter().map(|x| (x - mean) * (x - mean)).sum()
}

/// Sample standard deviation, divisor N - 1; `None` for fewer than two samples.
pub fn stddev(samples: &[f64]) -> Option<f64> {
    if samples.len() < 2 {
        return None;
    }
    let m = amean(samples)?;
    Some((squares(samples, m) / (samples.len() - 1) as f64).sqrt())
}

/// Population standard deviation, divisor N, as lkp-tests takes it; `None` without samples.
pub fn population_stddev(samples: &[f64]) -> Option<f64> {
    let m = amean(samples)?;
    Some((squares(samples, m) / samples.len() as f64).sqrt())
}

/// Harmonic standard deviation `H^2 * sqrt(sum (1/x - 1/H)^2 / N)`, divisor N, as mmtests takes it since November 2024.
/// `None` for fewer than two samples or where the harmonic mean does not exist.
pub fn hstddev(samples: &[f64]) -> Option<f64> {
    if samples.len() < 2 {
        return None;
    }
    let h = hmean(samples)?;
    let sum: f64 = samples.iter().map(|x| (1.0 / x - 1.0 / h).powi(2)).sum();
    Some(h * h * (sum / samples.len() as f64).sqrt())
}

/// Coefficient of variation in percent, `100 * stddev / amean`; `None` where either does not exist or the mean is 0.
pub fn coeffvar(samples: &[f64]) -> Option<f64> {
    relative(stddev(samples), amean(samples))
}

/// Harmonic coefficient of variation in percent, `100 * hstddev / hmean`; `None` where either does not exist.
pub fn hcoeffvar(samples: &[f64]) -> Option<f64> {
    relative(hstddev(samples), hmean(samples))
}

/// A spread in percent of a mean.
fn relative(spread: Option<f64>, mean: Option<f64>) -> Option<f64> {
    spread.zip(mean.filter(|m| *m != 0.0)).map(|(s, m)| 100.0 * s / m)
}

/// Number of samples among the best `percent` of `n`: `floor(n * percent / 100)`, at least 1.
pub fn best_count(n: usize, percent: f64) -> usize {
    // Without the small addend 100 * 0.29 = 28.999999999999996 would lose a sample; it never adds one.
    let k = (n as f64 * percent / 100.0 + 1e-9).floor() as usize;
    k.clamp(1, n.max(1))
}

/// Mean of the best `percent` of samples in the order of [`best_first`]: `BAmean-P`, `BHmean-P`.
pub fn best_mean(sorted: &[f64], percent: f64, mean: Mean) -> Option<f64> {
    if sorted.is_empty() {
        return None;
    }
    mean.of(&sorted[..best_count(sorted.len(), percent)])
}

/// The k-th sample in the order of [`best_first`], k as in [`best_count`]: quartiles and `Max-P`.
pub fn percentile(sorted: &[f64], percent: f64) -> Option<f64> {
    sorted.get(best_count(sorted.len(), percent) - 1).copied()
}

/// Whether both sides have samples and all samples are the same number, so that nothing can be tested.
pub fn all_equal(base: &[f64], col: &[f64]) -> bool {
    !col.is_empty() && base.first().is_some_and(|first| base.iter().chain(col).all(|x| x == first))
}

/// Median (mean of the two middle samples for an even number); `None` without samples.
pub fn median(samples: &[f64]) -> Option<f64> {
    if samples.is_empty() {
        return None;
    }
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    let mid = sorted.len() / 2;
    Some(if sorted.len() % 2 == 1 { sorted[mid] } else { (sorted[mid - 1] + sorted[mid]) / 2.0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_that_do_not_exist_are_none() {
        assert_eq!(amean(&[]), None);
        assert_eq!(hmean(&[1.0, 0.0]), None);
        assert_eq!(hmean(&[1.0, -1.0]), None);
        assert_eq!(stddev(&[5.0]), None);
        assert_eq!(hstddev(&[5.0]), None);
        assert_eq!((coeffvar(&[5.0]), hcoeffvar(&[5.0])), (None, None));
        assert_eq!(coeffvar(&[0.0, 0.0]), None, "no share of a mean of 0");
        assert_eq!(percentile(&[], 50.0), None);
        assert_eq!(best_mean(&[], 50.0, Mean::Arithmetic), None);
    }

    #[test]
    fn textbook_values() {
        assert_eq!(hmean(&[1.0, 4.0, 4.0]), Some(2.0));
        assert_eq!(amean(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]), Some(5.0));
        assert_eq!(population_stddev(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]), Some(2.0));
        assert_eq!(stddev(&[1.0, 3.0]), Some(2.0_f64.sqrt()));
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 3.0, 2.0]), Some(2.5));
    }

    #[test]
    fn best_count_with_seven_samples() {
        // §1.5: with N = 7, both 95 and 99 mean "without the worst one" and 50 means 3.
        assert_eq!([50.0, 95.0, 99.0, 1.0].map(|p| best_count(7, p)), [3, 6, 6, 1]);
        assert_eq!(best_count(100, 29.0), 29);
        assert_eq!(best_count(0, 50.0), 1);
    }

    #[test]
    fn means_by_kind() {
        let samples = [1.0, 4.0, 4.0];
        assert_eq!((Mean::Arithmetic.of(&samples), Mean::Harmonic.of(&samples)), (Some(3.0), Some(2.0)));
        assert_eq!((Mean::Arithmetic.of(&[0.0, 1.0]), Mean::Harmonic.of(&[0.0, 1.0])), (Some(0.5), None));
    }

    #[test]
    fn equal_needs_both_sides_and_no_rounding() {
        assert!(all_equal(&[0.1; 3], &[0.1; 2]) && all_equal(&[0.0], &[0.0]));
        assert!(!all_equal(&[], &[]) && !all_equal(&[1.0], &[]) && !all_equal(&[], &[1.0]));
        assert!(!all_equal(&[1.0, 1.0], &[1.0, 1.0 + 1e-15]) && !all_equal(&[f64::NAN], &[f64::NAN]));
    }

    #[test]
    fn order_is_best_first_and_drops_samples_that_are_no_number() {
        assert_eq!(best_first(&[2.0, f64::NAN, 3.0, 1.0], Better::Higher), [3.0, 2.0, 1.0]);
        assert_eq!(best_first(&[2.0, 3.0, 1.0], Better::Lower), [1.0, 2.0, 3.0]);
    }
}
