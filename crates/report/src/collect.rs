//! Builds a comparison from records.
//!
//! Invariants: only completed runs give samples, since a run that was cut off or failed has no result; the others are
//! counted. A scalar or counter that any run has gets an entry for every kernel, so no row or column vanishes. The
//! order is that of first appearance, kernel by kernel, so the same records give the same report.

use numalab_model::record::{Outcome, Scalar, Status, TIMES, TOO_SHORT};

use crate::data::{Comparison, Counter, Duration, Kernel, Metric, Runs, Workload};
use crate::format::significant;
use crate::order::unique;
use crate::two_groups;
use std::collections::BTreeMap;

/// All runs of one workload.
#[derive(Clone, Debug)]
pub struct WorkloadRuns<'a> {
    /// Name of the workload.
    pub name: String,
    /// Outcomes: `runs[kernel]` are those of a kernel, in the order of seeds.
    pub runs: Vec<Vec<&'a Outcome>>,
}

/// Builds a comparison from the runs of each workload; `baseline` is an index into `kernels`.
pub fn collect(kernels: Vec<Kernel>, baseline: usize, workloads: &[WorkloadRuns<'_>]) -> Comparison {
    let one = |w: &WorkloadRuns<'_>| {
        let mut all = Collector::new((0..kernels.len()).map(|k| w.runs.get(k).map_or(0, Vec::len)).collect());
        for (kernel, runs) in w.runs.iter().take(kernels.len()).enumerate() {
            runs.iter().for_each(|outcome| all.add(kernel, outcome));
        }
        all.workload(&w.name, &kernels, baseline)
    };
    let workloads = workloads.iter().map(one).collect();
    Comparison { kernels, baseline, workloads, ..Comparison::default() }
}

/// Name of a scalar in reports: the times of a run lose their unit (`elapsed_s` becomes `elapsed`), a score keeps its
/// name.
pub fn metric_name(scalar: &str) -> &str {
    scalar.strip_suffix("_s").filter(|name| TIMES.contains(name)).unwrap_or(scalar)
}

/// Takes the runs of one workload, kernel by kernel, and keeps eight bytes of each figure.
#[derive(Debug, Default)]
pub struct Collector {
    /// Metrics, counters, reasons, runs, whether they were too short, and durations so far.
    out: Workload,
    /// Warnings and failures of each kernel, each with its place among them.
    warnings: Vec<BTreeMap<Told, usize>>,
    /// Warnings that every run so far gave; `None` before the first.
    common: Option<Vec<String>>,
    /// How many runs had settled, and when the last of them had, s.
    settled: (usize, f64),
    /// How many runs of each kernel there may be.
    expected: Vec<usize>,
}

/// Something that is told of a run.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Told {
    Warning(String),
    /// Why it failed.
    Failure(String),
}

impl Collector {
    /// Before the first run, for kernels of so many runs each. With more of them it only takes more memory.
    pub fn new(expected: Vec<usize>) -> Self {
        let kernels = expected.len();
        let mut all = Self { expected, ..Self::default() };
        all.out.runs = vec![Runs::default(); kernels];
        all.out.too_short = vec![false; kernels];
        all.out.durations = vec![None; kernels];
        all.warnings.resize_with(kernels, BTreeMap::new);
        all
    }

    /// Adds a run of a kernel. Runs come kernel by kernel, in the order of seeds; the order decides that of the rows.
    ///
    /// # Panics
    /// If there is no such kernel.
    pub fn add(&mut self, kernel: usize, outcome: &Outcome) {
        let (count, completed) = (&mut self.out.runs[kernel], outcome.status == Status::Completed);
        count.total += 1;
        match &outcome.status {
            Status::Completed => {}
            Status::Timeout => count.timeout += 1,
            Status::Failed(why) => {
                count.failed += 1;
                tell(&mut self.warnings[kernel], Told::Failure(why.clone()));
            }
        }
        outcome.warnings.iter().for_each(|text| tell(&mut self.warnings[kernel], Told::Warning(text.clone())));
        match &mut self.common {
            Some(common) => common.retain(|text| outcome.warnings.contains(text)),
            None => self.common = Some(outcome.warnings.clone()),
        }
        // A run without a result still adds its rows, which are then empty rather than missing.
        let column = Column { kernel, completed, columns: self.warnings.len(), expected: self.expected[kernel] };
        add_scalars(&mut self.out.metrics, &outcome.scalars, &column);
        add_counters(&mut self.out.counters, &outcome.counters, &column);
        add_counters(&mut self.out.reasons, &outcome.reasons, &column);
        self.out.too_short[kernel] |= too_short(outcome);
        if completed {
            add_duration(self.out.durations[kernel].get_or_insert_default(), outcome);
        }
        if let Some(s) = outcome.settled.as_ref().filter(|s| s.skipped_s > 0.0) {
            self.settled = (self.settled.0 + 1, self.settled.1.max(s.after_s));
        }
    }

