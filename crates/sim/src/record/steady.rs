//! When a run has settled: what it does repeats, so the rest of it is known.
//!
//! Problem: a program that runs for an hour spends nearly all of it in the state that balancing led to. Approach: the
//! second half of the time since all threads entered their loops is cut in two. If both quarters went at the same
//! rates, and the memory would not move far if it went on as it does, the rest is taken to be more of the same. The
//! windows grow with the run, so slow changes show. Units: ns of model time, shares of 1.

use crate::state::samples::Samples;
use numalab_nouns::record::Series;
use std::ops::Range;

/// Most by which the rates of scores may differ between the quarters.
const RATE: f64 = 0.01;
/// Most by which rates of hint faults and scan periods may differ, unless the kernel's time is below [`SYSTEM`].
const FAULTS: f64 = 0.1;
/// Scan periods that a quarter must have, unless the kernel's time is below [`SYSTEM`].
const PERIODS: f64 = 4.0;
/// Largest share of the kernel in all CPU time at which the rate of hint faults does not matter.
const SYSTEM: f64 = 0.001;
/// Largest share of all pages that may still change node in the rest of the run, at the present pace.
const DRIFT: f64 = 0.02;
/// Shortest quarter, ns.
const SHORTEST_NS: u64 = 1_000_000_000;
/// A run counts as settled from where its rate comes within this share of the settled one.
const ARRIVED: f64 = 0.03;

/// Length of a quarter at `now_ns` of a run whose threads have looped since `since_ns`; `None` if it is too early.
pub fn quarter_ns(since_ns: u64, now_ns: u64) -> Option<u64> {
    let quarter = (now_ns - since_ns) / 4;
    (quarter >= SHORTEST_NS).then_some(quarter)
}

/// Whether the last two quarters went alike, where `rest_ns` of the run is left.
pub fn is_steady(samples: &Samples, quarter_ns: u64, rest_ns: u64) -> bool {
    let Some(cut) = Cut::of(&samples.pages.time_ns, quarter_ns) else { return false };
    let scores = &samples.scores.values;
    let user = std::slice::from_ref(&samples.cpu.values[0]);
    let progress = if scores.is_empty() { user } else { scores };
    progress.iter().all(|v| alike(cut.rates(v), RATE)) && faults_repeat(samples, &cut) && stays(samples, &cut, rest_ns)
}

/// Three samples that cut off the last two quarters, and the seconds between them.
struct Cut {
    at: [usize; 3],
    seconds: [f64; 2],
}

impl Cut {
    /// `None` before there are samples for both quarters.
    fn of(time_ns: &[u64], quarter_ns: u64) -> Option<Self> {
        let now_ns = *time_ns.last()?;
        let before = |ns: u64| time_ns.partition_point(|&t| t <= now_ns.saturating_sub(ns)).checked_sub(1);
        let at = [before(2 * quarter_ns)?, before(quarter_ns)?, time_ns.len() - 1];
        let seconds = [0, 1].map(|i| (time_ns[at[i + 1]] - time_ns[at[i]]) as f64 / 1e9);
        seconds.iter().all(|&s| s > 0.0).then_some(Self { at, seconds })
    }

    /// How much a figure grew in each quarter.
    fn growth(&self, v: &[f64]) -> [f64; 2] {
        [0, 1].map(|i| v[self.at[i + 1]] - v[self.at[i]])
    }

    /// How fast a figure grew in each quarter, a second.
    fn rates(&self, v: &[f64]) -> [f64; 2] {
        let grew = self.growth(v);
        [0, 1].map(|i| grew[i] / self.seconds[i])
    }
}

/// Whether two figures differ by no more than a share of the larger.
fn alike([a, b]: [f64; 2], share: f64) -> bool {
    (a - b).abs() <= share * a.abs().max(b.abs())
}

/// Whether as many hint faults come as before at the same scan periods, or so few that their time tells nothing.
fn faults_repeat(samples: &Samples, cut: &Cut) -> bool {
    let time = |i: usize| cut.growth(&samples.cpu.values[i]).iter().sum::<f64>();
    let (user, system) = (time(0), time(1));
    let period = |i: usize| samples.scan_period_ms[cut.at[i]];
    // A task adapts its period once a pass over memory, so a few periods tell nothing yet.
    let long = cut.seconds[1] >= PERIODS * period(2) / 1000.0;
    let repeats =
        || long && alike(cut.rates(&samples.activity.values[0]), FAULTS) && alike([period(0), period(2)], FAULTS);
    system <= SYSTEM * (user + system) || repeats()
}

/// Whether few pages would be on another node at the end than now, if they went on to move as in both quarters.
fn stays(samples: &Samples, cut: &Cut, rest_ns: u64) -> bool {
    let columns = &samples.pages.values;
    let now: f64 = columns.iter().map(|v| v[cut.at[2]]).sum();
    let moved: f64 = columns.iter().map(|v| (v[cut.at[2]] - v[cut.at[0]]).abs()).sum::<f64>() / 2.0;
    let rest = rest_ns as f64 / 1e9 / (cut.seconds[0] + cut.seconds[1]);
    moved * rest.max(1.0) <= DRIFT * now
}

