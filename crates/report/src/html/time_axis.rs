//! The time axis that the runs of a workload share, and samples as points on it.
//!
//! Problem: runs of a workload differ in length and were sampled at different instants, possibly thousands of times. A
//! page wants a few hundred points that can be compared at one cursor. Approach: all runs of a workload share bins of
//! equal width from the start of the run. A level becomes its mean over the bin. A count since the start becomes the
//! rate between the edges of the bin, so that nothing counted is lost. A run seldom ends at the edge of a bin. Its last
//! bin ends with its last sample and covers between half a bin and one and a half: a figure over a small rest of a bin
//! would look as important as the others. Units: ns in, values per second out of [`TimeAxis::rate`]. Invariant: a run
//! has no bins after its last sample; a bin before its first sample is NaN.

/// Bins of equal width that start at 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimeAxis {
    /// Width of a bin, ns, at least 1.
    pub step_ns: u64,
    /// Number of bins, at least 1.
    pub points: usize,
    /// End of the longest run, ns: within half a bin of the end of the last one.
    pub end_ns: u64,
}

impl TimeAxis {
    /// Bins over `longest_ns`: at most `max_points`, and not narrower than `sample_ns`, the usual time between samples.
    pub fn new(longest_ns: u64, sample_ns: u64, max_points: usize) -> Self {
        let step_ns = longest_ns.div_ceil(max_points.max(1) as u64).max(sample_ns).max(1);
        let points = Self::bins(longest_ns, step_ns).max(1);
        Self { step_ns, points, end_ns: longest_ns }
    }

    /// Number of bins up to an instant. A rest of half a bin or more is a bin of its own; a smaller rest belongs to the
    /// last bin.
    fn bins(end_ns: u64, step_ns: u64) -> usize {
        (end_ns.saturating_add(step_ns / 2) / step_ns) as usize
    }

    /// Number of bins that a series with these sample times fills.
    pub fn used(&self, times: &[u64]) -> usize {
        let last = times.last().copied().unwrap_or(0);
        Self::bins(last, self.step_ns).clamp(usize::from(!times.is_empty()), self.points)
    }

    /// Edges of a bin of a series, ns.
    fn edges(&self, bin: usize, times: &[u64]) -> (u64, u64) {
        let from = bin as u64 * self.step_ns;
        let last = times.last().copied().unwrap_or(0);
        (from, if bin + 1 == self.used(times) { last } else { from + self.step_ns })
    }

    /// Mean of the samples in each bin; where samples are farther apart than a bin, the value on the straight line
    /// between them. The weight of a sample is the time since the one before, at most a bin, since the sample at the
    /// end of a run may come soon after another.
    pub fn level(&self, times: &[u64], values: &[f64]) -> Vec<f64> {
        let mut sum = vec![(0.0, 0.0); self.used(times)];
        for (i, (t, v)) in times.iter().zip(values).enumerate() {
            let near = if i == 0 { times.get(1) } else { times.get(i - 1) };
            let weight = near.map_or(1, |near| near.abs_diff(*t).clamp(1, self.step_ns)) as f64;
            // A sample at the very end of the last bin belongs to it.
            let at = ((t / self.step_ns) as usize).min(sum.len() - 1);
            sum[at].0 += weight * v;
            sum[at].1 += weight;
        }
        let middle = |k: usize| {
            let (from, to) = self.edges(k, times);
            from + (to - from) / 2
        };
        let one = |(k, (total, weight)): (usize, &(f64, f64))| {
            if *weight > 0.0 {
                total / weight
            } else {
                at_time(times, values, middle(k))
            }
        };
        sum.iter().enumerate().map(one).collect()
    }

    /// Growth per second of a count since the start, in each bin. A count that falls (a counter that was reset) has the
    /// rate 0.
    pub fn rate(&self, times: &[u64], values: &[f64]) -> Vec<f64> {
        let Some(&first) = times.first() else { return Vec::new() };
        let one = |k: usize| {
            let (from, to) = self.edges(k, times);
            let from = from.max(first);
            if to <= from {
                return f64::NAN;
            }
            let growth = at_time(times, values, to) - at_time(times, values, from);
            growth.max(0.0) * 1e9 / (to - from) as f64
        };
        (0..self.used(times)).map(one).collect()
    }

    /// Index of the sample that stands for each bin: the last one in it, or else the last one before it.
    pub fn sampled(&self, times: &[u64]) -> Vec<Option<usize>> {
        let used = self.used(times);
        let one = |k: usize| {
            let end = (k as u64 + 1) * self.step_ns;
            // A sample at the very end of the last bin belongs to it.
            let until = if k + 1 == used { times.len() } else { times.partition_point(|t| *t < end) };
            until.checked_sub(1)
        };
        (0..used).map(one).collect()
    }
}

/// Value at an instant on the straight line between samples; NaN before the first sample and after the last.
fn at_time(times: &[u64], values: &[f64], t: u64) -> f64 {
    let n = times.len().min(values.len());
    let after = times[..n].partition_point(|x| *x < t);
    if after < n && times[after] == t {
        return values[after];
    }
    if after == 0 || after == n {
        return f64::NAN;
    }
    let (t0, t1) = (times[after - 1], times[after]);
    let part = (t - t0) as f64 / (t1 - t0) as f64;
    values[after - 1] + part * (values[after] - values[after - 1])
}