    /// The workload that the runs are of; `baseline` is an index into `kernels`.
    pub fn workload(self, name: &str, kernels: &[Kernel], baseline: usize) -> Workload {
        let Self { mut out, warnings, common, settled, .. } = self;
        let of_scheduler = |k: usize| kernels[k].differs_in_scheduler_only(&kernels[baseline]);
        let all_of_scheduler = kernels.len() > 1 && (0..kernels.len()).all(of_scheduler);
        let shown = |text: &&String| !(all_of_scheduler && text.contains(TOO_SHORT));
        let common = common.unwrap_or_default();
        out.name = name.to_string();
        out.warnings.extend(common.iter().filter(shown).cloned());
        for (k, (kernel, told)) in kernels.iter().zip(&warnings).enumerate() {
            let mut told: Vec<_> = told.iter().collect();
            told.sort_by_key(|(_, place)| **place);
            let sentences = told.into_iter().filter_map(|(one, _)| match one {
                Told::Failure(why) => Some(format!("a run failed: {why}")),
                Told::Warning(text) => (shown(&text) && !common.contains(text)).then(|| text.clone()),
            });
            let sentences = sentences.chain(missing_runs(out.runs[k]));
            out.warnings.extend(sentences.map(|text| format!("{}: {text}", kernel.name)));
        }
        out.metrics.iter_mut().flat_map(|m| &mut m.samples).for_each(Vec::shrink_to_fit);
        out.counters.iter_mut().chain(&mut out.reasons).flat_map(|c| &mut c.samples).for_each(Vec::shrink_to_fit);
        forgive_schedulers(&mut out.too_short, baseline, of_scheduler);
        let all = out.runs.iter().map(|r| r.total).sum();
        out.warnings.extend(settled_runs(settled, all));
        let groups = two_groups::sentences(&out, kernels);
        out.warnings = unique(out.warnings.drain(..).chain(groups));
        out
    }
}

fn tell(told: &mut BTreeMap<Told, usize>, new: Told) {
    let place = told.len();
    told.entry(new).or_insert(place);
}

/// What the warning about runs that had settled says of them.
pub const HAD_SETTLED: &str = " runs had settled, the last after ";

/// How many of all runs had settled before their end, so that part of them is told and not simulated; `None` if none
/// had.
fn settled_runs((some, last_s): (usize, f64), all: usize) -> Option<String> {
    let whole = "what is left of them is taken to go on alike; --whole simulates it";
    (some > 0).then(|| format!("{some} of {all}{HAD_SETTLED}{} s: {whole}", significant(last_s)))
}

/// Runs of kernels that differ from the baseline in their schedulers at most are long enough, since memory balancing
/// does the same on both sides. `of_scheduler` tells which kernels are such.
fn forgive_schedulers(too_short: &mut [bool], baseline: usize, of_scheduler: impl Fn(usize) -> bool) {
    let Some(&short) = too_short.get(baseline) else { return };
    let others = (0..too_short.len()).filter(|k| *k != baseline);
    let some = others.clone().any(&of_scheduler);
    for k in others.filter(|_| some) {
        too_short[k] = (too_short[k] || short) && !of_scheduler(k);
    }
    too_short[baseline] &= !some;
}

/// Whether a completed run was too short for a verdict.
fn too_short(outcome: &Outcome) -> bool {
    outcome.status == Status::Completed && outcome.warnings.iter().any(|text| text.contains(TOO_SHORT))
}

/// Warning about the runs of a kernel that are missing from its figures, and why; `None` if all completed.
fn missing_runs(runs: Runs) -> Option<String> {
    let why = || {
        let part = |n: usize, what: &str| (n > 0).then(|| format!("{n} {what}"));
        let parts = [part(runs.timeout, "reached the time limit"), part(runs.failed, "failed")];
        parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
    };
    match runs.completed() {
        0 if runs.total == 0 => Some("no runs, so its column has no figures".into()),
        0 => Some(format!("no run of {} completed ({}), so its column has no figures", runs.total, why())),
        n if n < runs.total => {
            Some(format!("{n} of {} runs completed ({}); figures leave the others out", runs.total, why()))
        }
        _ => None,
    }
}

/// The column of a run.
struct Column {
    kernel: usize,
    /// Whether the run gives samples; else only rows of its names are added.
    completed: bool,
    /// Number of columns.
    columns: usize,
    /// Number of runs that this column may have.
    expected: usize,
}

