//! What a report is made of: plain data, no layout.
//!
//! A [`Comparison`] holds kernels (columns) and workloads (blocks of rows). A workload holds metrics, counters and
//! durations with one entry per kernel, in the order of [`Comparison::kernels`]. An empty entry means that there are no
//! samples; it is printed as such and never dropped.

use numalab_model::record::TIMES;
use numalab_stats::{percent, Better, Mean};

use crate::columns::Column;
use crate::origin::Origin;
use crate::statistics::Family;

/// Runs whose times differ by at most this part had a fixed duration.
const FIXED: f64 = 0.02;

/// Kernels compared on workloads.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Comparison {
    /// Kernels in print order: the columns of every table.
    pub kernels: Vec<Kernel>,
    /// Index of the baseline in `kernels`.
    pub baseline: usize,
    /// Workloads in print order: the blocks of rows.
    pub workloads: Vec<Workload>,
    /// Properties that all runs share (`machine`, `seeds`, …), printed by the lkp layout.
    pub axes: Vec<(String, String)>,
    /// What was run, for the heading. `None` if the figures come from elsewhere than from runs of numalab.
    pub origin: Option<Origin>,
    /// Definitions of the derived figures.
    pub columns: Vec<Column>,
}

impl Comparison {
    /// Name of the baseline; empty if there is none.
    pub fn baseline_name(&self) -> &str {
        self.kernels.get(self.baseline).map_or("", |k| k.name.as_str())
    }
    /// The machine of a workload: its own if the comparison has several, else the one that all share. Empty if none is
    /// known.
    pub fn machine_of<'a>(&'a self, w: &'a Workload) -> &'a str {
        let shared = || self.axes.iter().find(|a| a.0 == "machine").map(|a| a.1.as_str());
        w.machine.as_deref().or_else(shared).unwrap_or_default()
    }
    /// Whether this is an experiment without any record.
    pub fn nothing_ran(&self) -> bool {
        self.origin.as_ref().is_some_and(Origin::nothing_ran)
    }
    /// Indices of all kernels but the baseline, in print order.
    pub fn others(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.kernels.len()).filter(|k| *k != self.baseline)
    }
}

/// A kernel: a column of every table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Kernel {
    /// Name, e.g. `6.4-rc2+rfc-v3`.
    pub name: String,
    /// Added to the name in headings, so that no figure of a model is taken for one of a machine: `sim`, `vm`. Empty
    /// for a real host.
    pub mark: String,
    /// Not a kernel but the bound of all of them: memory is near at no cost (role `page_migrate = oracle`).
    pub is_bound: bool,
    /// What a simulated kernel does beside scheduling: its roles and tunables without those of the scheduler, with
    /// their values. `None` where that is not known.
    pub beside_scheduler: Option<Vec<(String, String)>>,
    /// Why no run of it completed, if one failed: the reason of the first that did.
    pub failed: Option<String>,
}

impl Kernel {
    /// A kernel without a mark.
    pub fn named(name: &str) -> Self {
        Self { name: name.to_string(), ..Self::default() }
    }
    /// Whether this kernel and `other` are known to differ in their schedulers at most.
    pub fn differs_in_scheduler_only(&self, other: &Self) -> bool {
        self.beside_scheduler.is_some() && self.beside_scheduler == other.beside_scheduler
    }
    /// KiB of its base pages; 4 where that is not known, as for real kernels.
    pub fn base_page_kib(&self) -> f64 {
        let all = self.beside_scheduler.iter().flatten();
        let set = all.filter(|(name, _)| name == "system.base_page_kb").find_map(|(_, kib)| kib.parse().ok());
        set.unwrap_or(4.0)
    }
    /// Name as headings print it: `name-mark`.
    pub fn run_name(&self) -> String {
        if self.mark.is_empty() {
            self.name.clone()
        } else {
            format!("{}-{}", self.name, self.mark)
        }
    }
}

