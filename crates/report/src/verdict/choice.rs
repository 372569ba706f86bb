//! What a decision consists of.

use super::agreement::Agreement;
use super::call::Call;
use super::costs::Cost;
use super::finding::Finding;
use crate::assess::Assessment;
use numalab_stats::resample::Interval;

/// What to take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice {
    /// These kernels, as indices in print order: nothing is clearly better than them. Without the baseline, each of
    /// them beats it. Several have no clear difference between them.
    Take(Vec<usize>),
    /// Any: no kernel clearly differs from the baseline.
    Even,
    /// It depends on the measurement: some got better and some worse.
    Mixed,
    /// Nothing can be told.
    CannotTell,
}

/// The answer to the question of a comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    /// The question: the title of the experiment if it is one, else one made of the names.
    pub question: String,
    /// The answer in one sentence.
    pub answer: String,
    /// How sure the answer is, in a sentence or two.
    pub how_sure: String,
    /// What it cost: one sentence for each kernel but the baseline.
    pub costs: Vec<String>,
    /// The decision on every workload, in print order.
    pub workloads: Vec<WorkloadDecision>,
    /// What the sizes and times of a prediction say together; `None` of other comparisons. Answer and certainty are
    /// then its own.
    pub agreement: Option<Agreement>,
}

/// The decision on a workload.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkloadDecision {
    /// Index of the workload.
    pub workload: usize,
    /// What to take.
    pub choice: Choice,
    /// Every kernel but the baseline, in print order.
    pub standings: Vec<Standing>,
    /// How much, in one sentence: "6.12 wins: elapsed 14.39 → 10.40 s, 27.7 % lower".
    pub text: String,
}

/// How a kernel stands against the baseline on a workload.
#[derive(Clone, Debug, PartialEq)]
pub struct Standing {
    /// Index of the kernel.
    pub kernel: usize,
    /// The call on all measurements together; `None` if some got better and some worse.
    pub call: Option<Call>,
    /// The measurement that changed most of those that decide the call.
    pub finding: Finding,
    /// Number of measurements.
    pub measurements: usize,
    /// Mean over the measurements of the logarithm of how many times better they got; the order among winners.
    pub gain: f64,
    /// How sure the finding is.
    pub sure: Sure,
    /// What the kernel cost against the baseline.
    pub costs: Vec<Cost>,
}

/// How sure a finding is.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sure {
    /// Completed runs of the baseline and of the kernel.
    pub runs: (usize, usize),
    /// Probability that chance alone made the difference: Welch's test, corrected for all rows of the report.
    pub p: Option<f64>,
    /// 95 % interval of the ratio of means.
    pub ratio_interval: Option<Interval>,
    /// The smallest change that such runs show, percent.
    pub detectable_percent: Option<f64>,
    /// Whether all runs of both sides gave the same number.
    pub identical: bool,
}

impl Sure {
    /// How sure an assessment is.
    pub(super) fn new(a: &Assessment) -> Self {
        Self {
            runs: a.runs,
            p: a.p_holm,
            ratio_interval: a.ratio_interval,
            detectable_percent: a.detectable_percent,
            identical: a.identical,
        }
    }
}