impl Column {
    /// Adds a sample to a row. Memory for all of them is asked for once: in steps it would be up to twice as much.
    fn push(&self, samples: &mut [Vec<f64>], value: f64) {
        if !self.completed {
            return;
        }
        let own = &mut samples[self.kernel];
        if own.capacity() == 0 {
            own.reserve_exact(self.expected);
        }
        own.push(value);
    }
}

/// Adds scalars as samples.
fn add_scalars(metrics: &mut Vec<Metric>, scalars: &[Scalar], column: &Column) {
    for (guess, s) in scalars.iter().enumerate() {
        let name = metric_name(&s.name);
        let at = place(metrics, guess, |m| m.name == name).unwrap_or_else(|| {
            metrics.push(Metric::new(name, &s.unit, s.higher_is_better, vec![Vec::new(); column.columns]));
            metrics.len() - 1
        });
        column.push(&mut metrics[at].samples, s.value);
    }
}

/// Adds counters as [`add_scalars`] adds scalars.
fn add_counters(counters: &mut Vec<Counter>, values: &[(String, u64)], column: &Column) {
    for (guess, (name, value)) in values.iter().enumerate() {
        let at = place(counters, guess, |c| c.name == *name).unwrap_or_else(|| {
            counters.push(Counter { name: name.clone(), samples: vec![Vec::new(); column.columns] });
            counters.len() - 1
        });
        // The conversion is exact up to 2^53, which a counter of pages does not reach.
        column.push(&mut counters[at].samples, *value as f64);
    }
}

/// Where the row of a figure is. Runs mostly have the same figures in the same order, so the place in this run is tried
/// first.
fn place<T>(rows: &[T], guess: usize, is: impl Fn(&T) -> bool) -> Option<usize> {
    if rows.get(guess).is_some_and(&is) {
        return Some(guess);
    }
    rows.iter().position(is)
}

