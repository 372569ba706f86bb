//! How long woken threads wait until they run: the distribution of wake-up latencies.
//!
//! Buckets are 64 to each doubling, as in fio and schbench, so a percentile is at most 1.6 % too high.

/// Buckets of a doubling, as a power of 2.
const SUB_SHIFT: u32 = 6;

/// Buckets up to 2^40 ns, about 18 minutes; longer latencies count in the last.
const BUCKETS: usize = (40 - SUB_SHIFT as usize + 1) << SUB_SHIFT;

/// A percentile needs at least as many wake-ups as it has parts: of fewer than 100 none is the 99th percentile.
const FEWEST: u64 = 100;

/// Wake-up latencies of the threads of the workload.
#[derive(Clone, Debug, Default)]
pub struct WakeUps {
    /// By bucket; empty before the first.
    counts: Vec<u64>,
    total: u64,
}

/// Bucket of a latency.
fn bucket(ns: u64) -> usize {
    let shift = (u64::BITS - ns.leading_zeros()).saturating_sub(SUB_SHIFT + 1);
    let sub = (ns >> shift) as usize;
    (((shift as usize) << SUB_SHIFT) + sub).min(BUCKETS - 1)
}

/// The longest latency of a bucket, ns.
fn longest_of(bucket: usize) -> u64 {
    let shift = (bucket >> SUB_SHIFT).saturating_sub(1) as u32;
    let sub = (bucket - ((shift as usize) << SUB_SHIFT)) as u64;
    ((sub + 1) << shift) - 1
}

impl WakeUps {
    /// Counts a thread that runs `ns` after it was woken.
    #[inline]
    pub fn add(&mut self, ns: u64) {
        if self.counts.is_empty() {
            self.counts.resize(BUCKETS, 0);
        }
        self.counts[bucket(ns)] += 1;
        self.total += 1;
    }

    /// The latency that `percent` of all wake-ups do not exceed, ns. `None` if there were too few to tell.
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
            let longest = longest_of(bucket(ns));
            assert!(longest >= ns && longest - ns <= ns / 64, "{ns}: {longest}");
        }
        assert_eq!(bucket(u64::MAX), BUCKETS - 1);
    }

    #[test]
    fn percentiles_need_a_hundred_wake_ups() {
        let mut w = WakeUps::default();
        assert_eq!(w.percentile_ns(50), None);
        (1..100).for_each(|ns| w.add(ns));
        assert_eq!(w.percentile_ns(50), None);
        w.add(100);
        assert_eq!((w.percentile_ns(50), w.percentile_ns(99)), (Some(50), Some(99)));
    }
}
