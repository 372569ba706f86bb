//! Searches the amount of work for which a run takes as long as a published one.
//!
//! Problem: a published table seldom says how much work was done, and every other figure depends on it. Approach:
//! elapsed time grows with the count. The search first brackets the target: each step scales the count in proportion,
//! by a factor of at most four. Then it narrows the bracket by interpolation. It bisects whenever interpolation left
//! more than half of the bracket. Every step is an ordinary run with an ordinary record, so a repeated search reads
//! records and runs nothing.

use crate::failure::{Exit, Failure};

/// Largest number of steps of a search.
const STEPS_MAX: usize = 24;
/// Relative error at which the search stops.
const TOLERANCE: f64 = 0.002;
/// Largest relative error of a usable result.
const USABLE: f64 = 0.02;
/// Largest factor between two counts while the target is not bracketed.
const FACTOR_MAX: f64 = 4.0;

/// Start and limits of a search.
#[derive(Clone, Copy, Debug)]
pub struct Range {
    /// First count to try.
    pub start: u64,
    /// Smallest count allowed.
    pub min: u64,
    /// Largest count allowed.
    pub max: u64,
}

/// A count and the value measured for it.
type Step = (u64, f64);

/// The result of a search.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// The count.
    pub count: u64,
    /// The value measured for it.
    pub value: f64,
    /// Every step, in order.
    pub steps: Vec<Step>,
}

/// Searches the count for which `measure` gives `target`, in seconds.
///
/// # Errors
/// An error of `measure`; or a finding if no count of the range comes within 2 % of the target.
pub fn search(
    target: f64,
    range: Range,
    mut measure: impl FnMut(u64) -> Result<f64, Failure>,
) -> Result<Found, Failure> {
    let mut steps: Vec<Step> = Vec::new();
    let mut low: Option<Step> = None;
    let mut high: Option<Step> = None;
    let mut width = u64::MAX;
    let mut count = range.start.clamp(range.min, range.max);
    while steps.len() < STEPS_MAX {
        let value = measure(count)?;
        steps.push((count, value));
        if error(value, target) <= TOLERANCE {
            break;
        }
        if value < target {
            low = Some((count, value));
        } else {
            high = Some((count, value));
        }
        let next = match (low, high) {
            (Some(l), Some(h)) => {
                let halved = h.0.saturating_sub(l.0) <= width / 2;
                width = h.0.saturating_sub(l.0);
                inside(l, h, target, !halved)
            }
            _ => outward(count, value, target, range),
        };
        match next {
            Some(n) if steps.iter().all(|s| s.0 != n) => count = n,
            _ => break,
        }
    }
    let best = steps.iter().copied().min_by(|a, b| error(a.1, target).total_cmp(&error(b.1, target)));
    match best {
        Some((count, value)) if error(value, target) <= USABLE => Ok(Found { count, value, steps }),
        best => {
            let (count, value) = best.unwrap_or((0, 0.0));
            let message = format!(
                "calibration: no count from {} to {} gives {target} s; the nearest was {count} with {value:.3} s \
                 after {} runs",
                range.min,
                range.max,
                steps.len()
            );
            Err(Failure { exit: Exit::FINDING, message })
        }
    }
}

/// Relative error of a value.
fn error(value: f64, target: f64) -> f64 {
    (value / target - 1.0).abs()
}

/// A count strictly between two that bracket the target; `None` if they are adjacent.
fn inside(low: Step, high: Step, target: f64, bisect: bool) -> Option<u64> {
    // The lower value may belong to the larger count, since the measure need not grow everywhere.
    let (a, b) = (low.0.min(high.0), low.0.max(high.0));
    if b - a < 2 {
        return None;
    }
    let share = if bisect { 0.5 } else { (target - low.1) / (high.1 - low.1) };
    let at = low.0 as f64 + share * (high.0 as f64 - low.0 as f64);
    Some((at.round() as u64).clamp(a + 1, b - 1))
}

/// A count that is nearer to the target by proportion; `None` at the end of the range.
fn outward(count: u64, value: f64, target: f64, range: Range) -> Option<u64> {
    let factor = if value > 0.0 { (target / value).clamp(1.0 / FACTOR_MAX, FACTOR_MAX) } else { FACTOR_MAX };
    let next = (count as f64 * factor).round() as u64;
    // The rounded proportion may equal the count, which must change by at least 1.
    let next = if value < target { next.max(count + 1) } else { next.min(count.saturating_sub(1)) };
    let next = next.clamp(range.min, range.max);
    (next != count).then_some(next)
}

#[cfg(test)]
mod tests {
    use super::*;

    const RANGE: Range = Range { start: 1000, min: 1, max: 1_000_000 };

    fn run(target: f64, range: Range, f: impl Fn(f64) -> f64) -> (Result<Found, Failure>, usize) {
        let mut calls = 0;
        let found = search(target, range, |n| {
            calls += 1;
            Ok(f(n as f64))
        });
        (found, calls)
    }

    #[test]
    fn linear_time_needs_few_runs() {
        // Start-up of 4 s and 20 ms per pass: 61.507 s is 2875.35 passes.
        let (found, calls) = run(61.507, RANGE, |n| 4.0 + 0.02 * n);
        let found = found.unwrap();
        assert!((found.value / 61.507 - 1.0).abs() <= TOLERANCE, "{found:?}");
        assert!((2868..=2883).contains(&found.count), "{found:?}");
        assert!(calls <= 5, "{calls} runs");
        assert_eq!(found.steps.len(), calls);
    }

    #[test]
    fn curved_and_stepped_times_converge() {
        for f in [
            |n: f64| 0.001 * n * n.ln(),
            |n: f64| if n < 3000.0 { 0.004 * n } else { 12.0 + 0.04 * (n - 3000.0) },
            |n: f64| (0.02 * n / 0.25).floor() * 0.25,
        ] {
            let (found, calls) = run(61.507, RANGE, f);
            let found = found.unwrap();
            assert!(error(found.value, 61.507) <= USABLE && calls <= STEPS_MAX, "{found:?}");
        }
    }

    #[test]
    fn noise_around_the_target_still_ends() {
        // A deterministic wobble of 1 % that makes the measure fall with the count here and there.
        let (found, calls) = run(61.507, RANGE, |n| 0.02 * n * (1.0 + 0.01 * (n * 0.7).sin()));
        assert!(error(found.unwrap().value, 61.507) <= USABLE);
        assert!(calls <= STEPS_MAX);
    }

    #[test]
    fn the_smallest_step_is_one() {
        let (found, _) = run(30.0, Range { start: 2, min: 1, max: 100 }, |n| 9.9 * n);
        assert_eq!(found.unwrap().count, 3);
    }

    #[test]
    fn an_unreachable_target_is_a_finding() {
        let (found, calls) = run(61.507, Range { start: 10, min: 1, max: 100 }, |n| 0.001 * n);
        let failure = found.unwrap_err();
        assert_eq!(failure.exit, Exit::FINDING);
        assert!(failure.message.contains("the nearest was 100 with 0.100 s"), "{}", failure.message);
        assert!(calls <= 4);
        assert!(run(1.0, RANGE, |_| 0.0).0.is_err());
        assert!(run(1.0, RANGE, |_| 5.0).0.is_err());
    }

    #[test]
    fn a_failing_run_ends_the_search() {
        let failure = search(1.0, RANGE, |_| Err(Failure::environment("no"))).unwrap_err();
        assert_eq!(failure.message, "no");
    }
}
