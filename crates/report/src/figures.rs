//! Every figure of a comparison, for the forms that list them all: JSON, comma-separated values and the look-up table
//! of the page.
//!
//! Every figure (score, time, derived column, counter, reason) is treated as a metric with a unit and a direction. The
//! statistics of a metric on a kernel are its [`Figures`]; a line of the long form is a [`CellRow`].

use numalab_model::counters;
use numalab_stats::describe::{self, Better, Mean};
use serde::Serialize;

use crate::data::{Comparison, Counter, Metric, Runs, Workload};
use crate::dictionary;

/// All figures of a workload as metrics: times and scores, derived columns, counters with their unit and direction from
/// the dictionary, and reasons.
pub fn every_metric(w: &Workload) -> Vec<Metric> {
    each_metric(w).collect()
}

/// As [`every_metric`], one at a time: all of them would be a second copy of every sample.
pub fn each_metric(w: &Workload) -> impl Iterator<Item = Metric> + '_ {
    let counters = w.counters.iter().chain(&w.reasons).map(counter_metric);
    w.metrics.iter().chain(&w.derived).cloned().chain(counters)
}

/// The first figure of a workload that has this name.
pub fn named_metric(w: &Workload, name: &str) -> Option<Metric> {
    let counter = || w.counters.iter().chain(&w.reasons).find(|c| c.name == name).map(counter_metric);
    w.metric(name).cloned().or_else(counter)
}

/// A counter as a metric. One that the dictionary does not know is a number of events, of which less is better.
pub(crate) fn counter_metric(counter: &Counter) -> Metric {
    let known = counters::find(&counter.name);
    let unit = known.map_or("events", |k| k.unit.name());
    let better = known.map_or(Better::Lower, dictionary::better);
    Metric::counted(&counter.name, unit, better, counter.samples.clone())
}

/// The statistics of one metric on one kernel, over completed runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Figures {
    /// Number of completed runs that have the metric.
    pub n: usize,
    /// Arithmetic mean.
    pub mean: Option<f64>,
    /// Harmonic mean of a rate. `None` where tables show the arithmetic mean, and if the rate is 0 in some run.
    pub hmean: Option<f64>,
    /// The smallest value of a run.
    pub min: Option<f64>,
    /// The largest value of a run.
    pub max: Option<f64>,
    /// Standard deviation with divisor n - 1; `None` for a single run.
    pub stddev: Option<f64>,
    /// Ratio of the mean to that of the baseline, both arithmetic; `None` if the baseline is 0 or has no runs.
    pub ratio: Option<f64>,
}

impl Figures {
    /// The statistics of a metric on one kernel, with the ratio to the baseline.
    pub fn new(m: &Metric, kernel: usize, baseline: usize) -> Self {
        let (samples, baseline) = (m.of(kernel), m.of(baseline));
        let mean = describe::amean(samples);
        let base = describe::amean(baseline).filter(|b| *b != 0.0);
        Self {
            n: samples.len(),
            mean,
            hmean: (m.mean == Mean::Harmonic).then(|| describe::hmean(samples)).flatten(),
            min: describe::min(samples),
            max: describe::max(samples),
            stddev: describe::stddev(samples),
            ratio: mean.zip(base).map(|(m, b)| m / b),
        }
    }
}

/// The largest mean of a metric over the kernels, at least 0.
pub fn largest_mean(m: &Metric) -> f64 {
    m.samples.iter().filter_map(|s| describe::amean(s)).fold(0.0, f64::max)
}

/// The statistics of a metric on every kernel, in the order of the comparison.
pub(crate) fn on_kernels(c: &Comparison, m: &Metric) -> Vec<(String, Figures)> {
    let one = |k: usize| Figures::new(m, k, c.baseline);
    c.kernels.iter().enumerate().map(|(k, kernel)| (kernel.name.clone(), one(k))).collect()
}

/// A line of the long form: one metric on one kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct CellRow {
    /// Name of the workload, without its machine.
    pub workload: String,
    /// Name of the machine; empty if it is not known.
    pub machine: String,
    /// Name of the metric.
    pub metric: String,
    /// Unit of the metric.
    pub unit: String,
    /// Direction: `higher`, `lower` or `neutral`.
    pub better: &'static str,
    /// Name of the kernel.
    pub kernel: String,
    /// Statistics of the metric on the kernel.
    pub figures: Figures,
    /// Number of runs of the kernel by how they ended.
    pub runs: Runs,
}

/// The long form: every metric of every workload on every kernel, in order.
pub fn cells(c: &Comparison) -> Vec<CellRow> {
    let mut out = Vec::new();
    for w in &c.workloads {
        for m in each_metric(w) {
            for (k, (kernel, figures)) in on_kernels(c, &m).into_iter().enumerate() {
                out.push(CellRow {
                    workload: w.program().to_string(),
                    machine: c.machine_of(w).to_string(),
                    metric: m.name.clone(),
                    unit: m.unit.clone(),
                    better: m.better.name(),
                    kernel,
                    figures,
                    runs: w.runs_of(k),
                });
            }
        }
    }
    out
}
