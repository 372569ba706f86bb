//! Samples on a common time axis.
//!
//! Problem: runs of a workload differ in length and were sampled at different instants, possibly thousands of times; a page
//! wants a few hundred points that can be compared at one cursor. Approach: all runs of a workload share bins of equal width
//! from the start of the run; a level becomes its mean over the bin, a count since the start becomes the rate between the
//! edges of the bin, so that nothing that was counted is lost. Units: ns in, values per second out of [`Axis::rate`].
//! Invariant: a run has no bins after its last sample; a bin before its first sample is NaN.

/// Bins that start at 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Axis {
    /// Width of a bin, ns, at least 1.
    pub step_ns: u64,
    /// Number of bins, at least 1.
    pub points: usize,
}

impl Axis {
    /// Bins over `longest_ns`, at most `max_points`, not narrower than `sample_ns`, the usual time between samples.
    pub fn new(longest_ns: u64, sample_ns: u64, max_points: usize) -> Self {
        let step_ns = longest_ns.div_ceil(max_points.max(1) as u64).max(sample_ns).max(1);
        let points = (longest_ns.div_ceil(step_ns) as usize).max(1);
        Self { step_ns, points }
    }

    /// Bins that a series with these sample times fills.
    pub fn used(&self, times: &[u64]) -> usize {
        let last = times.last().copied().unwrap_or(0);
        (last.div_ceil(self.step_ns) as usize).clamp(usize::from(!times.is_empty()), self.points)
    }

    fn bin(&self, time_ns: u64) -> usize {
        ((time_ns / self.step_ns) as usize).min(self.points - 1)
    }

    /// Mean of the samples in each bin; between samples that are farther apart than a bin, the straight line.
    pub fn level(&self, times: &[u64], values: &[f64]) -> Vec<f64> {
        let mut sum = vec![(0.0, 0u32); self.used(times)];
        for (t, v) in times.iter().zip(values) {
            // A sample at the very end of the last bin belongs to it.
            let at = self.bin(*t).min(sum.len().saturating_sub(1));
            sum[at].0 += v;
            sum[at].1 += 1;
        }
        let middle = |k: usize| k as u64 * self.step_ns + self.step_ns / 2;
        let one = |(k, (total, n)): (usize, &(f64, u32))| match n {
            0 => at_time(times, values, middle(k)),
            n => total / f64::from(*n),
        };
        sum.iter().enumerate().map(one).collect()
    }

    /// Growth per second of a count since the start, in each bin; a count that falls (a counter that was reset) counts as still.
    pub fn rate(&self, times: &[u64], values: &[f64]) -> Vec<f64> {
        let (Some(&first), Some(&last)) = (times.first(), times.last()) else { return Vec::new() };
        let one = |k: usize| {
            let from = (k as u64 * self.step_ns).max(first);
            let to = ((k as u64 + 1) * self.step_ns).min(last);
            if to <= from {
                return f64::NAN;
            }
            let growth = at_time(times, values, to) - at_time(times, values, from);
            growth.max(0.0) * 1e9 / (to - from) as f64
        };
        (0..self.used(times)).map(one).collect()
    }

    /// Index of the sample that stands for each bin: the last one in it, or the last one before.
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

/// Value at an instant on the straight line between samples; NaN before the first and after the last.
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

/// Usual time between samples, ns: the whole span over the number of steps; 0 with fewer than two.
pub fn spacing(times: &[u64]) -> u64 {
    match (times.first(), times.last()) {
        (Some(a), Some(b)) if times.len() > 1 => b.saturating_sub(*a) / (times.len() as u64 - 1),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axis_is_wide_enough_and_not_too_fine() {
        assert_eq!(Axis::new(1000, 0, 100), Axis { step_ns: 10, points: 100 });
        assert_eq!(Axis::new(1000, 250, 100), Axis { step_ns: 250, points: 4 });
        assert_eq!(Axis::new(1001, 0, 100), Axis { step_ns: 11, points: 91 });
        assert_eq!(Axis::new(0, 0, 100), Axis { step_ns: 1, points: 1 });
    }

    #[test]
    fn levels_are_means_and_bridge_gaps() {
        let axis = Axis { step_ns: 10, points: 5 };
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
        let axis = Axis::new(1_000_000_000, 0, 7);
        let times: Vec<u64> = (0..=100).map(|i| i * 10_000_000).collect();
        let count: Vec<f64> = (0..=100).map(|i| f64::from(i * i)).collect();
        let rates = axis.rate(&times, &count);
        let mut total = 0.0;
        for (k, rate) in rates.iter().enumerate() {
            let end = ((k as u64 + 1) * axis.step_ns).min(1_000_000_000);
            total += rate * (end - k as u64 * axis.step_ns) as f64 / 1e9;
        }
        assert!((total - 10_000.0).abs() < 1e-6, "{total}");
        let reset = Axis { step_ns: 10, points: 2 }.rate(&[0, 10, 20], &[5.0, 9.0, 1.0]);
        assert_eq!(reset, [4.0e8, 0.0]);
        let late = Axis { step_ns: 10, points: 3 }.rate(&[15, 30], &[0.0, 15.0]);
        assert!(late[0].is_nan());
        assert_eq!(late[1..], [1e9, 1e9]);
    }

    #[test]
    fn a_shorter_run_has_fewer_bins() {
        let axis = Axis::new(100, 0, 10);
        assert_eq!(axis.used(&[0, 50]), 5);
        assert_eq!(axis.used(&[0]), 1);
        assert_eq!(axis.used(&[]), 0);
        assert_eq!(axis.used(&[0, 500]), 10);
        assert_eq!(axis.sampled(&[0, 5, 11, 20]), [Some(1), Some(3)]);
        assert_eq!(axis.sampled(&[12, 30]), [None, Some(0), Some(1)]);
        let whole = Axis { step_ns: 10, points: 2 };
        assert_eq!(whole.sampled(&[0, 10, 20]), [Some(0), Some(2)]);
    }

    #[test]
    fn spacing_of_samples() {
        assert_eq!(spacing(&[0, 10, 20, 32]), 10);
        assert_eq!(spacing(&[7]), 0);
    }
}
