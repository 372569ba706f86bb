//! From records to a comparison.
//!
//! Invariant: a scalar or counter seen in any run gets an entry for every kernel; the order is that of first appearance,
//! kernel by kernel, so the same records give the same report.

use numalab_model::record::{Outcome, Scalar, Status};

use crate::data::{Comparison, Counter, Duration, Kernel, Metric, Runs, Workload};

/// Scalars that every backend reports in seconds; reports call them without the unit.
const TIMES: [&str; 4] = ["elapsed_s", "user_s", "system_s", "blocked_s"];

/// All runs of one workload: `runs[kernel]` are the outcomes of that kernel, in seed order.
#[derive(Clone, Debug)]
pub struct WorkloadRuns<'a> {
    /// Name of the workload.
    pub name: String,
    /// Outcomes by kernel.
    pub runs: Vec<Vec<&'a Outcome>>,
}

/// Builds a comparison; `baseline` is an index into `kernels`.
pub fn collect(kernels: Vec<Kernel>, baseline: usize, workloads: &[WorkloadRuns<'_>]) -> Comparison {
    let workloads = workloads.iter().map(|w| workload(w, &kernels)).collect();
    Comparison { kernels, baseline, workloads, axes: Vec::new() }
}

/// Name of a scalar in reports: `elapsed_s` is `elapsed`, a score keeps its name.
pub fn metric_name(scalar: &str) -> &str {
    if TIMES.contains(&scalar) {
        &scalar[..scalar.len() - 2]
    } else {
        scalar
    }
}

fn workload(w: &WorkloadRuns<'_>, kernels: &[Kernel]) -> Workload {
    let columns = kernels.len();
    let mut out = Workload { name: w.name.clone(), ..Workload::default() };
    let common = common_warnings(w);
    out.warnings.extend(common.iter().map(|text| (*text).to_string()));
    for (k, kernel) in kernels.iter().enumerate() {
        let runs = w.runs.get(k).map_or(&[][..], Vec::as_slice);
        let mut count = Runs { total: runs.len(), ..Runs::default() };
        for outcome in runs {
            match &outcome.status {
                Status::Completed => {}
                Status::Timeout => count.timeout += 1,
                Status::Failed(why) => {
                    count.failed += 1;
                    warn(&mut out.warnings, format!("{}: a run failed: {why}", kernel.name));
                }
            }
            for text in outcome.warnings.iter().filter(|text| !common.contains(&text.as_str())) {
                warn(&mut out.warnings, format!("{}: {text}", kernel.name));
            }
            add_scalars(&mut out.metrics, &outcome.scalars, k, columns);
            add_counters(&mut out.counters, &outcome.counters, k, columns);
            add_counters(&mut out.reasons, &outcome.reasons, k, columns);
        }
        if count.timeout > 0 {
            let text = format!("{}: {} of {} runs ended at the time limit", kernel.name, count.timeout, count.total);
            warn(&mut out.warnings, text);
        }
        if runs.is_empty() {
            warn(&mut out.warnings, format!("{}: no runs, its column shows 0.00", kernel.name));
        }
        out.runs.push(count);
        out.durations.push(duration(runs));
    }
    out
}

/// Warnings that every run of every kernel gives: what they say is of the machine or the workload, not of a kernel.
fn common_warnings<'a>(w: &WorkloadRuns<'a>) -> Vec<&'a str> {
    let mut runs = w.runs.iter().flatten();
    let Some(first) = runs.next() else { return Vec::new() };
    let mut common: Vec<&str> = first.warnings.iter().map(String::as_str).collect();
    for run in runs {
        common.retain(|text| run.warnings.iter().any(|other| other == text));
    }
    common
}

fn warn(warnings: &mut Vec<String>, text: String) {
    if !warnings.contains(&text) {
        warnings.push(text);
    }
}

fn add_scalars(metrics: &mut Vec<Metric>, scalars: &[Scalar], kernel: usize, columns: usize) {
    for s in scalars {
        let name = metric_name(&s.name);
        let at = metrics.iter().position(|m| m.name == name).unwrap_or_else(|| {
            metrics.push(Metric::new(name, &s.unit, s.higher_is_better, vec![Vec::new(); columns]));
            metrics.len() - 1
        });
        metrics[at].samples[kernel].push(s.value);
    }
}

fn add_counters(counters: &mut Vec<Counter>, values: &[(String, u64)], kernel: usize, columns: usize) {
    for (name, value) in values {
        let at = counters.iter().position(|c| c.name == *name).unwrap_or_else(|| {
            counters.push(Counter { name: name.clone(), samples: vec![Vec::new(); columns] });
            counters.len() - 1
        });
        // Exact up to 2^53, which a page counter does not reach.
        counters[at].samples[kernel].push(*value as f64);
    }
}

fn duration(runs: &[&Outcome]) -> Option<Duration> {
    if runs.is_empty() {
        return None;
    }
    let total = |name: &str| runs.iter().flat_map(|o| &o.scalars).filter(|s| s.name == name).map(|s| s.value).sum();
    Some(Duration { user_s: total("user_s"), system_s: total("system_s"), elapsed_s: total("elapsed_s") })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(elapsed: f64, faults: u64, status: Status) -> Outcome {
        let scalar = |name: &str, value| Scalar { name: name.into(), value, unit: "s".into(), higher_is_better: false };
        Outcome {
            status,
            scalars: vec![scalar("elapsed_s", elapsed), scalar("system_s", 1.0), scalar("wait_s", 2.0)],
            counters: vec![("numa_hint_faults".into(), faults)],
            reasons: vec![("skip.pid_inactive".into(), 2 * faults)],
            ..Outcome::default()
        }
    }

    #[test]
    fn a_warning_of_every_run_names_no_kernel() {
        let run = |texts: &[&str]| Outcome {
            warnings: texts.iter().map(ToString::to_string).collect(),
            ..outcome(3.0, 5, Status::Completed)
        };
        let (a, b) = (run(&["64 GiB per node", "short"]), run(&["64 GiB per node"]));
        let runs = WorkloadRuns { name: "numa01".into(), runs: vec![vec![&a], vec![&b]] };
        let c = collect(vec![Kernel::named("x"), Kernel::named("y")], 0, &[runs]);
        assert_eq!(c.workloads[0].warnings, ["64 GiB per node", "x: short"]);
    }

    #[test]
    fn times_lose_their_unit_and_missing_kernels_stay() {
        let (a, b) = (outcome(3.0, 5, Status::Completed), outcome(4.0, 6, Status::Timeout));
        let runs = WorkloadRuns { name: "numa01".into(), runs: vec![vec![&a, &b], vec![]] };
        let c = collect(vec![Kernel::named("x"), Kernel::named("y")], 0, &[runs]);
        let w = &c.workloads[0];
        assert_eq!(w.metric("elapsed").unwrap().samples, [vec![3.0, 4.0], vec![]]);
        assert!(w.metric("wait_s").is_some(), "a score keeps its name");
        assert_eq!(w.counter("numa_hint_faults").unwrap().of(0), [5.0, 6.0]);
        assert_eq!(w.reasons[0].of(0), [10.0, 12.0]);
        assert_eq!(w.duration(0), Some(Duration { user_s: 0.0, system_s: 2.0, elapsed_s: 7.0 }));
        assert_eq!(w.duration(1), None);
        assert_eq!(w.runs[0], Runs { total: 2, timeout: 1, failed: 0 });
        assert_eq!(w.warnings, ["x: 1 of 2 runs ended at the time limit", "y: no runs, its column shows 0.00"]);
    }
}
