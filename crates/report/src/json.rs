//! The JSON form of a comparison, for programs.
//!
//! ```json
//! {"baseline": "6.1", "kernels": ["6.1", "6.7"], "workloads": [{"name": "numa01",
//!   "program": "numa01", "machine": "2x1x8x2", "notes": [], "warnings": [],
//!   "runs": {"6.1": {"completed": 5, "timeout": 0, "failed": 0}}, "metrics": [
//!   {"name": "elapsed", "unit": "s", "better": "lower", "kernels": {
//!     "6.1": {"n": 5, "mean": 3.1, "hmean": null, "min": 3.0, "max": 3.2, "stddev": 0.1, "ratio": 1.0}}}]}]}
//! ```
//!
//! * `runs` counts runs by how they ended; all figures are of completed runs. Without completed runs `n` is 0 and the
//!   figures are null.
//! * `metrics` are elapsed, user, system and blocked time, every score, every derived column, every counter and every
//!   skip reason, per run.
//! * `mean` is arithmetic. `hmean` is the harmonic mean of a rate, which tables and sentences show; it is null for
//!   other metrics. `stddev` has divisor n - 1 and is null for a single run. `ratio` is mean / baseline mean, and null
//!   if the baseline is 0 or has no runs.
//! * `tests` holds the tests of every time and score on every kernel but the baseline: probabilities, the interval of
//!   the ratio, the detectable change (all of arithmetic means), and whether runs were too short or did different work.
//! * `decision` answers the question: what to take on each workload, by how much, how sure, and at what cost.
//! * `warnings` are the sentences that the answer prints as notes: assumptions, runs that are missing, mappings that
//!   were never scanned, seeds that fall into two groups.
//! * `notes` are the sentences about the workload that the command prints on standard error.
//!
//! The order of keys is that of the comparison.

use serde::ser::{SerializeMap, Serializer};
use serde::Serialize;

use crate::assess::{assess, Assessment};
use crate::data::{Comparison, Runs, Workload};
use crate::figures::{each_metric, on_kernels, Figures};
use crate::verdict;

/// The error where a report cannot be written as JSON.
#[derive(Debug, thiserror::Error)]
#[error("cannot write the report as JSON: {0}")]
pub struct JsonError(#[from] serde_json::Error);

/// Serialises a value as JSON with two-blank indentation and a final line feed.
pub(crate) fn pretty(value: &impl Serialize) -> Result<String, JsonError> {
    let mut text = serde_json::to_string_pretty(value)?;
    text.push('\n');
    Ok(text)
}

/// The JSON form of a comparison.
///
/// # Errors
/// [`JsonError`]. It cannot happen with these types, but the serialiser's interface has it.
pub fn report(c: &Comparison) -> Result<String, JsonError> {
    pretty(&JsonComparison::new(c))
}

/// Top level of the form.
#[derive(Clone, Debug, Serialize)]
pub struct JsonComparison {
    baseline: String,
    kernels: Vec<String>,
    workloads: Vec<JsonWorkload>,
    tests: Vec<JsonTest>,
    /// The answer ([`verdict::as_json`]).
    decision: serde_json::Value,
}

/// One row of tests ([`crate::assess`]); a figure that is not known is null.
#[derive(Clone, Debug, Serialize)]
struct JsonTest {
    workload: String,
    metric: String,
    kernel: String,
    change_percent: Option<f64>,
    p_welch: Option<f64>,
    p_holm: Option<f64>,
    p_mann_whitney: Option<f64>,
    ratio_low: Option<f64>,
    ratio_high: Option<f64>,
    detectable_percent: Option<f64>,
    too_short: bool,
    different_work: bool,
}

impl JsonTest {
    fn new(a: Assessment) -> Self {
        let finite = |x: Option<f64>| x.filter(|x| x.is_finite());
        Self {
            change_percent: finite(a.change_percent),
            p_welch: finite(a.p_welch),
            p_holm: finite(a.p_holm),
            p_mann_whitney: finite(a.p_mann_whitney),
            ratio_low: finite(a.ratio_interval.map(|i| i.low)),
            ratio_high: finite(a.ratio_interval.map(|i| i.high)),
            detectable_percent: finite(a.detectable_percent),
            too_short: a.too_short,
            different_work: a.different_work.is_some(),
            workload: a.workload,
            metric: a.metric,
            kernel: a.kernel,
        }
    }
}

#[derive(Clone, Debug, Serialize)]
struct JsonWorkload {
    name: String,
    /// Name without the machine.
    program: String,
    machine: Option<String>,
    notes: Vec<String>,
    warnings: Vec<String>,
    #[serde(serialize_with = "in_order")]
    runs: Vec<(String, JsonRuns)>,
    metrics: Vec<JsonMetric>,
}

/// Number of runs of a kernel by how they ended.
#[derive(Clone, Copy, Debug, Serialize)]
struct JsonRuns {
    completed: usize,
    timeout: usize,
    failed: usize,
}

impl From<Runs> for JsonRuns {
    fn from(r: Runs) -> Self {
        Self { completed: r.completed(), timeout: r.timeout, failed: r.failed }
    }
}

#[derive(Clone, Debug, Serialize)]
struct JsonMetric {
    name: String,
    unit: String,
    better: &'static str,
    #[serde(serialize_with = "in_order")]
    kernels: Vec<(String, Figures)>,
}

/// Writes pairs as a map that keeps the order of the kernels.
fn in_order<S: Serializer, T: Serialize>(list: &[(String, T)], serializer: S) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(Some(list.len()))?;
    for (name, value) in list {
        map.serialize_entry(name, value)?;
    }
    map.end()
}

impl JsonComparison {
    /// Builds the form from a comparison.
    pub fn new(c: &Comparison) -> Self {
        Self {
            baseline: c.baseline_name().to_string(),
            kernels: c.kernels.iter().map(|k| k.name.clone()).collect(),
            workloads: c.workloads.iter().map(|w| JsonWorkload::new(c, w)).collect(),
            tests: assess(c).into_iter().map(JsonTest::new).collect(),
            decision: verdict::as_json(c),
        }
    }
}

impl JsonWorkload {
    fn new(c: &Comparison, w: &Workload) -> Self {
        Self {
            name: w.name.clone(),
            program: w.program().to_string(),
            machine: Some(c.machine_of(w).to_string()).filter(|m| !m.is_empty()),
            notes: w.notes.clone(),
            warnings: w.warnings.clone(),
            runs: runs(c, w),
            metrics: metrics(c, w),
        }
    }
}

fn runs(c: &Comparison, w: &Workload) -> Vec<(String, JsonRuns)> {
    c.kernels.iter().enumerate().map(|(k, kernel)| (kernel.name.clone(), w.runs_of(k).into())).collect()
}

fn metrics(c: &Comparison, w: &Workload) -> Vec<JsonMetric> {
    each_metric(w)
        .map(|m| JsonMetric {
            name: m.name.clone(),
            unit: m.unit.clone(),
            better: m.better.name(),
            kernels: on_kernels(c, &m),
        })
        .collect()
}
