//! Runs of one kernel that fall into two groups by their seeds.
//!
//! Problem: a mean and a standard deviation hide that some seeds found one course and the others another one, such as a
//! process that was never scanned. Approach: the *gap test*. The figures are sorted, and the widest gap between two
//! neighbours splits them. There are two groups if the gap is at least [`GAP_RANGES`] times the ranges of both groups
//! together, and at least [`GAP_PART`] of the mean, of [`MIN_RUNS`] runs or more. Of normal figures the first rule
//! alone holds for 15 % of four runs, 4.5 % of five and 0.1 % of eight (200,000 draws each); the second one leaves out
//! small spreads.

use crate::data::{Kernel, Metric, Workload};
use crate::format::significant;
use crate::verdict::measurements;

/// Fewest runs that are looked at: three always have a widest gap.
const MIN_RUNS: usize = 4;

/// How many times as wide as both groups together the gap is.
const GAP_RANGES: f64 = 3.0;

/// Part of the mean that the gap is at least.
const GAP_PART: f64 = 0.1;

/// The two groups of a set of figures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TwoGroups {
    /// Runs of the lower group.
    pub low_runs: usize,
    /// Least and greatest figure of the lower group.
    pub low: (f64, f64),
    /// Runs of the upper group.
    pub high_runs: usize,
    /// Least and greatest figure of the upper group.
    pub high: (f64, f64),
}

/// The groups that figures fall into by the gap test; `None` if they are one.
pub fn two_groups(samples: &[f64]) -> Option<TwoGroups> {
    if samples.len() < MIN_RUNS || samples.iter().any(|x| !x.is_finite()) {
        return None;
    }
    let mut x = samples.to_vec();
    x.sort_by(f64::total_cmp);
    let (first, last) = (*x.first()?, *x.last()?);
    let widest = (1..x.len()).max_by(|&a, &b| (x[a] - x[a - 1]).total_cmp(&(x[b] - x[b - 1])))?;
    let gap = x[widest] - x[widest - 1];
    let ranges = (last - first) - gap;
    let mean = x.iter().sum::<f64>() / x.len() as f64;
    let found = gap >= GAP_RANGES * ranges && gap >= GAP_PART * mean.abs() && gap > 0.0;
    found.then(|| TwoGroups {
        low_runs: widest,
        low: (first, x[widest - 1]),
        high_runs: x.len() - widest,
        high: (x[widest], last),
    })
}

/// Sentences about the kernels whose runs of a workload fall into two groups, by its scores or its elapsed time.
pub(crate) fn sentences(w: &Workload, kernels: &[Kernel]) -> Vec<String> {
    let of = |m: &Metric, k: usize| two_groups(m.of(k)).map(|g| format!("{}: {}", kernels[k].name, sentence(m, &g)));
    measurements(w).into_iter().flat_map(|m| (0..kernels.len()).filter_map(move |k| of(m, k))).collect()
}

fn sentence(m: &Metric, g: &TwoGroups) -> String {
    let range = |(low, high): (f64, f64)| {
        if low == high {
            significant(low)
        } else {
            format!("{} to {}", significant(low), significant(high))
        }
    };
    let unit = if m.unit.is_empty() { String::new() } else { format!(" {}", m.unit) };
    format!(
        "seeds fall into two groups: {} is {}{unit} in {} of {} runs and {}{unit} in {}; their mean is that of neither",
        m.name,
        range(g.low),
        g.low_runs,
        g.low_runs + g.high_runs,
        range(g.high),
        g.high_runs
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wide_gap_makes_two_groups() {
        let found = two_groups(&[82.9, 49.9, 50.0, 48.2]).unwrap();
        assert_eq!((found.low_runs, found.high_runs), (3, 1));
        assert_eq!((found.low, found.high), ((48.2, 50.0), (82.9, 82.9)));
    }

    #[test]
    fn an_even_spread_few_runs_and_small_gaps_make_none() {
        assert_eq!(two_groups(&[1.0, 2.0, 3.0, 4.0]), None, "no gap is wider than the rest");
        assert_eq!(two_groups(&[50.0, 83.0, 50.1]), None, "three runs");
        assert_eq!(two_groups(&[50.0, 50.0, 50.0, 50.0]), None, "all are equal");
        assert_eq!(two_groups(&[50.0, 50.1, 53.0, 53.1]), None, "six percent");
        assert_eq!(two_groups(&[50.0, f64::NAN, 83.0, 83.0]), None);
        assert!(two_groups(&[50.0, 50.1, 83.0, 83.1]).is_some());
    }
}