/// Everything measured with one workload.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Workload {
    /// Name and title of its tables. If the comparison has several machines: `PROGRAM on MACHINE`.
    pub name: String,
    /// The machine, if the comparison has several machines.
    pub machine: Option<String>,
    /// Which statistics its tables show. By default [`Family::Multi`] if a cell has several samples, else
    /// [`Family::Single`].
    pub family: Option<Family>,
    /// Decimals of the values (mmtests prints 4 for hackbench, else 2). The default is 2.
    pub decimals: Option<usize>,
    /// Times and scores.
    pub metrics: Vec<Metric>,
    /// Counters of `/proc/vmstat`, under the kernel's names.
    pub counters: Vec<Counter>,
    /// Skips and refusals by reason (`skip.pid_inactive`, …).
    pub reasons: Vec<Counter>,
    /// Figures derived from counters ([`crate::derive`]).
    pub derived: Vec<Metric>,
    /// Times of all completed runs of a kernel together; `None` for a kernel without completed runs.
    pub durations: Vec<Option<Duration>>,
    /// Number of runs of each kernel, including runs without figures.
    pub runs: Vec<Runs>,
    /// Whether a completed run of each kernel was too short for balancing to act. Kernels that differ in their
    /// schedulers at most are compared in runs of any length. Empty if no kernel has such runs.
    pub too_short: Vec<bool>,
    /// How the work of each kernel differed from that of the baseline (`loops is 9, not 3`), if it did. Empty if it
    /// differed for no kernel.
    pub different_work: Vec<Option<String>>,
    /// Warnings for the reader, in order.
    pub warnings: Vec<String>,
    /// Why some figures are not those of all runs of the same work, one sentence each. The command prints them on
    /// standard error too.
    pub notes: Vec<String>,
}

impl Workload {
    /// Name without the machine.
    pub fn program(&self) -> &str {
        let program = self.machine.as_deref().and_then(|m| self.name.strip_suffix(m)?.strip_suffix(" on "));
        program.unwrap_or(&self.name)
    }
    /// Finds a metric, then a derived figure, by name.
    pub fn metric(&self, name: &str) -> Option<&Metric> {
        self.metrics.iter().chain(&self.derived).find(|m| m.name == name)
    }
    /// Finds a counter by its kernel name.
    pub fn counter(&self, name: &str) -> Option<&Counter> {
        self.counters.iter().find(|c| c.name == name)
    }
    /// Whether all runs took the same time and something else is scored: they had a fixed duration. More CPU time is
    /// then neither better nor worse.
    pub fn fixed_duration(&self) -> bool {
        let scored = self.metrics.iter().any(|m| !TIMES.contains(&m.name.as_str()));
        let Some(elapsed) = self.metric("elapsed").filter(|_| scored) else { return false };
        let range = |(low, high): (f64, f64), x: &f64| (low.min(*x), high.max(*x));
        let (low, high) = elapsed.samples.iter().flatten().fold((f64::INFINITY, 0.0), range);
        high > 0.0 && high - low <= FIXED * high
    }
    /// Number of runs of a kernel; 0 if they were not counted.
    pub fn runs_of(&self, kernel: usize) -> Runs {
        self.runs.get(kernel).copied().unwrap_or_default()
    }
    /// Whether a run of a kernel was too short for balancing to act, so that no verdict follows.
    pub fn too_short(&self, kernel: usize) -> bool {
        self.too_short.get(kernel).copied().unwrap_or(false)
    }
    /// How the work of a kernel differed from that of the baseline, if it did; then no verdict follows.
    pub fn different_work(&self, kernel: usize) -> Option<&str> {
        self.different_work.get(kernel)?.as_deref()
    }
    /// Whether a kernel has any figure. It has none if none of its runs completed.
    pub fn measured(&self, kernel: usize) -> bool {
        let counters = self.counters.iter().chain(&self.reasons);
        self.metrics.iter().any(|m| !m.of(kernel).is_empty()) || counters.into_iter().any(|c| !c.of(kernel).is_empty())
    }
    /// Times of the completed runs of a kernel together; `None` if there are none.
    pub fn duration(&self, kernel: usize) -> Option<Duration> {
        self.durations.get(kernel).copied().flatten()
    }
}

