//! How long threads could not go on with their program: scans of address spaces, sleeps behind locks and migrations,
//! hint faults, and interrupts of TLB flushes.
//!
//! Durations are counted in buckets, four for each doubling, so a quantile is at most a quarter of its octave too high.
//! The longest is exact. Times are ns.

use super::Series;

/// Buckets: four for each doubling up to 2^41 ns, about 37 minutes.
const BUCKETS: usize = 160;

/// Most threads with columns of their own: those with the longest stalls.
const THREADS: usize = 512;

/// Figures of each thread in a series of durations.
const FIGURES: [&str; 5] = ["calls", "total_ns", "p50_ns", "p99_ns", "max_ns"];

/// Number, sum, longest and distribution of durations.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Durations {
    /// By bucket; empty before the first.
    counts: Vec<u32>,
    calls: u64,
    total_ns: u64,
    max_ns: u64,
}

/// Bucket of a duration.
fn bucket(ns: u64) -> usize {
    if ns < 4 {
        return ns as usize;
    }
    let octave = ns.ilog2() as usize;
    (4 * (octave - 1) + (ns >> (octave - 2)) as usize % 4).min(BUCKETS - 1)
}

/// The longest duration of a bucket, ns.
fn longest_of(bucket: usize) -> u64 {
    if bucket < 4 {
        return bucket as u64;
    }
    let (octave, quarter) = (bucket / 4 + 1, bucket as u64 % 4);
    ((5 + quarter) << (octave - 2)) - 1
}

impl Durations {
    /// Counts one.
    #[inline]
    pub fn add(&mut self, ns: u64) {
        if self.counts.is_empty() {
            self.counts.resize(BUCKETS, 0);
        }
        self.counts[bucket(ns)] += 1;
        self.calls += 1;
        self.total_ns += ns;
        self.max_ns = self.max_ns.max(ns);
    }

    /// Adds all of another's.
    pub fn join(&mut self, other: &Self) {
        if self.counts.is_empty() {
            self.counts.resize(BUCKETS, 0);
        }
        self.counts.iter_mut().zip(&other.counts).for_each(|(a, b)| *a += b);
        self.calls += other.calls;
        self.total_ns += other.total_ns;
        self.max_ns = self.max_ns.max(other.max_ns);
    }

    /// How many there were.
    pub fn calls(&self) -> u64 {
        self.calls
    }

    /// Their sum, ns.
    pub fn total_ns(&self) -> u64 {
        self.total_ns
    }

    /// The longest, ns.
    pub fn max_ns(&self) -> u64 {
        self.max_ns
    }

    /// The duration that `percent` of all do not exceed, ns: the end of its bucket, at most the longest. 0 without any.
    pub fn quantile_ns(&self, percent: u64) -> u64 {
        let rank = (self.calls * percent).div_ceil(100).max(1);
        let mut seen = 0;
        for (b, n) in self.counts.iter().enumerate() {
            seen += u64::from(*n);
            if seen >= rank {
                return longest_of(b).min(self.max_ns);
            }
        }
        self.max_ns
    }

    fn figures(&self) -> [u64; 5] {
        [self.calls, self.total_ns, self.quantile_ns(50), self.quantile_ns(99), self.max_ns]
    }
}

/// The stalls of one thread.
#[derive(Clone, Debug, Default)]
pub struct TaskStalls {
    /// Calls of `task_numa_work` that it carried out.
    pub numa_work: Durations,
    /// Sleeps behind a lock or a page under migration.
    pub waits: Durations,
    /// Interrupts of TLB flushes that it met.
    pub interrupts: u64,
    /// Longest hint fault, with the migration that it carried out.
    pub hint_fault_max_ns: u64,
}

impl TaskStalls {
    /// The longest time in which it could not go on, ns.
    pub fn longest_ns(&self) -> u64 {
        self.numa_work.max_ns().max(self.waits.max_ns()).max(self.hint_fault_max_ns)
    }
}

/// All threads together: scans, and sleeps.
pub fn all(tasks: &[TaskStalls]) -> (Durations, Durations) {
    let (mut work, mut waits) = (Durations::default(), Durations::default());
    for t in tasks {
        work.join(&t.numa_work);
        waits.join(&t.waits);
    }
    (work, waits)
}

