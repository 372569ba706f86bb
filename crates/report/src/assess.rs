//! How sure a difference is: statistical tests that stand beside the star of mmtests, with their probabilities.

use numalab_stats::holm::holm;
use numalab_stats::mann_whitney::mann_whitney;
use numalab_stats::power::detectable_difference;
use numalab_stats::resample::{bootstrap_ratio, Interval};
use numalab_stats::welch::welch;
use numalab_stats::{describe, percent};

use crate::data::{Comparison, Metric, Workload};

/// Significance level of a clear difference, after Holm's correction over all rows of the report.
pub const LEVEL: f64 = 0.05;
/// Power: the share of differences of the detectable size that a test finds.
pub const POWER: f64 = 0.8;
/// Number of resamples of a bootstrap interval.
const ROUNDS: usize = 2000;
/// Seed of the bootstrap. It is fixed, so that a report can be repeated.
const SEED: u64 = 1;

/// The tests of one metric of a workload, on one kernel against the baseline.
#[derive(Clone, Debug, PartialEq)]
pub struct Assessment {
    /// Name of the workload.
    pub workload: String,
    /// Name of the metric.
    pub metric: String,
    /// Name of the kernel.
    pub kernel: String,
    /// Number of completed runs of the baseline and of the kernel. If either is 0, nothing below is known.
    pub runs: (usize, usize),
    /// Change of the arithmetic mean, which is the one that is tested, percent; plus means that the number grew. `None`
    /// from a baseline of 0 and without runs.
    pub change_percent: Option<f64>,
    /// Probability by Welch's test. `None` with fewer than two runs a side, and where all runs gave the same number.
    pub p_welch: Option<f64>,
    /// `p_welch` after Holm's correction over all rows of the report.
    pub p_holm: Option<f64>,
    /// Probability by the Mann-Whitney test. `None` without runs, and where all runs gave the same number.
    pub p_mann_whitney: Option<f64>,
    /// 95 % bootstrap interval of the ratio of means. `None` with fewer than two runs a side.
    pub ratio_interval: Option<Interval>,
    /// Smallest change that a test with these runs finds with probability [`POWER`], percent of the baseline mean.
    pub detectable_percent: Option<f64>,
    /// Whether a run of the baseline or of the kernel was too short for balancing to act. No verdict follows from such
    /// figures.
    pub too_short: bool,
    /// How the work of the kernel differed from that of the baseline, if it did. No verdict follows from such figures.
    pub different_work: Option<String>,
    /// Whether every run of both sides, at least two a side, gave the same number. Then there is nothing to test, and
    /// nothing differs.
    pub identical: bool,
}

impl Assessment {
    /// Whether both sides have a completed run, so that there is something to compare.
    pub fn has_runs(&self) -> bool {
        self.runs.0 > 0 && self.runs.1 > 0
    }
    /// Whether a verdict may follow from the tests: the runs were long enough and did the same work.
    pub fn can_judge(&self) -> bool {
        !self.too_short && self.different_work.is_none()
    }
}

/// Tests every metric of every workload on every kernel but the baseline, in print order.
pub fn assess(c: &Comparison) -> Vec<Assessment> {
    let mut out = Vec::new();
    for w in &c.workloads {
        for m in &w.metrics {
            for k in c.others() {
                out.push(one(c, w, m, k));
            }
        }
    }
    let p: Vec<f64> = out.iter().map(|a: &Assessment| a.p_welch.unwrap_or(f64::NAN)).collect();
    for (a, adjusted) in out.iter_mut().zip(holm(&p)) {
        a.p_holm = a.p_welch.map(|_| adjusted);
    }
    out
}