/// A figure with a unit, a direction and samples.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Metric {
    /// Name, e.g. `elapsed`, `elsp-NUMA01`, `copy-16`.
    pub name: String,
    /// Unit, e.g. `s`, `MB/sec`.
    pub unit: String,
    /// Whether more or less of it is better.
    pub better: Better,
    /// Which mean of its runs tables, sentences, bars and bounds show: the harmonic one for scores that are rates.
    pub mean: Mean,
    /// `samples[kernel][run]`, completed runs only.
    pub samples: Vec<Vec<f64>>,
    /// Stars of a published table, one per kernel, instead of computed ones.
    pub significant: Option<Vec<bool>>,
}

impl Metric {
    /// A time or a score. A score is a rate, with the harmonic mean, if its unit is an amount per something (`ops/s`).
    pub fn new(name: &str, unit: &str, higher_is_better: bool, samples: Vec<Vec<f64>>) -> Self {
        let rate = higher_is_better && unit.contains('/');
        let mean = if rate { Mean::Harmonic } else { Mean::Arithmetic };
        Self { mean, ..Self::counted(name, unit, Better::from_flag(higher_is_better), samples) }
    }
    /// A count or a figure derived from counts. Its mean is arithmetic, whatever its direction and unit.
    pub fn counted(name: &str, unit: &str, better: Better, samples: Vec<Vec<f64>>) -> Self {
        Self { name: name.into(), unit: unit.into(), better, mean: Mean::Arithmetic, samples, significant: None }
    }
    /// The mean of the runs of a kernel that reports show. `None` without runs, and for a rate that is 0 in some run.
    pub fn mean_of(&self, kernel: usize) -> Option<f64> {
        self.mean.of(self.of(kernel))
    }
    /// Change of [`Metric::mean_of`] against the baseline, percent; plus means that the number grew. `None` where a
    /// mean is missing and from a baseline of 0.
    pub fn change_percent(&self, baseline: usize, kernel: usize) -> Option<f64> {
        percent::change(self.mean_of(kernel)?, self.mean_of(baseline)?)
    }
    /// Samples of a kernel; empty if there are none.
    pub fn of(&self, kernel: usize) -> &[f64] {
        self.samples.get(kernel).map_or(&[], Vec::as_slice)
    }
}

/// A counter: its growth over each run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Counter {
    /// Name, as `/proc/vmstat` has it.
    pub name: String,
    /// `samples[kernel][run]`, completed runs only.
    pub samples: Vec<Vec<f64>>,
}

impl Counter {
    /// Samples of a kernel; empty if the kernel does not have the counter.
    pub fn of(&self, kernel: usize) -> &[f64] {
        self.samples.get(kernel).map_or(&[], Vec::as_slice)
    }
}

/// Times as GNU time reports them, for all completed runs of a kernel together: CPU seconds of all descendants, and
/// wall seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Duration {
    /// User CPU time, s.
    pub user_s: f64,
    /// System CPU time, s.
    pub system_s: f64,
    /// Wall time, s.
    pub elapsed_s: f64,
}

/// How many runs there were, and how many of them did not complete and so have no figures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Runs {
    /// All runs.
    pub total: usize,
    /// Runs that ended at the time limit.
    pub timeout: usize,
    /// Runs that failed.
    pub failed: usize,
}

impl Runs {
    /// Completed runs, which the figures are made of.
    pub fn completed(self) -> usize {
        self.total.saturating_sub(self.timeout + self.failed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_scores_that_are_rates_have_the_harmonic_mean() {
        let samples = || vec![vec![1.0, 4.0, 4.0], vec![0.0, 3.0], vec![]];
        let rate = Metric::new("ops", "ops/s", true, samples());
        assert_eq!([0, 1, 2].map(|k| rate.mean_of(k)), [Some(2.0), None, None], "a rate of 0 has no harmonic mean");
        let others = [
            Metric::new("elapsed", "s", false, samples()),
            Metric::new("latency", "us/op", false, samples()),
            Metric::new("sums", "sums", true, samples()),
            Metric::counted("local", "%", Better::Higher, samples()),
            Metric::counted("faults", "faults/s", Better::Higher, samples()),
        ];
        for m in others {
            assert_eq!([0, 1, 2].map(|k| m.mean_of(k)), [Some(3.0), Some(1.5), None], "{}", m.name);
            assert_eq!(m.change_percent(0, 1), Some(-50.0), "{}", m.name);
        }
        assert_eq!(rate.change_percent(0, 1), None);
    }
}
