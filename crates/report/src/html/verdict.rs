//! Which kernel wins, in words.
//!
//! Problem: a reader wants an answer before a table, and an honest one: "cannot tell" is an answer, a difference
//! without a spread is not. Approach: every measurement (a score of a workload, or its elapsed time if it has none) on
//! every kernel gets one [`Call`] from Welch's test after Holm's correction over all rows of the report
//! ([`crate::assess`]); sentences are made of that and of nothing else. Units: those of the metrics, percent.
//! Invariant: a call of better or worse has at least two runs a side, none of them too short for balancing to act, all of the same work.

use crate::assess::{self, Assessment, LEVEL, POWER};
use crate::data::{Comparison, Metric, Runs, Workload};
use crate::format::{readable, shows, significant};
use crate::order::unique;
use numalab_model::record::TIMES;
use numalab_stats::{Better, Mean};

/// Without a clear difference, a comparison that could have missed a change of this size cannot tell, percent.
const BLIND_PERCENT: f64 = 5.0;
/// Below this a detectable change is not named, percent.
const NOTHING_PERCENT: f64 = 0.01;
/// Most clear differences named in the sentence of a kernel.
const MAX_NAMED: usize = 3;
/// Most kernels that the question names.
const MAX_ASKED: usize = 6;
/// A clear difference below this is called small, percent.
const SMALL_PERCENT: f64 = 1.0;

/// What can be said about a measurement on a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// Clearly better than the baseline.
    Better,
    /// Clearly worse than the baseline.
    Worse,
    /// No clear difference, and one of more than a few percent would have been seen.
    Even,
    /// Too few or too short runs, too much spread, or different work.
    CannotTell,
}

impl Call {
    /// As a badge shows it: a sign that is not a colour, and words.
    pub fn badge(self) -> (&'static str, &'static str) {
        match self {
            Call::Better => ("▲", "better"),
            Call::Worse => ("▼", "worse"),
            Call::Even => ("=", "no clear difference"),
            Call::CannotTell => ("?", "cannot tell"),
        }
    }
    /// Class of its style.
    pub fn class(self) -> &'static str {
        match self {
            Call::Better => "better",
            Call::Worse => "worse",
            Call::Even => "even",
            Call::CannotTell => "unknown",
        }
    }
}

/// A measurement on a kernel against the baseline.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// Index of the workload.
    pub workload: usize,
    /// Index of the kernel.
    pub kernel: usize,
    /// Metric.
    pub metric: String,
    /// What can be said.
    pub call: Call,
    /// Change of the mean that tables show, percent, plus means the number grew; `None` without figures or from a baseline of 0.
    pub change_percent: Option<f64>,
    /// One sentence or two.
    pub text: String,
}

/// The metrics a workload is judged by: its scores; if it has none, its elapsed time.
pub fn judged(w: &Workload) -> Vec<&Metric> {
    let scores: Vec<&Metric> = w.metrics.iter().filter(|m| !TIMES.contains(&m.name.as_str())).collect();
    if scores.is_empty() {
        w.metrics.iter().filter(|m| m.name == "elapsed").collect()
    } else {
        scores
    }
}

