//! What can be said about every measurement on every kernel.

use super::call::{call, Call};
use super::sentence::sentence;
use crate::assess::{self, Assessment};
use crate::data::{Comparison, Metric, Workload};
use crate::trust::{self, ModelError};
use numalab_model::record::{TIMES, WAKE_UPS};

/// A measurement on one kernel against the baseline.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// Index of the workload.
    pub workload: usize,
    /// Index of the kernel.
    pub kernel: usize,
    /// Name of the metric.
    pub metric: String,
    /// What can be said about it.
    pub call: Call,
    /// Change of the mean that tables show, percent; plus means that the number grew. `None` without figures and from a
    /// baseline of 0.
    pub change_percent: Option<f64>,
    /// How far predictions of such figures are off; `None` unless both sides are simulated.
    pub model_error: Option<&'static ModelError>,
    /// The same in words, one sentence or two.
    pub text: String,
}

/// The metrics that decide about a workload: its own scores, or its elapsed time if it has none. Latencies of wake-ups
/// are measured in every run, as times are, and decide nothing.
pub fn measurements(w: &Workload) -> Vec<&Metric> {
    let of_every_run = |name: &str| TIMES.contains(&name) || WAKE_UPS.iter().any(|(own, _)| *own == name);
    let scores: Vec<&Metric> = w.metrics.iter().filter(|m| !of_every_run(&m.name)).collect();
    if scores.is_empty() {
        w.metrics.iter().filter(|m| m.name == "elapsed").collect()
    } else {
        scores
    }
}

/// All findings: workload by workload, kernel by kernel, metric by metric.
pub fn findings(c: &Comparison) -> Vec<Finding> {
    findings_of(c, &assess::assess(c))
}

/// All findings, from the tests of the comparison.
pub(super) fn findings_of(c: &Comparison, assessments: &[Assessment]) -> Vec<Finding> {
    let rows = assessments.iter().filter(|a| a.p_holm.is_some()).count();
    let mut out = Vec::new();
    for (index, w) in c.workloads.iter().enumerate() {
        for kernel in c.others() {
            for m in measurements(w) {
                let of =
                    |a: &&Assessment| a.workload == w.name && a.metric == m.name && a.kernel == c.kernels[kernel].name;
                out.push(finding(c, (index, kernel), m, assessments.iter().find(of), rows));
            }
        }
    }
    out
}

fn finding(
    c: &Comparison,
    (workload, kernel): (usize, usize),
    m: &Metric,
    a: Option<&Assessment>,
    rows: usize,
) -> Finding {
    let (base, name) = (c.baseline_name(), c.kernels[kernel].name.as_str());
    let change_percent = m.change_percent(c.baseline, kernel);
    let model_error = trust::of_comparison(c, m, kernel);
    let (call, text) = match a.filter(|a| a.has_runs()) {
        None => (Call::CannotTell, missing(c, (workload, kernel), m)),
        Some(a) => {
            let said = sentence(m, a, (base, name), (c.baseline, kernel), (rows, model_error));
            (call(m, a, change_percent, model_error), said)
        }
    };
    Finding { workload, kernel, metric: m.name.clone(), call, change_percent, model_error, text }
}

/// The sentence if a side has no figure: which kernels lack it, and whether their runs did not complete.
fn missing(c: &Comparison, (workload, kernel): (usize, usize), m: &Metric) -> String {
    let empty = [c.baseline, kernel].into_iter().filter(|k| m.of(*k).is_empty());
    let runs = |k: &usize| c.workloads[workload].runs_of(*k);
    let lost = |k: &usize| runs(k).total > 0 && runs(k).completed() == 0;
    let (ended, other): (Vec<usize>, Vec<usize>) = empty.partition(lost);
    let name = |k: &usize| c.kernels.get(*k).map_or("", |k| k.name.as_str());
    let names = |list: &[usize]| list.iter().map(name).collect::<Vec<_>>().join(" or ");
    if ended.is_empty() {
        format!("Cannot tell: there is no {} of {}.", m.name, names(&other))
    } else {
        format!("Cannot tell: no run of {} completed.", names(&ended))
    }
}
