//! Legend and notes: the rule of the stars, which columns are simulated, and which differences were too small to see.

use numalab_stats::star::StarRule;
use numalab_stats::Better;

use crate::assess::{self, LEVEL, POWER};
use crate::data::{Comparison, Metric, Workload};
use crate::format::readable;
use crate::order::unique;
use crate::tables::monitor::Aggregate;
use crate::trust;
use crate::verdict::measurements;

/// Most notes about differences that are too small to see. A large comparison has one for nearly every row.
const MAX_UNDETECTABLE: usize = 12;
/// A run shorter than this measures start-up more than the workload, s.
const SHORT_RUN_S: f64 = 1.0;
/// Smallest detectable change that is noted, percent. Below it the runs are nearly the same, and the note would say
/// nothing.
const MIN_NOTED_PERCENT: f64 = 0.01;

/// The legend and the notes below the tables of a text report, after a blank line.
pub fn text(c: &Comparison, rule: StarRule) -> String {
    let mut out = String::from("\n");
    out.push_str(&format!("Baseline: {}. Positive percent = better. {}.\n", c.baseline_name(), rule.legend()));
    for line in notes(c, rule) {
        out.push_str(&format!("Note: {line}\n"));
    }
    out
}

/// Notes in order: kinds of columns, metrics without a direction, warnings of all workloads, then for each workload
/// single and short runs, unequal numbers of runs and warnings, and last the differences that are too small to see.
pub fn notes(c: &Comparison, rule: StarRule) -> Vec<String> {
    let mut out = Vec::new();
    let marks: Vec<&str> = c.kernels.iter().map(|k| k.mark.as_str()).collect();
    if marks.contains(&"sim") {
        out.push("columns marked sim are predictions of the simulator, not measurements".to_string());
        out.extend(model_errors(c));
    }
    if marks.contains(&"vm") || marks.contains(&"vm-counters") {
        let text = "ran a real kernel under emulation: its counters and placement are real, times are not";
        out.push(format!("columns marked vm-counters {text}"));
    }
    if marks.contains(&"vm-modelled") {
        let text = "ran a real kernel in virtual time: remote memory costs what the machine file says; times compare \
                    with each other only";
        out.push(format!("columns marked vm-modelled {text}"));
    }
    let neutral =
        unique(c.workloads.iter().flat_map(|w| &w.metrics).filter(|m| m.better == Better::Neutral).map(|m| &m.name));
    if !neutral.is_empty() {
        let names: Vec<&str> = neutral.iter().map(|name| name.as_str()).collect();
        out.push(format!("for {} neither more nor less is better; a plus only means more", names.join(", ")));
    }
    // A warning of every workload is about the machine or a kernel, so no workload is named with it.
    let everywhere = |t: &&String| c.workloads.len() > 1 && c.workloads.iter().all(|w| w.warnings.contains(t));
    let common: Vec<&String> = c.workloads.iter().take(1).flat_map(|w| &w.warnings).filter(everywhere).collect();
    out.extend(common.iter().map(|t| (*t).clone()));
    for w in &c.workloads {
        out.extend(single_runs(c, w, rule));
        out.extend(short_runs(w));
        out.extend(unequal_runs(w));
        out.extend(w.warnings.iter().filter(|t| !common.contains(t)).map(|t| format!("{}: {t}", w.name)));
    }
    out.extend(undetectable(c));
    out
}

/// What stars of simulated columns do not mean, with the model's error for each kind of measurement.
fn model_errors(c: &Comparison) -> Option<String> {
    let of = |m: &Metric| c.others().find_map(|k| trust::of_comparison(c, m, k));
    let errors = c.workloads.iter().flat_map(measurements).filter_map(of).map(trust::ModelError::text);
    let errors: Vec<String> = errors.collect();
    let list = unique(errors.iter().map(String::as_str)).join(", ");
    (!list.is_empty()).then(|| {
        format!("a star says that seeds differ, not that the model is right: predicted changes are off by {list}")
    })
}

fn single_runs(c: &Comparison, w: &Workload, rule: StarRule) -> Option<String> {
    let single = |m: &Metric| c.others().any(|k| m.of(k).len() == 1) || m.of(c.baseline).len() == 1;
    w.metrics.iter().any(single).then(|| {
        let says = match rule {
            StarRule::GenB => "a star there only says that the values differ",
            StarRule::GenC | StarRule::Welch => "nothing can be starred there",
        };
        format!("{}: single runs, so no spread is known; {says}", w.name)
    })
}

fn unequal_runs(w: &Workload) -> Option<String> {
    let sums = !w.counters.is_empty() || !w.reasons.is_empty() || w.durations.iter().any(Option::is_some);
    (sums && Aggregate::of(w) == Aggregate::PerRun).then(|| {
        format!("{}: kernels have different numbers of completed runs, so rows marked /run are means, not sums", w.name)
    })
}

fn short_runs(w: &Workload) -> Option<String> {
    let elapsed = w.metric("elapsed").filter(|m| m.unit == "s")?;
    let shortest = elapsed.samples.iter().flatten().copied().reduce(f64::min)?;
    (shortest < SHORT_RUN_S).then(|| {
        let seconds = readable(shortest);
        format!("{}: a run took only {seconds} s; start-up may outweigh the workload", w.name)
    })
}

/// Notes on the smallest change that would be seen, for elapsed times and scores without a clear difference.
fn undetectable(c: &Comparison) -> Vec<String> {
    let interesting = |metric: &str| !matches!(metric, "user" | "system" | "blocked");
    let mut out: Vec<String> = assess::assess(c)
        .iter()
        .filter(|a| interesting(&a.metric) && a.can_judge() && a.p_holm.is_some_and(|p| p >= LEVEL))
        .filter_map(|a| {
            let percent = readable(a.detectable_percent.filter(|d| d.is_finite() && *d >= MIN_NOTED_PERCENT)?);
            let (n0, n1) = a.runs;
            let place = format!("{} {} on {}: no clear difference", a.workload, a.metric, a.kernel);
            let often = 100.0 * POWER;
            Some(format!(
                "{place}; with {n0} and {n1} runs a change of {percent} % would be seen {often:.0} times in 100 by one test alone"
            ))
        })
        .collect();
    if out.len() > MAX_UNDETECTABLE {
        let more = out.len() - MAX_UNDETECTABLE;
        out.truncate(MAX_UNDETECTABLE);
        out.push(format!("and {more} more rows without a clear difference"));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_warning_of_every_workload_is_said_once() {
        let w = |name: &str, own: &str| Workload {
            name: name.into(),
            warnings: vec!["assumed: 64 GiB per node".into(), own.into()],
            ..Workload::default()
        };
        let mut c = Comparison { workloads: vec![w("a", "one"), w("b", "two")], ..Comparison::default() };
        assert_eq!(notes(&c, StarRule::default()), ["assumed: 64 GiB per node", "a: one", "b: two"]);
        c.workloads.truncate(1);
        assert_eq!(notes(&c, StarRule::default()), ["a: assumed: 64 GiB per node", "a: one"]);
    }
}