/// Adds the times of a completed run; a time that it does not report counts as 0.
fn add_duration(sum: &mut Duration, outcome: &Outcome) {
    for s in &outcome.scalars {
        match s.name.as_str() {
            "user_s" => sum.user_s += s.value,
            "system_s" => sum.system_s += s.value,
            "elapsed_s" => sum.elapsed_s += s.value,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use numalab_model::record::Settled;

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
    fn what_settled_runs_left_out_is_told() {
        let settled = |after_s, skipped_s| {
            let settled = Some(Settled { after_s, simulated_s: 60.0, skipped_s, ..Settled::default() });
            Outcome { settled, ..outcome(3600.0, 5, Status::Completed) }
        };
        let (a, b, c) = (settled(14.0, 3540.0), settled(2.0, 3540.0), settled(90.0, 0.0));
        let runs = WorkloadRuns { name: "w".into(), runs: vec![vec![&a, &b], vec![&c]] };
        let of = collect(vec![Kernel::named("x"), Kernel::named("y")], 0, &[runs]);
        let want = "2 of 3 runs had settled, the last after 14.00 s: what is left of them is taken to go on alike; \
                    --whole simulates it";
        assert_eq!(of.workloads[0].warnings, [want]);
    }

    #[test]
    fn runs_that_fall_into_two_groups_are_told() {
        let runs: Vec<Outcome> = [82.9, 49.9, 50.0, 48.2].map(|s| outcome(s, 5, Status::Completed)).into();
        // The score of these outcomes is the same in all runs, so the elapsed time must not be asked.
        let scored = WorkloadRuns { name: "w".into(), runs: vec![runs.iter().collect()] };
        let c = collect(vec![Kernel::named("x")], 0, &[scored]);
        assert!(c.workloads[0].warnings.is_empty());
        let timed: Vec<Outcome> = runs
            .into_iter()
            .map(|mut o| {
                o.scalars.truncate(2);
                o
            })
            .collect();
        let runs = WorkloadRuns { name: "w".into(), runs: vec![timed.iter().collect()] };
        let c = collect(vec![Kernel::named("x")], 0, &[runs]);
        let want = "x: seeds fall into two groups: elapsed is 48.20 to 50.00 s in 3 of 4 runs and 82.90 s in 1; \
                    their mean is that of neither";
        assert_eq!(c.workloads[0].warnings, [want]);
    }

    #[test]
    fn a_completed_run_that_was_too_short_marks_its_kernel() {
        let warned = |status| Outcome {
            warnings: vec![format!("the run took 0.86 s of model time: {TOO_SHORT}, the first scan takes longer")],
            ..outcome(0.86, 5, status)
        };
        let (good, short, cut) =
            (outcome(9.0, 5, Status::Completed), warned(Status::Completed), warned(Status::Timeout));
        let runs = WorkloadRuns { name: "w".into(), runs: vec![vec![&good], vec![&good, &short], vec![&good, &cut]] };
        let c = collect(["x", "y", "z"].map(Kernel::named).to_vec(), 0, &[runs]);
        assert_eq!(c.workloads[0].too_short, [false, true, false]);
    }

    #[test]
    fn kernels_that_differ_in_their_schedulers_are_compared_in_short_runs() {
        let warned = Outcome {
            warnings: vec![format!("the run took 0.86 s of model time: {TOO_SHORT}, the first scan takes longer")],
            ..outcome(0.86, 5, Status::Completed)
        };
        let kernel = |name: &str, delay: &str| Kernel {
            beside_scheduler: Some(vec![("scan.scan_delay_ms".into(), delay.into())]),
            ..Kernel::named(name)
        };
        let all = |kernels: Vec<Kernel>| {
            let runs = WorkloadRuns { name: "w".into(), runs: kernels.iter().map(|_| vec![&warned]).collect() };
            collect(kernels, 0, &[runs]).workloads.remove(0)
        };
        let mixed = all(vec![kernel("x", "1000"), kernel("y", "1000"), kernel("z", "20")]);
        assert_eq!(mixed.too_short, [false, false, true], "z scans at another time");
        assert_eq!(mixed.warnings.len(), 1);
        let same = all(vec![kernel("x", "1000"), kernel("y", "1000")]);
        assert_eq!((same.too_short, same.warnings.len()), (vec![false, false], 0));
        let unknown = all(vec![Kernel::named("x"), Kernel::named("y")]);
        assert_eq!((unknown.too_short, unknown.warnings.len()), (vec![true, true], 1));
        assert_eq!(all(vec![kernel("x", "1000")]).warnings.len(), 1, "one kernel is compared with none");
    }

    #[test]
    fn times_lose_their_unit_and_missing_kernels_stay() {
        let (a, b) = (outcome(3.0, 5, Status::Completed), outcome(4.0, 6, Status::Completed));
        let runs = WorkloadRuns { name: "numa01".into(), runs: vec![vec![&a, &b], vec![]] };
        let c = collect(vec![Kernel::named("x"), Kernel::named("y")], 0, &[runs]);
        let w = &c.workloads[0];
        assert_eq!(w.metric("elapsed").unwrap().samples, [vec![3.0, 4.0], vec![]]);
        assert!(w.metric("wait_s").is_some(), "a score keeps its name");
        assert_eq!(w.counter("numa_hint_faults").unwrap().of(0), [5.0, 6.0]);
        assert_eq!(w.reasons[0].of(0), [10.0, 12.0]);
        assert_eq!(w.duration(0), Some(Duration { user_s: 0.0, system_s: 2.0, elapsed_s: 7.0 }));
        assert_eq!(w.duration(1), None);
        assert_eq!(w.runs[0], Runs { total: 2, timeout: 0, failed: 0 });
        assert_eq!(w.warnings, ["y: no runs, so its column has no figures"]);
    }

    #[test]
    fn runs_that_did_not_complete_are_counted_and_give_no_samples() {
        let good = outcome(3.0, 5, Status::Completed);
        let slow = Outcome { counters: vec![("pgfault".into(), 1)], ..outcome(1.0, 6, Status::Timeout) };
        let bad = outcome(0.5, 7, Status::Failed("no memory".into()));
        let runs = WorkloadRuns { name: "w".into(), runs: vec![vec![&good, &slow, &bad], vec![&slow, &slow]] };
        let c = collect(vec![Kernel::named("x"), Kernel::named("y")], 0, &[runs]);
        let w = &c.workloads[0];
        assert_eq!(w.metric("elapsed").unwrap().samples, [vec![3.0], vec![]]);
        assert_eq!(w.counter("numa_hint_faults").unwrap().samples, [vec![5.0], vec![]]);
        let nothing: [Vec<f64>; 2] = [vec![], vec![]];
        assert_eq!(w.counter("pgfault").unwrap().samples, nothing, "known by name, without a figure");
        assert_eq!(w.reasons[0].samples, [vec![10.0], vec![]]);
        assert_eq!(w.duration(0), Some(Duration { user_s: 0.0, system_s: 1.0, elapsed_s: 3.0 }));
        assert_eq!(w.duration(1), None);
        assert_eq!(w.runs, [Runs { total: 3, timeout: 1, failed: 1 }, Runs { total: 2, timeout: 2, failed: 0 }]);
        assert_eq!(w.runs.iter().map(|r| r.completed()).collect::<Vec<_>>(), [1, 0]);
        let want = [
            "x: a run failed: no memory",
            "x: 1 of 3 runs completed (1 reached the time limit, 1 failed); figures leave the others out",
            "y: no run of 2 completed (2 reached the time limit), so its column has no figures",
        ];
        assert_eq!(w.warnings, want);
    }
}
