//! `--fail-if 'elapsed > +3%'`: a bound on a comparison, for scripts and continuous integration.
//!
//! Form: `METRIC OP BOUND`.
//! * METRIC is any metric, derived column or counter. `WORKLOAD/METRIC` means that of one workload, whose name may have
//!   blanks (`numa01 on naples-2s/elapsed`).
//! * OP is `>` or `<`.
//! * BOUND has a unit: a change (`+3%`, `-5%`), a factor of the baseline (`1.03x`), or a figure in the metric's own
//!   unit (`3 s`, `4096 pages`; times and sizes in any unit of theirs). A number alone may mean each of them and is
//!   refused. A plus means that the number grew, whether or not that is better.
//!
//! Tested is the mean that tables show (harmonic for rates): changes and factors of every kernel but the baseline,
//! figures of every kernel.

mod bound;

use numalab_model::spec::SpecError;

use crate::data::{Comparison, Metric, Workload};
use crate::figures::{each_metric, every_metric};
use crate::format::readable;
use bound::{bound, error, Bound, Limit};

/// A parsed bound.
#[derive(Clone, Debug, PartialEq)]
pub struct FailIf {
    text: String,
    workload: Option<String>,
    metric: String,
    metric_column: usize,
    above: bool,
    /// What a mean must not pass.
    bound: Bound,
    /// Column of the bound in the text.
    bound_column: usize,
}

/// The result of testing a bound.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TestResult {
    /// Kernels whose mean is beyond the bound, in print order.
    pub failures: Vec<Failure>,
    /// Workloads and kernels that could not be tested, and why: no run completed, or they did different work. They have
    /// not passed.
    pub untested: Vec<String>,
}

/// A kernel whose mean is beyond a bound.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error(
    "{workload} {metric} on {kernel}: {}{} fails `{bound}`",
    readable(*.value),
    against(*.baseline, *.change_percent)
)]
pub struct Failure {
    /// The bound as it was written.
    pub bound: String,
    /// Name of the workload.
    pub workload: String,
    /// Name of the metric.
    pub metric: String,
    /// Name of the kernel.
    pub kernel: String,
    /// Mean of the baseline; `None` of a bound that does not ask for it.
    pub baseline: Option<f64>,
    /// Mean of the kernel.
    pub value: f64,
    /// Change in percent; `None` from a baseline of 0.
    pub change_percent: Option<f64>,
}

impl FailIf {
    /// Parses a bound.
    ///
    /// # Errors
    /// A [`SpecError`] at the column of the mistake.
    pub fn parse(text: &str) -> Result<Self, SpecError> {
        let operator = text.find(['>', '<']);
        let Some(at) = operator else {
            return Err(error(
                text.chars().count() + 1,
                "no comparison",
                "METRIC > +3%, METRIC < 0.9x or METRIC > 3 s",
            ));
        };
        let left = &text[..at];
        let name = left.trim();
        let metric_column = left.chars().take_while(|c| c.is_whitespace()).count() + 1;
        if name.is_empty() {
            return Err(error(metric_column, "no metric before the comparison", "METRIC > +3%"));
        }
        // With several machines a workload is called `NAME on MACHINE`, so only the metric has no blanks.
        let (workload, metric) = match name.rsplit_once('/') {
            Some((w, m)) => (Some(w.to_string()), m.to_string()),
            None => (None, name.to_string()),
        };
        if let Some(bad) = metric.chars().position(char::is_whitespace) {
            let column = metric_column + name.chars().count() - metric.chars().count() + bad;
            return Err(error(column, "a blank inside the metric", "one name, or WORKLOAD/METRIC"));
        }
        let right = &text[at + 1..];
        let bound_column = left.chars().count() + 2 + right.chars().take_while(|c| c.is_whitespace()).count();
        let above = text[at..].starts_with('>');
        let bound = bound(right.trim(), if above { '>' } else { '<' }, bound_column)?;
        Ok(Self { text: text.trim().to_string(), workload, metric, metric_column, above, bound, bound_column })
    }