/// The counters of a record, in order.
pub fn counters(tasks: &[TaskStalls]) -> Vec<(&'static str, u64)> {
    let (work, waits) = all(tasks);
    let longest = tasks.iter().map(TaskStalls::longest_ns).max().unwrap_or(0);
    vec![
        ("task_numa_work_calls", work.calls()),
        ("task_numa_work_ns", work.total_ns()),
        ("task_numa_work_p50_ns", work.quantile_ns(50)),
        ("task_numa_work_p99_ns", work.quantile_ns(99)),
        ("task_numa_work_max_ns", work.max_ns()),
        ("task_waits", waits.calls()),
        ("task_wait_ns", waits.total_ns()),
        ("task_wait_max_ns", waits.max_ns()),
        ("task_stall_max_ns", longest),
    ]
}

/// Series of a record with one point at `end_ns`: figures of each thread, called `names`, and the distribution of all
/// scans. Of many threads those with the longest stalls; empty series are left out.
pub fn series(tasks: &[TaskStalls], names: &[String], end_ns: u64) -> Vec<Series> {
    let mut worst: Vec<usize> = (0..tasks.len().min(names.len())).collect();
    worst.sort_by_key(|t| (std::cmp::Reverse(tasks[*t].longest_ns()), *t));
    worst.truncate(THREADS);
    worst.sort_unstable();
    let durations = |name: &str, of: fn(&TaskStalls) -> &Durations| {
        let some = worst.iter().filter(|t| of(&tasks[**t]).calls() > 0);
        let columns = some.flat_map(|t| {
            let figures = FIGURES.into_iter().zip(of(&tasks[*t]).figures());
            figures.map(|(figure, value)| (format!("{}/{figure}", names[*t]), value))
        });
        point(name, "calls and ns", columns.collect(), end_ns)
    };
    let met = worst.iter().filter(|t| tasks[**t].interrupts > 0);
    let interrupts = met.map(|t| (names[*t].clone(), tasks[*t].interrupts)).collect();
    let counts = all(tasks).0.counts;
    let distribution =
        counts.iter().enumerate().filter(|(_, n)| **n > 0).map(|(b, n)| (longest_of(b).to_string(), u64::from(*n)));
    let all = [
        durations("task_numa_work", |t| &t.numa_work),
        durations("task_waits", |t| &t.waits),
        point("task_interrupts", "interrupts", interrupts, end_ns),
        point("task_numa_work_histogram", "calls by longest duration, ns", distribution.collect(), end_ns),
    ];
    all.into_iter().filter(|s| !s.columns.is_empty()).collect()
}

/// A series of one point.
fn point(name: &str, unit: &str, columns: Vec<(String, u64)>, at_ns: u64) -> Series {
    let (columns, values) = columns.into_iter().map(|(c, v)| (c, vec![v as f64])).unzip();
    Series { name: name.into(), unit: unit.into(), columns, time_ns: vec![at_ns], values }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_hold_what_they_say() {
        for ns in (0..5000).chain([1 << 20, (1 << 20) + 12345, u64::MAX >> 24]) {
            let b = bucket(ns);
            assert!(ns <= longest_of(b), "{ns} in {b}");
            assert!(b == 0 || ns > longest_of(b - 1), "{ns} in {b}");
        }
        assert_eq!(bucket(u64::MAX), BUCKETS - 1);
    }

    #[test]
    fn quantiles_are_near_and_never_above_the_longest() {
        let mut d = Durations::default();
        assert_eq!((d.quantile_ns(99), d.max_ns()), (0, 0));
        (1..=100).for_each(|i| d.add(1000 * i));
        assert_eq!((d.calls(), d.total_ns(), d.max_ns()), (100, 5_050_000, 100_000));
        let (half, most) = (d.quantile_ns(50), d.quantile_ns(99));
        assert!((50_000..=60_000).contains(&half) && (99_000..=100_000).contains(&most), "{half} {most}");
    }

    #[test]
    fn series_have_the_threads_that_stalled() {
        let mut tasks = vec![TaskStalls::default(); 3];
        tasks[1].numa_work.add(700);
        tasks[1].interrupts += 3;
        tasks[2].waits.add(9);
        let counters: std::collections::BTreeMap<_, _> = counters(&tasks).into_iter().collect();
        assert_eq!((counters["task_numa_work_calls"], counters["task_stall_max_ns"]), (1, 700));
        let names = ["p/t0", "p/t1", "p/t2"].map(String::from);
        let series = series(&tasks, &names, 5);
        let names: Vec<&str> = series.iter().map(|s| s.name.as_str()).collect();
        assert_eq!(names, ["task_numa_work", "task_waits", "task_interrupts", "task_numa_work_histogram"]);
        assert_eq!(series[0].columns[4], "p/t1/max_ns");
        assert_eq!((series[0].values[4][0], series[1].values[4][0], series[2].values[0][0]), (700.0, 9.0, 3.0));
    }
}
