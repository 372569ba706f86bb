//! A distribution of latencies: of wake-ups, and of the requests of a score.
//!
//! Buckets are 64 to each doubling, as in fio and schbench, so a percentile is at most 1.6 % too high.

/// Buckets of a doubling, as a power of 2.
const SUB_SHIFT: u32 = 6;

/// A percentile needs at least as many latencies as it has parts: of fewer than 100 none is the 99th percentile.
pub const FEWEST: u64 = 100;

/// Counts of latencies by bucket.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Latencies {
    /// By bucket; empty before the first.
    counts: Vec<u64>,
    total: u64,
}

/// The longest latency of a bucket, ns.
fn longest_of(bucket: usize) -> u64 {
    let shift = (bucket >> SUB_SHIFT).saturating_sub(1) as u32;
    let sub = (bucket - ((shift as usize) << SUB_SHIFT)) as u64;
    ((sub + 1) << shift) - 1
}

impl Latencies {
    /// Buckets up to 2^40 ns, about 18 minutes; longer latencies count in the last.
    pub const BUCKETS: usize = (40 - SUB_SHIFT as usize + 1) << SUB_SHIFT;

    /// Bucket of a latency in ns, below [`Latencies::BUCKETS`].
    pub fn bucket(ns: u64) -> usize {
        let shift = (u64::BITS - ns.leading_zeros()).saturating_sub(SUB_SHIFT + 1);
        let sub = (ns >> shift) as usize;
        (((shift as usize) << SUB_SHIFT) + sub).min(Self::BUCKETS - 1)
    }

    /// The latencies that somebody has counted by [`Latencies::bucket`].
    pub fn of_counts(counts: Vec<u64>) -> Self {
        Self { total: counts.iter().sum(), counts }
    }

    /// Counts a latency of `ns`.
    #[inline]
    pub fn add(&mut self, ns: u64) {
        if self.counts.is_empty() {
            self.counts.resize(Self::BUCKETS, 0);
        }
        self.counts[Self::bucket(ns)] += 1;
        self.total += 1;
    }

    /// How many were counted.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// What `percent` of all latencies do not exceed, ns. `None` if there were fewer than [`FEWEST`].
    pub fn percentile_ns(&self, percent: u64) -> Option<u64> {
        let rank = (self.total * percent).div_ceil(100);
        let mut seen = 0;
        let at = self.counts.iter().position(|n| {
            seen += n;
            seen >= rank
        });
        at.filter(|_| self.total >= FEWEST).map(longest_of)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_hold_what_they_say_within_a_64th() {
        for ns in (0..5000).chain([1 << 20, (1 << 20) + 12_345, 1 << 39, u64::MAX >> 25]) {
            let longest = longest_of(Latencies::bucket(ns));
            assert!(longest >= ns && longest - ns <= ns / 64, "{ns}: {longest}");
        }
        assert_eq!(Latencies::bucket(u64::MAX), Latencies::BUCKETS - 1);
    }

    #[test]
    fn percentiles_need_a_hundred_latencies() {
        let mut w = Latencies::default();
        assert_eq!(w.percentile_ns(50), None);
        (1..100).for_each(|ns| w.add(ns));
        assert_eq!(w.percentile_ns(50), None);
        w.add(100);
        assert_eq!((w.percentile_ns(50), w.percentile_ns(99)), (Some(50), Some(99)));
        let mut counts = vec![0; Latencies::BUCKETS];
        (1..=100).for_each(|ns| counts[Latencies::bucket(ns)] += 1);
        assert_eq!(Latencies::of_counts(counts), w);
    }
}