    /// Tests the bound on every workload that has the metric.
    ///
    /// # Errors
    /// A [`SpecError`] with the nearest name if no workload has the metric: a bound that tests nothing must not pass.
    pub fn check(&self, c: &Comparison) -> Result<TestResult, SpecError> {
        let mut out = TestResult::default();
        let mut tested = 0;
        for w in &c.workloads {
            if self.workload.as_ref().is_some_and(|name| *name != w.name) {
                continue;
            }
            for m in each_metric(w).filter(|m| m.name == self.metric) {
                let m = &m;
                let limit = self
                    .bound
                    .of(&m.name, &m.unit)
                    .map_err(|(what, expected)| error(self.bound_column, &what, &expected))?;
                if let Limit::Figure(limit) = limit {
                    tested += self.check_figures(c, w, m, limit, &mut out);
                    continue;
                }
                for k in c.others() {
                    let (Some(base), Some(value)) = (mean(m, c.baseline), mean(m, k)) else {
                        out.untested.extend(no_completed_run(c, w, k).map(|why| self.untested(c, w, k, &why)));
                        continue;
                    };
                    if let Some(what) = w.different_work(k) {
                        out.untested.push(self.untested(c, w, k, &format!("different work, as {what}")));
                        continue;
                    }
                    tested += 1;
                    // The bound is multiplied out, so that a baseline of 0 is no special case: anything above 0 is
                    // beyond any growth.
                    if self.beyond(value, limit.of(base)) {
                        out.failures.push(self.failure(c, &w.name, m, k, (Some(base), value)));
                    }
                }
            }
        }
        if tested == 0 && out.untested.is_empty() {
            return Err(self.nothing_tested(c));
        }
        Ok(out)
    }

    fn untested(&self, c: &Comparison, w: &Workload, kernel: usize, why: &str) -> String {
        let kernel = &c.kernels[kernel].name;
        format!("{} {} on {kernel}: `{}` is not tested: {why}", w.name, self.metric, self.text)
    }

    /// Tests a bound on the figures themselves, those of the baseline too. Returns how many there are.
    fn check_figures(&self, c: &Comparison, w: &Workload, m: &Metric, limit: f64, out: &mut TestResult) -> usize {
        let mut tested = 0;
        for k in 0..c.kernels.len() {
            let Some(value) = mean(m, k) else {
                let r = w.runs_of(k);
                if r.total > 0 && r.completed() == 0 {
                    let why = format!("no run of {} completed", c.kernels[k].name);
                    out.untested.push(self.untested(c, w, k, &why));
                }
                continue;
            };
            tested += 1;
            if self.beyond(value, limit) {
                out.failures.push(self.failure(c, &w.name, m, k, (None, value)));
            }
        }
        tested
    }

    fn beyond(&self, value: f64, limit: f64) -> bool {
        if self.above {
            value > limit
        } else {
            value < limit
        }
    }

    fn failure(&self, c: &Comparison, workload: &str, m: &Metric, kernel: usize, means: (Option<f64>, f64)) -> Failure {
        Failure {
            bound: self.text.clone(),
            workload: workload.to_string(),
            metric: m.name.clone(),
            kernel: c.kernels[kernel].name.clone(),
            baseline: means.0,
            value: means.1,
            change_percent: means.0.and_then(|base| numalab_stats::percent::change(means.1, base)),
        }
    }

    fn nothing_tested(&self, c: &Comparison) -> SpecError {
        let named = |w: &&Workload| self.workload.as_ref().is_none_or(|n| *n == w.name);
        if let (Some(name), None) = (&self.workload, c.workloads.iter().find(named)) {
            let e = error(self.metric_column, &format!("no workload `{name}`"), "a workload of this comparison");
            return e.near(name, c.workloads.iter().map(|w| w.name.as_str()));
        }
        let metrics: Vec<Metric> = c.workloads.iter().filter(named).flat_map(every_metric).collect();
        if metrics.iter().any(|m| m.name == self.metric) {
            let what = format!("`{}` has no runs to compare", self.metric);
            return error(self.metric_column, &what, "runs of the baseline and of another kernel");
        }
        let others = c.workloads.iter().filter(|w| !named(w) && every_metric(w).iter().any(|m| m.name == self.metric));
        let others: Vec<&str> = others.map(|w| w.name.as_str()).collect();
        let what = match &self.workload {
            Some(name) if !others.is_empty() => {
                let have = if others.len() == 1 { "has" } else { "have" };
                format!("{name} has no metric `{}`; {} {have}", self.metric, others.join(", "))
            }
            _ => format!("no metric `{}`", self.metric),
        };
        let e = error(self.metric_column, &what, "a metric, derived column or counter of this comparison");
        e.near(&self.metric, metrics.iter().map(|m| m.name.as_str()))
    }
}