/// Usual time between samples, ns: the median, as the last step may have any length. 0 with fewer than two samples.
pub fn spacing(times: &[u64]) -> u64 {
    let mut steps: Vec<u64> = times.windows(2).map(|pair| pair[1].saturating_sub(pair[0])).collect();
    steps.sort_unstable();
    steps.get(steps.len() / 2).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axis_is_wide_enough_and_not_too_fine() {
        assert_eq!(TimeAxis::new(1000, 0, 100), TimeAxis { step_ns: 10, points: 100, end_ns: 1000 });
        assert_eq!(TimeAxis::new(1000, 250, 100), TimeAxis { step_ns: 250, points: 4, end_ns: 1000 });
        assert_eq!(TimeAxis::new(1001, 0, 100), TimeAxis { step_ns: 11, points: 91, end_ns: 1001 });
        assert_eq!(TimeAxis::new(0, 0, 100), TimeAxis { step_ns: 1, points: 1, end_ns: 0 });
        // A rest after whole bins is a bin of its own only if it is at least half of one.
        assert_eq!(TimeAxis::new(1020, 100, 100).points, 10);
        assert_eq!(TimeAxis::new(1060, 100, 100).points, 11);
    }

    #[test]
    fn the_end_of_a_run_is_no_sliver() {
        let axis = TimeAxis { step_ns: 100, points: 3, end_ns: 304 };
        // The rate is 50 per ns all along, then 400 in the last 4 ns; over 104 ns that is little more.
        let rates = axis.rate(&[0, 100, 200, 300, 304], &[0.0, 5000.0, 10_000.0, 15_000.0, 15_400.0]);
        assert_eq!(rates[..2], [5e10, 5e10]);
        assert!((rates[2] - 5400e9 / 104.0).abs() < 1.0, "{rates:?}");
        // A level of the last 4 ns has little weight in the last point.
        let level = axis.level(&[0, 100, 200, 300, 304], &[1.0, 1.0, 1.0, 1.0, 27.0]);
        assert_eq!(level, [1.0, 1.0, (100.0 + 100.0 + 4.0 * 27.0) / 204.0]);
    }

    #[test]
    fn levels_are_means_and_bridge_gaps() {
        let axis = TimeAxis { step_ns: 10, points: 5, end_ns: 50 };
        let got = axis.level(&[0, 5, 12, 30], &[2.0, 4.0, 10.0, 28.0]);
        // The sample at 30 ends the third bin.
        assert_eq!(got, [3.0, 10.0, 28.0]);
        let got = axis.level(&[0, 40], &[0.0, 40.0]);
        assert_eq!(got, [0.0, 15.0, 25.0, 40.0]);
        assert!(axis.level(&[], &[]).is_empty());
        let late = axis.level(&[20, 30], &[1.0, 1.0]);
        assert!(late[0].is_nan() && late[1].is_nan());
    }

    #[test]
    fn rates_lose_nothing() {
        let axis = TimeAxis::new(1_000_000_000, 0, 7);
        let times: Vec<u64> = (0..=100).map(|i| i * 10_000_000).collect();
        let count: Vec<f64> = (0..=100).map(|i| f64::from(i * i)).collect();
        let rates = axis.rate(&times, &count);
        let mut total = 0.0;
        for (k, rate) in rates.iter().enumerate() {
            let (from, to) = axis.edges(k, &times);
            total += rate * (to - from) as f64 / 1e9;
        }
        assert!((total - 10_000.0).abs() < 1e-6, "{total}");
        let reset = TimeAxis { step_ns: 10, points: 2, end_ns: 20 }.rate(&[0, 10, 20], &[5.0, 9.0, 1.0]);
        assert_eq!(reset, [4.0e8, 0.0]);
        let late = TimeAxis { step_ns: 10, points: 3, end_ns: 30 }.rate(&[15, 30], &[0.0, 15.0]);
        assert!(late[0].is_nan());
        assert_eq!(late[1..], [1e9, 1e9]);
    }

    #[test]
    fn a_shorter_run_has_fewer_bins() {
        let axis = TimeAxis::new(100, 0, 10);
        assert_eq!(axis.used(&[0, 50]), 5);
        assert_eq!(axis.used(&[0]), 1);
        assert_eq!(axis.used(&[]), 0);
        assert_eq!(axis.used(&[0, 500]), 10);
        assert_eq!(axis.sampled(&[0, 5, 11, 20]), [Some(1), Some(3)]);
        assert_eq!(axis.sampled(&[12, 30]), [None, Some(0), Some(1)]);
        let whole = TimeAxis { step_ns: 10, points: 2, end_ns: 20 };
        assert_eq!(whole.sampled(&[0, 10, 20]), [Some(0), Some(2)]);
    }

    #[test]
    fn spacing_of_samples() {
        assert_eq!(spacing(&[0, 10, 20, 32]), 10);
        assert_eq!(spacing(&[4, 204, 404, 408]), 200);
        assert_eq!(spacing(&[7]), 0);
    }
}
