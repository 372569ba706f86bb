//! The sentence on a measurement: its figures, and how sure the difference is.

use super::call::{call, means_disagree, Call};
use crate::assess::{Assessment, LEVEL, POWER};
use crate::data::Metric;
use crate::format::{readable, shows, significant};
use crate::trust::ModelError;
use numalab_stats::Mean;

/// Smallest detectable change that is named as a number, percent.
const MIN_NAMED_PERCENT: f64 = 0.01;
/// A clear difference below this is called small, percent.
const SMALL_PERCENT: f64 = 1.0;

/// The sentence on a metric that has figures on both sides. `at` are the baseline and the kernel; `rows` is the number
/// of rows that Holm's correction is for, with the model's error if both sides are simulated.
pub(super) fn sentence(
    m: &Metric,
    a: &Assessment,
    (base, name): (&str, &str),
    at: (usize, usize),
    (rows, error): (usize, Option<&ModelError>),
) -> String {
    let (n0, n1) = a.runs;
    let percent = m.change_percent(at.0, at.1).or(a.identical.then_some(0.0));
    if let Some(what) = &a.different_work {
        // The change between runs of different work says nothing about the kernels.
        return format!("Cannot tell {name} from {base}: different work, as {what}.");
    }
    let change = change(m, percent, at);
    if a.too_short {
        return format!("Cannot tell {name} from {base}: the runs are too short for balancing to act. {change}.");
    }
    if a.identical {
        return format!("No clear difference between {name} and {base}: {change} in every run.");
    }
    let Some(sure) = a.p_holm else {
        let few = format!("Cannot tell: {} and {} give no spread.", runs(n0, base), runs(n1, name));
        let same = percent.is_some_and(|x| !shows(x));
        let chance = if same { "" } else { ", which may be chance" };
        return format!("{few} {change}{chance}; repeat with at least 3 runs a side.");
    };
    let p = probability(sure, rows);
    match call(m, a, percent, error) {
        call @ (Call::Better | Call::Worse) => {
            let verb = if call == Call::Better { "beats" } else { "loses to" };
            let small = percent.is_some_and(|x| x.abs() < SMALL_PERCENT);
            let how = if small { "clear but small" } else { "clear" };
            let runs = format!("{n0} and {n1} runs{}", interval(m, a, error));
            format!("{name} {verb} {base}: {change}. The difference is {how} ({p}, {runs}).")
        }
        Call::Even if sure < LEVEL => {
            format!("No clear difference between {name} and {base}: {change}. A change this small counts as none, however steady the runs are.")
        }
        Call::Even => format!("No clear difference between {name} and {base}: {change} ({p}); {}.", detectable(a)),
        Call::CannotTell if sure < LEVEL && means_disagree(a, percent) => {
            format!("Cannot tell {name} from {base}: {change}. The arithmetic means, which are tested, moved the other way.")
        }
        Call::CannotTell if sure < LEVEL && error.is_some_and(|e| e.hides(percent)) => {
            let off = error.map(ModelError::text).unwrap_or_default();
            format!("Cannot tell {name} from {base}: {change}. That is below what this model can tell ({off}).")
        }
        Call::CannotTell => {
            let would = detectable(a);
            format!("Cannot tell {name} from {base}: {change} ({p}). Too few runs or too much spread; {would}.")
        }
    }
}

/// What would have been seen: "with 3 and 3 runs a change of 2.1 % would be seen 80 times in 100 by one test alone".
/// Empty if that is not known.
fn detectable(a: &Assessment) -> String {
    let Some(d) = a.detectable_percent else { return String::new() };
    let (n0, n1) = a.runs;
    let often = 100.0 * POWER;
    // Where all runs are nearly the same, the exact figure has too many zeros to mean anything.
    let d = if d < MIN_NAMED_PERCENT { format!("less than {MIN_NAMED_PERCENT}") } else { readable(d) };
    format!("with {n0} and {n1} runs a change of {d} % would be seen {often:.0} times in 100 by one test alone")
}

/// The interval of the ratio: ", 95 % interval of the ratio 0.61 to 0.83". Empty if there is none. With the model's
/// error it goes on: ", with the model's own error about 0.55 to 0.92".
fn interval(m: &Metric, a: &Assessment, error: Option<&ModelError>) -> String {
    let Some(i) = a.ratio_interval.filter(|i| i.low.is_finite() && i.high.is_finite()) else { return String::new() };
    let what = if m.mean == Mean::Harmonic { "ratio of arithmetic means" } else { "ratio" };
    let ratio = a.change_percent.map(|x| 1.0 + x / 100.0).filter(|r| *r > 0.0 && i.low > 0.0);
    let joined = error.zip(ratio).filter(|(e, _)| e.four_fifths.is_finite()).map(|(e, r)| e.join(r, i.low, i.high));
    let joined = joined.map_or(String::new(), |(low, high)| {
        format!(", with the model's own error about {} to {}", readable(low), readable(high))
    });
    format!(", 95 % interval of the {what} {} to {}{joined}", readable(i.low), readable(i.high))
}

fn runs(n: usize, kernel: &str) -> String {
    format!("{n} {} of {kernel}", if n == 1 { "run" } else { "runs" })
}

/// A change in words: "elapsed 83.6 → 61.5 s, 26.4 % lower".
pub(super) fn change(m: &Metric, percent: Option<f64>, (base, kernel): (usize, usize)) -> String {
    let mean = |k: usize| m.mean_of(k).map_or("–".into(), significant);
    let unit = if m.unit.is_empty() { String::new() } else { format!(" {}", m.unit) };
    let figures = format!("{} {} → {}{unit}", m.name, mean(base), mean(kernel));
    match percent {
        Some(0.0) => format!("{figures}, the same"),
        Some(x) if !shows(x) => format!("{figures}, less than 0.01 % apart"),
        Some(x) => format!("{figures}, {}", growth(x)),
        None if [base, kernel].iter().any(|k| m.mean_of(*k).is_none()) => {
            format!("{figures} (a run at 0 has no harmonic mean)")
        }
        None => figures,
    }
}

/// A growth in words: "26.4 % lower", "3.1 times as much".
pub fn growth(percent: f64) -> String {
    if percent >= 100.0 {
        format!("{} times as much", readable(1.0 + percent / 100.0))
    } else {
        format!("{} % {}", tenth(percent.abs()), if percent < 0.0 { "lower" } else { "higher" })
    }
}

/// One decimal from 0.1 on, more digits below.
fn tenth(x: f64) -> String {
    if x >= 0.1 {
        format!("{x:.1}")
    } else {
        readable(x)
    }
}

fn probability(p: f64, rows: usize) -> String {
    let p = p_text(p);
    if rows > 1 {
        format!("{p}, corrected for {rows} rows")
    } else {
        p
    }
}

/// A probability in words: "p = 0.012".
pub(super) fn p_text(p: f64) -> String {
    if p < 0.0001 {
        "p < 0.0001".into()
    } else {
        format!("p = {}", readable(p))
    }
}