/// Why a kernel cannot be compared with the baseline: no run of one of them completed. `None` if both have completed
/// runs.
fn no_completed_run(c: &Comparison, w: &Workload, kernel: usize) -> Option<String> {
    let ended = |k: &usize| w.runs_of(*k).total > 0 && w.runs_of(*k).completed() == 0;
    let k = [c.baseline, kernel].into_iter().find(ended)?;
    Some(format!("no run of {} completed", c.kernels.get(k)?.name))
}

/// The mean that tables show. For a rate that is 0 in some run it is 0, which its harmonic mean approaches, so that a
/// bound applies to it.
fn mean(m: &Metric, kernel: usize) -> Option<f64> {
    (!m.of(kernel).is_empty()).then(|| m.mean_of(kernel).unwrap_or(0.0))
}

/// " against 10.00 (+4.00%)", or "from 0" where there is no percentage; nothing without a baseline.
fn against(baseline: Option<f64>, percent: Option<f64>) -> String {
    let change = percent.map_or_else(|| "from 0".to_string(), |p| format!("{p:+.2}%"));
    baseline.map(|b| format!(" against {} ({change})", readable(b))).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Counter, Kernel, Runs};

    fn comparison() -> Comparison {
        let w = Workload {
            name: "numa01".into(),
            metrics: vec![Metric::new("elapsed", "s", false, vec![vec![10.0, 10.0], vec![10.2, 10.6], vec![]])],
            counters: vec![Counter { name: "pswpout".into(), samples: vec![vec![0.0], vec![5.0], vec![0.0]] }],
            ..Workload::default()
        };
        let kernels = ["a", "b", "c"].map(Kernel::named).to_vec();
        Comparison { kernels, workloads: vec![w], ..Comparison::default() }
    }

    fn failing(text: &str) -> Vec<String> {
        FailIf::parse(text).unwrap().check(&comparison()).unwrap().failures.iter().map(|f| f.kernel.clone()).collect()
    }

    #[test]
    fn percent_and_factor() {
        assert_eq!(failing("elapsed > +3%"), ["b"]);
        assert!(failing("elapsed > +5%").is_empty());
        assert_eq!(failing("elapsed>1.03x"), ["b"]);
        assert_eq!(failing("elapsed > 1.03x"), ["b"]);
        assert!(failing("elapsed < -1%").is_empty());
        assert_eq!(failing("elapsed < +5%"), ["b"]);
        assert_eq!(failing("numa01/elapsed > 3 %"), ["b"]);
        // From a baseline of 0 any growth is beyond any bound, and staying at 0 is not.
        assert_eq!(failing("pswpout > +1000%"), ["b"]);
    }

    #[test]
    fn a_metric_of_another_workload_is_said_to_be_its() {
        let mut c = comparison();
        let metrics = vec![Metric::new("accesses", "Maccesses/s", true, vec![vec![1.0]])];
        c.workloads.push(Workload { name: "random-shared".into(), metrics, ..Workload::default() });
        let told = |text: &str| FailIf::parse(text).unwrap().check(&c).unwrap_err().to_string();
        let of_other = told("numa01/accesses < -1%");
        assert!(of_other.contains("numa01 has no metric `accesses`; random-shared has; expected"), "{of_other}");
        assert!(told("acesses < -1%").contains("no metric `acesses`; expected"), "{}", told("acesses < -1%"));
    }

    #[test]
    fn a_rate_is_held_to_the_mean_of_the_tables() {
        let check = |text: &str, col: [f64; 3]| {
            let samples = vec![vec![500.0, 505.0, 495.0], col.to_vec()];
            let metrics = vec![Metric::new("accesses", "Maccesses/s", true, samples)];
            let w = Workload { name: "w".into(), metrics, ..Workload::default() };
            let kernels = ["a", "b"].map(Kernel::named).to_vec();
            let c = Comparison { kernels, workloads: vec![w], ..Comparison::default() };
            FailIf::parse(text).unwrap().check(&c).unwrap().failures.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        // The arithmetic mean is 8 % higher.
        let want = "w accesses on b: 439.5 against 500.0 (-12.09%) fails `accesses < -5%`";
        assert_eq!(check("accesses < -5%", [300.0, 420.0, 900.0]), [want]);
        assert_eq!(check("accesses < -50%", [0.0, 500.0, 500.0]).len(), 1, "a run without any is no pass");
        assert!(check("accesses < -5%", [500.0; 3]).is_empty());
    }

    #[test]
    fn a_number_without_a_unit_is_refused_with_the_spellings() {
        for text in ["elapsed > 3", "elapsed > +3", "elapsed < -0.5", "elapsed < 0.9"] {
            let e = FailIf::parse(text).unwrap_err();
            assert_eq!((e.column, e.what.contains("has no unit")), (11, true), "{text}: {e}");
        }
        let e = FailIf::parse("elapsed > 3").unwrap_err();
        let want = "`> 3x` (a factor of the baseline), `> +3%` (a change), or the figure with its unit, as `> 3 s`";
        assert_eq!((e.what.as_str(), e.expected.as_str()), ("`3` has no unit", want));
        let e = FailIf::parse("elapsed > +3x").unwrap_err();
        assert_eq!(e.what, "`+3x` is a factor with a sign");
    }

    #[test]
    fn a_figure_is_tested_in_its_unit_on_every_kernel() {
        assert_eq!(failing("elapsed > 3 s"), ["a", "b"], "the baseline, too");
        assert_eq!(failing("elapsed > 10.1s"), ["b"]);
        assert_eq!(failing("elapsed > 10100 ms"), ["b"]);
        assert_eq!(failing("elapsed < 1 min"), ["a", "b"]);
        assert!(failing("elapsed > 1h").is_empty());
        assert_eq!(failing("pswpout > 4 pages"), ["b"]);
        let f = FailIf::parse("elapsed > 10.1 s").unwrap().check(&comparison()).unwrap();
        assert_eq!(f.failures[0].to_string(), "numa01 elapsed on b: 10.40 fails `elapsed > 10.1 s`");
        let e = FailIf::parse("elapsed > 3 pages").unwrap().check(&comparison()).unwrap_err();
        assert_eq!((e.what.as_str(), e.column), ("`elapsed` is in s, not in pages", 11));
        // Of a share, `3%` may be a change or the share.
        let mut c = comparison();
        c.workloads[0].metrics[0].unit = "%".into();
        let e = FailIf::parse("elapsed > 3%").unwrap().check(&c).unwrap_err();
        assert!(e.expected.contains("`> +3%` (a change)") && e.expected.contains("`> 3 percent`"), "{e}");
        let of_share = |text: &str| FailIf::parse(text).unwrap().check(&c).unwrap().failures.len();
        assert_eq!((of_share("elapsed > +3%"), of_share("elapsed > 3 percent")), (1, 2));
        // A kernel without a completed run has not passed.
        let ended = Runs { total: 2, timeout: 2, failed: 0 };
        let mut c = comparison();
        c.workloads[0].runs = vec![Runs { total: 2, ..Runs::default() }, Runs { total: 2, ..Runs::default() }, ended];
        assert_eq!(FailIf::parse("elapsed > 3 s").unwrap().check(&c).unwrap().untested.len(), 1);
    }

    #[test]
    fn a_failure_reads_well() {
        let f = FailIf::parse("elapsed > +3%").unwrap().check(&comparison()).unwrap();
        let want = "numa01 elapsed on b: 10.40 against 10.00 (+4.00%) fails `elapsed > +3%`";
        assert_eq!(f.failures[0].to_string(), want);
    }

    #[test]
    fn kernels_without_a_completed_run_are_named_as_not_tested() {
        let mut c = comparison();
        let ended = Runs { total: 2, timeout: 2, failed: 0 };
        c.workloads[0].runs = vec![Runs { total: 2, ..Runs::default() }, Runs { total: 2, ..Runs::default() }, ended];
        let bound = FailIf::parse("elapsed > +3%").unwrap();
        let got = bound.check(&c).unwrap();
        assert_eq!(got.failures.len(), 1);
        assert_eq!(got.untested, ["numa01 elapsed on c: `elapsed > +3%` is not tested: no run of c completed"]);
        c.workloads[0].metrics[0].samples = vec![vec![]; 3];
        c.workloads[0].runs = vec![ended; 3];
        let got = bound.check(&c).unwrap();
        assert_eq!((got.failures.len(), got.untested.len()), (0, 2), "{:?}", got.untested);
    }

    #[test]
    fn a_kernel_that_did_different_work_passes_no_bound() {
        let mut c = comparison();
        c.workloads[0].different_work = vec![None, Some("loops is 9, not 3".into()), None];
        for bound in ["elapsed > +3%", "elapsed > +500%"] {
            let got = FailIf::parse(bound).unwrap().check(&c).unwrap();
            let want = format!("numa01 elapsed on b: `{bound}` is not tested: different work, as loops is 9, not 3");
            assert_eq!((got.failures.len(), got.untested), (0, vec![want]));
        }
    }

    #[test]
    fn a_workload_of_several_machines_has_blanks() {
        let mut c = comparison();
        c.workloads.push(Workload { name: "numa01 on naples-2s".into(), ..c.workloads[0].clone() });
        let got = FailIf::parse("numa01 on naples-2s/elapsed > +3%").unwrap().check(&c).unwrap();
        assert_eq!(got.failures.iter().map(|f| f.workload.as_str()).collect::<Vec<_>>(), ["numa01 on naples-2s"]);
        let e = FailIf::parse("numa01 on naples-3s/elapsed > +3%").unwrap().check(&c).unwrap_err();
        assert_eq!(e.nearest.as_deref(), Some("numa01 on naples-2s"));
    }

    #[test]
    fn mistakes_have_columns() {
        let column = |text: &str| FailIf::parse(text).unwrap_err().column;
        assert_eq!(column("elapsed"), 8);
        assert_eq!(column("  > 3%"), 3);
        assert_eq!(column("elapsed >"), 10);
        assert_eq!(column("elapsed > three"), 11);
        assert_eq!(column("elapsed > inf"), 11);
        assert_eq!(column("elapsed > 1e3"), 11);
        assert_eq!(column("elapsed >= 3%"), 10);
        assert_eq!(column("elapsed time > 3%"), 8);
        assert_eq!(column("x on y/elapsed time > 3%"), 15);
        assert_eq!(column("elapsed < -101%"), 11);
        assert_eq!(column("é > x"), 5);
    }

    #[test]
    fn a_bound_that_tests_nothing_is_an_error() {
        let e = FailIf::parse("elapsd > 3%").unwrap().check(&comparison()).unwrap_err();
        assert_eq!((e.nearest.as_deref(), e.column), (Some("elapsed"), 1));
        let e = FailIf::parse("numa1/elapsed > 3%").unwrap().check(&comparison()).unwrap_err();
        assert_eq!(e.nearest.as_deref(), Some("numa01"));
        let alone = Comparison { kernels: vec![Kernel::named("a")], ..comparison() };
        assert!(FailIf::parse("elapsed > 3%").unwrap().check(&alone).unwrap_err().what.contains("no runs"));
    }

    #[test]
    fn any_text_is_parsed_or_refused_in_place() {
        let alphabet: Vec<char> = "ab/ ><=+-%x1.5é".chars().collect();
        let mut rng = numalab_base::rng::SplitMix64::new(2);
        let mut parsed = 0;
        for _ in 0..20_000 {
            let length = rng.below(12);
            let text: String = (0..length).map(|_| alphabet[rng.below(alphabet.len() as u64) as usize]).collect();
            match FailIf::parse(&text) {
                Ok(f) => {
                    parsed += 1;
                    let _ = f.check(&comparison());
                }
                Err(e) => assert!((1..=text.chars().count() + 1).contains(&e.column), "{text}: {e}"),
            }
        }
        assert!(parsed > 100, "{parsed}");
    }
}