/// All findings: workload by workload, kernel by kernel, metric by metric.
pub fn findings(c: &Comparison) -> Vec<Finding> {
    let assessments = assess::assess(c);
    let rows = assessments.iter().filter(|a| a.p_holm.is_some()).count();
    let mut out = Vec::new();
    for (index, w) in c.workloads.iter().enumerate() {
        for kernel in c.others() {
            for m in judged(w) {
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
    let (call, text) = match a.filter(|a| a.has_runs()) {
        None => (Call::CannotTell, missing(c, (workload, kernel), m)),
        Some(a) => (call(m, a, change_percent), sentence(m, a, (base, name), (c.baseline, kernel), rows)),
    };
    Finding { workload, kernel, metric: m.name.clone(), call, change_percent, text }
}

/// What there is nothing to compare of.
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

/// What can be said of a metric whose shown mean changed by `change` percent.
fn call(m: &Metric, a: &Assessment, change: Option<f64>) -> Call {
    if a.same && a.tells() {
        return Call::Even;
    }
    let Some(p) = a.p_holm.filter(|_| a.tells()) else { return Call::CannotTell };
    if p < LEVEL && change.or(a.change_percent).is_none_or(shows) {
        if parted(a, change) {
            return Call::CannotTell;
        }
        return if grew(a.change_percent) == (m.better == Better::Higher) { Call::Better } else { Call::Worse };
    }
    match a.detectable_percent {
        Some(d) if d <= BLIND_PERCENT || p < LEVEL => Call::Even,
        _ => Call::CannotTell,
    }
}

/// Whether the number grew; from a baseline of 0 there is no percentage, but it can only have grown.
fn grew(change: Option<f64>) -> bool {
    change.is_none_or(|change| change > 0.0)
}

/// Whether the arithmetic means, which are tested, moved the other way than the shown ones: then a test says nothing of these.
fn parted(a: &Assessment, change: Option<f64>) -> bool {
    change.is_some() && grew(change) != grew(a.change_percent)
}

fn sentence(m: &Metric, a: &Assessment, (base, name): (&str, &str), at: (usize, usize), rows: usize) -> String {
    let (n0, n1) = a.runs;
    let percent = m.change_percent(at.0, at.1).or(a.same.then_some(0.0));
    if let Some(what) = &a.unlike {
        // Of different work a change is no change.
        return format!("Cannot tell {name} from {base}: different work, as {what}.");
    }
    let change = change(m, percent, at);
    if a.too_short {
        return format!("Cannot tell {name} from {base}: the runs are too short for balancing to act. {change}.");
    }
    if a.same {
        return format!("No clear difference between {name} and {base}: {change} in every run.");
    }
    let Some(sure) = a.p_holm else {
        let few = format!("Cannot tell: {} and {} give no spread.", runs(n0, base), runs(n1, name));
        let same = percent.is_some_and(|x| !shows(x));
        let chance = if same { "" } else { ", which may be chance" };
        return format!("{few} {change}{chance}; repeat with at least 3 runs a side.");
    };
    let p = probability(sure, rows);
    let would = a.detectable_percent.map(|d| {
        let often = 100.0 * POWER;
        // Runs that are all but the same would be given a change that nobody can imagine.
        let d = if d < NOTHING_PERCENT { format!("less than {NOTHING_PERCENT}") } else { readable(d) };
        format!("with {n0} and {n1} runs a change of {d} % would be seen {often:.0} times in 100 by one test alone")
    });
    let would = would.unwrap_or_default();
    match call(m, a, percent) {
        call @ (Call::Better | Call::Worse) => {
            let verb = if call == Call::Better { "beats" } else { "loses to" };
            let small = percent.is_some_and(|x| x.abs() < SMALL_PERCENT);
            let how = if small { "clear but small" } else { "clear" };
            let interval = a.ratio_interval.filter(|i| i.low.is_finite() && i.high.is_finite());
            let what = if m.mean == Mean::Harmonic { "ratio of arithmetic means" } else { "ratio" };
            let interval = interval
                .map(|i| format!(", 95 % interval of the {what} {} to {}", readable(i.low), readable(i.high)))
                .unwrap_or_default();
            format!("{name} {verb} {base}: {change}. The difference is {how} ({p}, {n0} and {n1} runs{interval}).")
        }
        Call::Even if sure < LEVEL => {
            format!("No clear difference between {name} and {base}: {change}. So little counts for none, however steady the runs.")
        }
        Call::Even => format!("No clear difference between {name} and {base}: {change} ({p}); {would}."),
        Call::CannotTell if sure < LEVEL && parted(a, percent) => {
            format!("Cannot tell {name} from {base}: {change}. The arithmetic means, which are tested, moved the other way.")
        }
        Call::CannotTell => {
            format!("Cannot tell {name} from {base}: {change} ({p}). Too few runs or too much spread; {would}.")
        }
    }
}

fn runs(n: usize, kernel: &str) -> String {
    format!("{n} {} of {kernel}", if n == 1 { "run" } else { "runs" })
}

/// "elapsed 83.6 → 61.5 s, 26.4 % lower".
fn change(m: &Metric, percent: Option<f64>, (base, kernel): (usize, usize)) -> String {
    let mean = |k: usize| m.mean_of(k).map_or("–".into(), significant);
    let unit = if m.unit.is_empty() { String::new() } else { format!(" {}", m.unit) };
    let figures = format!("{} {} → {}{unit}", m.name, mean(base), mean(kernel));
    match percent {
        Some(0.0) => format!("{figures}, the same"),
        Some(x) if !shows(x) => format!("{figures}, less than 0.01 % apart"),
        Some(x) => format!("{figures}, {}", growth(x)),
        None if [base, kernel].iter().any(|k| m.mean_of(*k).is_none()) => {
            format!("{figures} (a run at 0 has no harmonic mean)")
        }
        None => figures,
    }
}

/// "26.4 % lower", "3.1 times as much".
pub fn growth(percent: f64) -> String {
    if percent >= 100.0 {
        format!("{} times as much", readable(1.0 + percent / 100.0))
    } else {
        format!("{} % {}", tenth(percent.abs()), if percent < 0.0 { "lower" } else { "higher" })
    }
}

/// One decimal, or what is readable below 0.1.
fn tenth(x: f64) -> String {
    if x >= 0.1 {
        format!("{x:.1}")
    } else {
        readable(x)
    }
}

fn probability(p: f64, rows: usize) -> String {
    let p = if p < 0.0001 { "p < 0.0001".into() } else { format!("p = {}", readable(p)) };
    if rows > 1 {
        format!("{p}, corrected for {rows} rows")
    } else {
        p
    }
}

/// The answer in one sentence per kernel, with the call that sums it up if there is one; a single finding speaks for itself.
pub fn headline(c: &Comparison, findings: &[Finding]) -> Vec<(Option<Call>, String)> {
    let base = c.baseline_name();
    if c.nothing_ran() {
        return vec![(None, "Nothing was run yet.".into())];
    }
    if c.kernels.len() < 2 {
        return vec![(None, format!("Only {base} was run: there is nothing to compare it with."))];
    }
    if findings.is_empty() {
        let runs: Vec<Runs> = c.workloads.iter().flat_map(|w| &w.runs).copied().collect();
        let none = !runs.is_empty() && runs.iter().all(|r| r.completed() == 0);
        let what =
            if none { "No run completed: there is nothing to compare." } else { "There are no figures to compare." };
        return vec![(None, what.into())];
    }
    let one = |kernel| match findings.iter().filter(|f| f.kernel == kernel).collect::<Vec<_>>().as_slice() {
        [only] => (Some(only.call), only.text.clone()),
        // Where all lack for one reason, as no run completed, the reason says more than their number.
        [first, more @ ..] if first.call == Call::CannotTell && more.iter().all(|f| f.text == first.text) => {
            (Some(first.call), first.text.clone())
        }
        _ => summary(c, findings, kernel),
    };
    c.others().map(one).collect()
}

/// Whether the headline leaves findings unsaid: some kernel has more than one.
pub fn more_than_headline(c: &Comparison, findings: &[Finding]) -> bool {
    c.others().any(|kernel| findings.iter().filter(|f| f.kernel == kernel).count() > 1)
}

/// "b wins over a: of 3 measurements clearly better in 2 (copy of stream 20.0 % higher, …), cannot tell in 1."
fn summary(c: &Comparison, findings: &[Finding], kernel: usize) -> (Option<Call>, String) {
    let of = |call: Call| -> Vec<&Finding> {
        let mut list: Vec<&Finding> = findings.iter().filter(|f| f.kernel == kernel && f.call == call).collect();
        // The largest change first; ties stay in print order.
        let size = |f: &Finding| f.change_percent.map_or(0.0, f64::abs);
        list.sort_by(|a, b| size(b).total_cmp(&size(a)));
        list
    };
    let calls = [Call::Better, Call::Worse, Call::Even, Call::CannotTell];
    let lists = calls.map(of);
    let counts = [0, 1, 2, 3].map(|i: usize| lists[i].len());
    let (overall, verb) = match counts {
        [0, 0, 0, _] => (Some(Call::CannotTell), "cannot be told from"),
        [0, 0, ..] => (Some(Call::Even), "does not clearly differ from"),
        [_, 0, ..] => (Some(Call::Better), "wins over"),
        [0, ..] => (Some(Call::Worse), "loses to"),
        _ => (None, "wins some and loses some against"),
    };
    let words = ["clearly better in", "clearly worse in", "no clear difference in", "cannot tell in"];
    let mut parts = Vec::new();
    for (i, list) in lists.iter().enumerate().filter(|(_, l)| !l.is_empty()) {
        // Sizes are named only where they are clear.
        let sizes = if i < 2 { sizes(c, list) } else { String::new() };
        parts.push(format!("{} {}{sizes}", words[i], list.len()));
    }
    let all: usize = counts.iter().sum();
    let what = if all == 1 { "measurement" } else { "measurements" };
    let name = &c.kernels[kernel].name;
    (overall, format!("{name} {verb} {}: of {all} {what} {}.", c.baseline_name(), parts.join(", ")))
}

/// The largest changes in parentheses.
fn sizes(c: &Comparison, list: &[&Finding]) -> String {
    let one = |f: &&Finding| {
        let workload = c.workloads.get(f.workload).map_or("", |w| w.name.as_str());
        f.change_percent.map(|x| format!("{workload} {} {}", f.metric, growth(x)))
    };
    let named: Vec<String> = list.iter().take(MAX_NAMED).filter_map(one).collect();
    let more = if list.len() > MAX_NAMED { ", …" } else { "" };
    if named.is_empty() {
        String::new()
    } else {
        format!(" ({}{more})", named.join(", "))
    }
}

/// What was asked, as a question.
pub fn question(c: &Comparison) -> String {
    let on = on(c);
    let others: Vec<&str> = c.others().map(|k| c.kernels[k].name.as_str()).collect();
    let base = c.baseline_name();
    match others.as_slice() {
        [] => format!("How does {base} do{on}?"),
        [one] => format!("Is {one} better than {base}{on}?"),
        [first, second] => format!("Is {first} or {second} better than {base}{on}?"),
        many if many.len() > MAX_ASKED => format!("Which of {} kernels is better than {base}{on}?", many.len()),
        [first @ .., last] => format!("Is {} or {last} better than {base}{on}?", first.join(", ")),
    }
}

/// Where it was asked: " on numa01 and numa02", " on 2 workloads on 2 machines".
fn on(c: &Comparison) -> String {
    let programs = unique(c.workloads.iter().map(Workload::program));
    let machines = unique(c.workloads.iter().filter_map(|w| w.machine.as_deref()));
    // Two names are spelled out where no other list stands beside them.
    let list = |names: &[&str], others: &[&str], noun: &str| match names {
        [] => String::new(),
        [only] => format!(" on {only}"),
        [a, b] if others.len() < 2 => format!(" on {a} and {b}"),
        more => format!(" on {} {noun}", more.len()),
    };
    list(&programs, &machines, "workloads") + &list(&machines, &programs, "machines")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Kernel;
    use crate::origin::Origin;

    fn compare(samples: Vec<Vec<f64>>, higher: bool) -> (Comparison, Vec<Finding>) {
        let name = if higher { "ops" } else { "elapsed" };
        let metrics = vec![Metric::new(name, "s", higher, samples)];
        let w = Workload { name: "numa01".into(), metrics, ..Workload::default() };
        let kernels = vec![Kernel::named("6.1"), Kernel::named("6.7")];
        let c = Comparison { kernels, workloads: vec![w], ..Comparison::default() };
        let f = findings(&c);
        (c, f)
    }

    #[test]
    fn a_clear_difference_names_the_winner_by_direction() {
        let samples = || vec![vec![10.0, 10.1, 9.9], vec![7.4, 7.5, 7.6]];
        let (c, f) = compare(samples(), false);
        assert_eq!(f[0].call, Call::Better);
        let start =
            "6.7 beats 6.1: elapsed 10.00 → 7.500 s, 25.0 % lower. The difference is clear (p < 0.0001, 3 and 3 runs, ";
        assert!(f[0].text.starts_with(start), "{}", f[0].text);
        assert_eq!(headline(&c, &f), [(Some(Call::Better), f[0].text.clone())]);
        let (_, f) = compare(samples(), true);
        assert_eq!(f[0].call, Call::Worse);
        assert!(f[0].text.starts_with("6.7 loses to 6.1: ops "), "{}", f[0].text);
    }

    #[test]
    fn single_runs_cannot_tell_however_large_the_change() {
        let (_, f) = compare(vec![vec![10.0], vec![1.0]], false);
        assert_eq!(f[0].call, Call::CannotTell);
        let want = "Cannot tell: 1 run of 6.1 and 1 run of 6.7 give no spread. elapsed 10.00 → 1.000 s, 90.0 % lower, which may \
                    be chance; repeat with at least 3 runs a side.";
        assert_eq!(f[0].text, want);
        for samples in [vec![vec![65130.0], vec![65130.0]], vec![vec![0.0], vec![0.0]]] {
            let (_, f) = compare(samples, false);
            assert!(f[0].text.contains(" give no spread. elapsed ") && !f[0].text.contains("chance"), "{}", f[0].text);
        }
    }

    fn rate(samples: Vec<Vec<f64>>) -> Finding {
        let (mut c, _) = compare(samples, true);
        let samples = std::mem::take(&mut c.workloads[0].metrics[0].samples);
        c.workloads[0].metrics = vec![Metric::new("accesses", "Maccesses/s", true, samples)];
        findings(&c).remove(0)
    }

    #[test]
    fn of_a_rate_the_sentence_has_the_mean_of_the_table() {
        let f = rate(vec![vec![500.0, 505.0, 495.0], vec![300.0, 420.0, 900.0]]);
        assert_eq!(f.call, Call::CannotTell);
        assert_eq!(f.change_percent.map(f64::round), Some(-12.0));
        assert!(f.text.contains("accesses 500.0 → 439.5 Maccesses/s, 12.1 % lower"), "{}", f.text);
        let f = rate(vec![vec![100.0, 101.0, 99.0], vec![200.0, 210.0, 190.0]]);
        assert_eq!(f.call, Call::Better);
        assert!(f.text.contains("interval of the ratio of arithmetic means"), "{}", f.text);
        let f = rate(vec![vec![100.0, 101.0, 99.0], vec![0.0; 3]]);
        assert_eq!((f.call, f.change_percent), (Call::Worse, None));
        assert!(f.text.contains("accesses 99.99 → – Maccesses/s (a run at 0 has no harmonic mean)"), "{}", f.text);
    }

    #[test]
    fn where_the_two_means_part_nothing_can_be_told() {
        // Thirty runs a side: the arithmetic mean is clearly higher, and one slow run pulls the harmonic one down.
        let col: Vec<f64> = (0..30).map(|i| if i == 0 { 3.0 } else { 130.0 + f64::from(i % 3) }).collect();
        let f = rate(vec![(0..30).map(|i| 100.0 + f64::from(i % 3)).collect(), col]);
        assert!(f.change_percent.is_some_and(|x| x < -1.0), "{f:?}");
        assert_eq!(f.call, Call::CannotTell, "{}", f.text);
        assert!(
            f.text.ends_with(" % lower. The arithmetic means, which are tested, moved the other way."),
            "{}",
            f.text
        );
        let f = rate(vec![vec![0.0; 3], vec![0.0; 3]]);
        let want = "No clear difference between 6.7 and 6.1: accesses – → – Maccesses/s, the same in every run.";
        assert_eq!((f.call, f.text.as_str()), (Call::Even, want));
    }

    #[test]
    fn noise_cannot_tell_and_quiet_runs_say_even() {
        let (_, f) = compare(vec![vec![8.0, 10.0, 12.0], vec![8.5, 10.5, 11.0]], false);
        assert_eq!(f[0].call, Call::CannotTell);
        assert!(f[0].text.contains("Too few runs or too much spread; with 3 and 3 runs a change of "), "{}", f[0].text);
        let (_, f) = compare(vec![vec![10.0, 10.02, 9.98], vec![10.01, 10.03, 9.97]], false);
        assert_eq!(f[0].call, Call::Even);
        assert!(f[0].text.starts_with("No clear difference between 6.7 and 6.1: "), "{}", f[0].text);
    }

    #[test]
    fn runs_too_short_for_balancing_cannot_tell_whatever_the_test_says() {
        for samples in [vec![vec![0.86; 3], vec![0.86; 3]], vec![vec![10.0, 10.1, 9.9], vec![7.4, 7.5, 7.6]]] {
            let (mut c, f) = compare(samples, false);
            assert_ne!(f[0].call, Call::CannotTell);
            for (short, of) in [([false, true], "the kernel"), ([true, false], "the baseline")] {
                c.workloads[0].too_short = short.to_vec();
                let f = findings(&c);
                assert_eq!(f[0].call, Call::CannotTell, "{of}");
                let want = "Cannot tell 6.7 from 6.1: the runs are too short for balancing to act. elapsed ";
                assert!(f[0].text.starts_with(want), "{}", f[0].text);
                assert_eq!(headline(&c, &f)[0].0, Some(Call::CannotTell));
            }
        }
    }

    #[test]
    fn different_work_has_no_winner_whatever_the_test_says() {
        let (mut c, f) = compare(vec![vec![10.0, 10.1, 9.9], vec![7.4, 7.5, 7.6]], false);
        assert_eq!(f[0].call, Call::Better);
        c.workloads[0].unlike = vec![None, Some("loops is 9, not 3".into())];
        let f = findings(&c);
        let want = "Cannot tell 6.7 from 6.1: different work, as loops is 9, not 3.";
        assert_eq!((f[0].call, f[0].text.as_str()), (Call::CannotTell, want));
        assert_eq!(headline(&c, &f), [(Some(Call::CannotTell), want.to_string())]);
        c.workloads[0].metrics[0].samples[1] = vec![10.0, 10.1, 9.9];
        assert_eq!(findings(&c)[0].call, Call::CannotTell, "nor are they even");
    }

    #[test]
    fn a_detectable_change_of_nothing_is_not_spelled_out() {
        let (_, f) = compare(vec![vec![0.86, 0.86 + 1e-8, 0.86], vec![0.86, 0.86, 0.86 + 1e-8]], false);
        assert!(f[0].text.contains("a change of less than 0.01 % would be seen"), "{}", f[0].text);
    }

    #[test]
    fn a_change_that_prints_as_nothing_is_never_clear() {
        let (_, f) = compare(vec![vec![10.0; 3], vec![10.0 + 1e-6; 3]], false);
        assert_eq!(f[0].call, Call::Even);
        let want = "No clear difference between 6.7 and 6.1: elapsed 10.00 → 10.00 s, less than 0.01 % apart. So little counts \
                    for none, however steady the runs.";
        assert_eq!(f[0].text, want);
        let (_, f) = compare(vec![vec![10.0; 3], vec![10.001; 3]], false);
        assert_eq!(f[0].call, Call::Worse, "0.01 %");
    }

    #[test]
    fn small_and_missing_and_zero() {
        let (_, f) = compare(vec![vec![10.0, 10.0, 10.0], vec![10.05, 10.05, 10.05]], false);
        assert_eq!(f[0].call, Call::Worse);
        assert!(f[0].text.contains("clear but small"), "{}", f[0].text);
        let (_, f) = compare(vec![vec![], vec![1.0, 2.0]], false);
        assert_eq!((f[0].call, f[0].text.as_str()), (Call::CannotTell, "Cannot tell: there is no elapsed of 6.1."));
        let (_, f) = compare(vec![vec![0.0, 0.0], vec![2.0, 2.0]], false);
        assert_eq!(f[0].call, Call::Worse);
        let (_, f) = compare(vec![vec![5.0, 5.0], vec![5.0, 5.0]], false);
        assert_eq!(f[0].call, Call::Even);
        assert_eq!(
            f[0].text,
            "No clear difference between 6.7 and 6.1: elapsed 5.000 → 5.000 s, the same in every run."
        );
    }

    #[test]
    fn scores_outrank_times_and_many_are_counted() {
        let m = |name: &str, col: [f64; 3]| Metric::new(name, "MB/s", true, vec![vec![10.0, 10.1, 9.9], col.to_vec()]);
        let elapsed = Metric::new("elapsed", "s", false, vec![vec![1.0], vec![2.0]]);
        let metrics = vec![elapsed, m("copy", [20.0, 20.1, 19.9]), m("scale", [5.0, 5.1, 4.9])];
        let w = Workload { name: "stream".into(), metrics, ..Workload::default() };
        let kernels = vec![Kernel::named("a"), Kernel::named("b")];
        let c = Comparison { kernels, workloads: vec![w], ..Comparison::default() };
        let f = findings(&c);
        assert_eq!(f.iter().map(|f| f.metric.as_str()).collect::<Vec<_>>(), ["copy", "scale"]);
        let want = "b wins some and loses some against a: of 2 measurements clearly better in 1 \
                    (stream copy 2.00 times as much), clearly worse in 1 (stream scale 50.0 % lower).";
        assert_eq!(headline(&c, &f), [(None, want.to_string())]);
        assert_eq!(question(&c), "Is b better than a on stream?");
        let many = Comparison { kernels: vec![Kernel::named("a"); 9], ..c };
        assert_eq!(question(&many), "Which of 8 kernels is better than a on stream?");
    }

    #[test]
    fn machines_are_counted_beside_the_workloads() {
        let asked = |programs: &[&str], machines: &[&str]| {
            let place = |p: &str, m: &str| Workload {
                name: format!("{p} on {m}"),
                machine: Some(m.into()),
                ..Workload::default()
            };
            let workloads = machines.iter().flat_map(|m| programs.iter().map(move |p| place(p, m))).collect();
            let kernels = vec![Kernel::named("off"), Kernel::named("6.12")];
            question(&Comparison { kernels, workloads, ..Comparison::default() })
        };
        assert_eq!(asked(&["a", "b"], &["m", "n"]), "Is 6.12 better than off on 2 workloads on 2 machines?");
        assert_eq!(asked(&["a"], &["m", "n"]), "Is 6.12 better than off on a on m and n?");
        assert_eq!(asked(&["a", "b", "c"], &["m"]), "Is 6.12 better than off on 3 workloads on m?");
    }

    #[test]
    fn where_no_run_completed_the_answer_says_so() {
        let (mut c, _) = compare(vec![vec![], vec![]], true);
        let more = Metric::new("more", "s", true, vec![vec![], vec![]]);
        c.workloads[0].metrics.push(more);
        let (ended, good) = (Runs { total: 2, timeout: 2, failed: 0 }, Runs { total: 2, ..Runs::default() });
        let said = |c: &Comparison| headline(c, &findings(c));
        c.workloads[0].runs = vec![ended; 2];
        let want = "Cannot tell: no run of 6.1 or 6.7 completed.";
        assert_eq!(said(&c), [(Some(Call::CannotTell), want.to_string())]);
        c.workloads[0].runs = vec![good, ended];
        c.workloads[0].metrics.truncate(1);
        c.workloads[0].metrics[0].samples[0] = vec![1.0, 2.0];
        assert_eq!(said(&c)[0].1, "Cannot tell: no run of 6.7 completed.");
        // Runs that failed at once name no figures at all.
        c.workloads[0].metrics.clear();
        assert_eq!(said(&c)[0].1, "There are no figures to compare.");
        c.workloads[0].runs = vec![ended; 2];
        assert_eq!(said(&c)[0].1, "No run completed: there is nothing to compare.");
    }

    #[test]
    fn one_kernel_or_no_figures() {
        let mut c = Comparison { kernels: vec![Kernel::named("a")], ..Comparison::default() };
        assert_eq!(headline(&c, &[]), [(None, "Only a was run: there is nothing to compare it with.".to_string())]);
        assert_eq!(question(&c), "How does a do?");
        c.origin = Some(Origin::default());
        assert_eq!(headline(&c, &[]), [(None, "Nothing was run yet.".to_string())]);
        let growths = [-26.41, 4.0, 300.0, 0.02].map(growth);
        assert_eq!(growths, ["26.4 % lower", "4.0 % higher", "4.00 times as much", "0.0200 % higher"]);
    }
}