fn one(c: &Comparison, w: &Workload, m: &Metric, kernel: usize) -> Assessment {
    let (base, col) = (m.of(c.baseline), m.of(kernel));
    let means = describe::amean(base).zip(describe::amean(col));
    let enough = base.len() > 1 && col.len() > 1;
    let equal = describe::all_equal(base, col);
    let detectable = detectable_difference(base, col, LEVEL, POWER).zip(means).filter(|(_, (base, _))| *base != 0.0);
    Assessment {
        workload: w.name.clone(),
        metric: m.name.clone(),
        kernel: c.kernels[kernel].name.clone(),
        runs: (base.len(), col.len()),
        change_percent: means.and_then(|(base, col)| percent::change(col, base)),
        p_welch: welch(base, col).map(|t| t.p),
        p_holm: None,
        p_mann_whitney: mann_whitney(base, col).filter(|_| !equal).map(|t| t.p),
        ratio_interval: enough.then(|| bootstrap_ratio(base, col, 1.0 - LEVEL, ROUNDS, SEED)).flatten(),
        detectable_percent: detectable.map(|(d, (base, _))| 100.0 * d / base.abs()),
        too_short: w.too_short(c.baseline) || w.too_short(kernel),
        different_work: w.different_work(kernel).map(str::to_string),
        identical: enough && equal,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Kernel;

    #[test]
    fn rows_are_corrected_together() {
        let m = |name: &str, col: Vec<f64>| Metric::new(name, "s", false, vec![vec![10.0, 11.0, 12.0], col, vec![5.0]]);
        let w = Workload {
            name: "w".into(),
            metrics: vec![m("a", vec![20.0, 21.0, 22.0]), m("b", vec![10.5, 11.5, 12.5])],
            ..Workload::default()
        };
        let kernels = ["x", "y", "z"].map(Kernel::named).to_vec();
        let c = Comparison { kernels, workloads: vec![w], ..Comparison::default() };
        let got = assess(&c);
        assert_eq!(got.len(), 4);
        // Two rows have a probability; the smaller one is doubled.
        assert_eq!(got[0].p_holm, got[0].p_welch.map(|p| 2.0 * p));
        assert_eq!(got[2].p_holm, got[2].p_welch);
        assert_eq!((got[1].p_welch, got[1].ratio_interval, got[1].detectable_percent), (None, None, None));
        let ci = got[0].ratio_interval.unwrap();
        assert!(ci.low < 21.0 / 11.0 && 21.0 / 11.0 < ci.high);
        assert_eq!(got[1].change_percent.map(f64::round), Some(-55.0));
    }

    #[test]
    fn rows_with_nothing_to_test_do_not_count_in_the_correction() {
        let m = |name: &str, base: f64, col: f64| Metric::new(name, "s", false, vec![vec![base; 3], vec![col; 3]]);
        let tested = Metric::new("elapsed", "s", false, vec![vec![10.0, 11.0, 12.0], vec![12.0, 13.5, 14.0]]);
        let of = |metrics| {
            let w = Workload { name: "w".into(), metrics, ..Workload::default() };
            let kernels = ["x", "y"].map(Kernel::named).to_vec();
            assess(&Comparison { kernels, workloads: vec![w], ..Comparison::default() })
        };
        let got = of(vec![tested, m("blocked", 0.0, 0.0), m("system", 0.1, 0.1), m("user", 1.0, 2.0)]);
        assert_eq!(got.iter().map(|a| a.identical).collect::<Vec<_>>(), [false, true, true, false]);
        for a in &got[1..3] {
            assert_eq!((a.p_welch, a.p_holm, a.p_mann_whitney, a.change_percent), (None, None, None, Some(0.0)));
        }
        // Two rows were tested, and the other row has p = 0.
        assert!(got[0].p_welch.is_some_and(|p| p > 0.0) && got[0].p_holm == got[0].p_welch, "{:?}", got[0]);
        assert_eq!((got[3].p_welch, got[3].p_holm), (Some(0.0), Some(0.0)), "constant and different: tested");
        assert!(!of(vec![Metric::new("one", "s", false, vec![vec![5.0], vec![5.0]])])[0].identical, "single runs");
    }

    #[test]
    fn without_runs_every_row_is_there_and_says_nothing() {
        let m = Metric::new("a", "s", false, vec![vec![], vec![20.0, 21.0], vec![]]);
        let w = Workload { name: "w".into(), metrics: vec![m], ..Workload::default() };
        let kernels = ["x", "y", "z"].map(Kernel::named).to_vec();
        let got = assess(&Comparison { kernels, workloads: vec![w], ..Comparison::default() });
        assert_eq!(got.iter().map(|a| a.runs).collect::<Vec<_>>(), [(0, 2), (0, 0)]);
        for a in got {
            assert!(!a.has_runs());
            assert_eq!((a.change_percent, a.p_welch, a.p_holm, a.p_mann_whitney), (None, None, None, None));
            assert_eq!((a.ratio_interval, a.detectable_percent), (None, None));
        }
    }
}