/// When the run came within reach of its settled rate, ns: the start of the earliest second from which on every second
/// went at that rate. Looks at samples from `from_ns` on.
pub fn arrived_ns(scores: &Series, from_ns: u64, quarter_ns: u64) -> Option<u64> {
    let time = &scores.time_ns;
    let last = *time.last()?;
    let end = time.len() - 1;
    let tail = time.partition_point(|&t| t < last.saturating_sub(2 * quarter_ns));
    let rate = |v: &[f64], r: &Range<usize>| (v[r.end] - v[r.start]) / ((time[r.end] - time[r.start]) as f64 / 1e9);
    let window = |start: usize| {
        let stop = time.partition_point(|&t| t < time[start] + SHORTEST_NS);
        (stop <= end).then_some(start..stop)
    };
    let arrived = |w: &Range<usize>| scores.values.iter().all(|v| alike([rate(v, w), rate(v, &(tail..end))], ARRIVED));
    let mut first = tail;
    while first > 0 && time[first - 1] >= from_ns && window(first - 1).is_some_and(|w| arrived(&w)) {
        first -= 1;
    }
    Some(time[first])
}

#[cfg(test)]
mod tests {
    use super::*;
    use numalab_nouns::machine::Machine;

    /// Samples every 0.2 s for `seconds`, in which a score grows by `rate` a second and all pages stay.
    fn samples(machine: &Machine, seconds: u64, rate: impl Fn(f64) -> f64) -> Samples {
        let mut s = Samples::new(&[], &[], machine);
        let column = |s: &mut Series, names: usize| {
            s.columns = vec![String::new(); names];
            s.values = vec![Vec::new(); names];
        };
        column(&mut s.scores, 1);
        column(&mut s.pages, 2);
        let mut score = 0.0;
        for i in 0..=5 * seconds {
            let now_ns = i * 200_000_000;
            for series in [&mut s.pages, &mut s.scores, &mut s.cpu, &mut s.activity] {
                series.time_ns.push(now_ns);
            }
            score += 0.2 * rate(i as f64 / 5.0);
            s.scores.values[0].push(score);
            s.pages.values.iter_mut().for_each(|v| v.push(1000.0));
            s.cpu.values.iter_mut().for_each(|v| v.push(now_ns as f64 / 1e9));
            s.activity.values.iter_mut().for_each(|v| v.push(100.0 * now_ns as f64));
            s.scan_period_ms.push(500.0);
        }
        s
    }

    fn machine() -> Machine {
        numalab_kernel::sched::shapes::Shape::flat(2, 1, 1, 20).machine("two nodes")
    }

    #[test]
    fn a_rate_that_repeats_is_steady_and_one_that_grows_is_not() {
        let quarter = quarter_ns(0, 20_000_000_000).unwrap();
        assert!(is_steady(&samples(&machine(), 20, |_| 7.0), quarter, 60_000_000_000));
        assert!(is_steady(&samples(&machine(), 20, |t| if t < 8.0 { 1.0 } else { 7.0 }), quarter, 0));
        assert!(!is_steady(&samples(&machine(), 20, |t| 7.0 + 0.05 * t), quarter, 60_000_000_000));
        assert_eq!(quarter_ns(3, 4_000_000_000), None, "too early");
    }

    #[test]
    fn memory_that_would_go_on_to_move_is_not_settled() {
        let mut s = samples(&machine(), 20, |_| 7.0);
        let quarter = 5_000_000_000;
        // Ten pages of 2000 in the last second: few if little is left of the run, many in a hundred times as long.
        let end = s.pages.values[0].len();
        for (i, step) in s.pages.values[0][end - 5..].iter_mut().enumerate() {
            *step += 2.0 * (i + 1) as f64;
        }
        for (i, step) in s.pages.values[1][end - 5..].iter_mut().enumerate() {
            *step -= 2.0 * (i + 1) as f64;
        }
        assert!(is_steady(&s, quarter, 10_000_000_000));
        assert!(!is_steady(&s, quarter, 1_000_000_000_000));
    }

    #[test]
    fn faults_that_die_down_are_not_settled_while_they_cost_time() {
        let mut s = samples(&machine(), 20, |_| 7.0);
        for (i, v) in s.activity.values[0].iter_mut().enumerate() {
            *v = 1e6 * (1.0 - (-(i as f64) / 40.0).exp());
        }
        assert!(!is_steady(&s, 5_000_000_000, 0), "half of all CPU time is the kernel's here");
        let rising = |i: usize| 500.0 + 10.0 * i as f64;
        let mut constant = samples(&machine(), 20, |_| 7.0);
        assert!(is_steady(&constant, 5_000_000_000, 0));
        constant.scan_period_ms.fill(2000.0);
        assert!(!is_steady(&constant, 5_000_000_000, 0), "too few periods");
        constant.scan_period_ms.iter_mut().enumerate().for_each(|(i, ms)| *ms = rising(i));
        assert!(!is_steady(&constant, 5_000_000_000, 0), "scans will come less often");
        s.cpu.values[1].iter_mut().for_each(|v| *v *= 0.001);
        assert!(is_steady(&s, 5_000_000_000, 0));
    }

    #[test]
    fn the_run_has_arrived_where_its_rate_becomes_the_last_one() {
        let s = samples(&machine(), 20, |t| if t <= 8.0 { 3.0 } else { 7.0 });
        assert_eq!(arrived_ns(&s.scores, 0, 5_000_000_000), Some(8_000_000_000));
        assert_eq!(arrived_ns(&s.scores, 9_000_000_000, 5_000_000_000), Some(9_000_000_000));
    }
}
