//! The lkp-tests layout, as the kernel test robot mails it (mmtests-report.md §6).
//!
//! It differs from mmtests in what it shows. A plus means that the number grew, good or bad. The standard deviation has
//! divisor n and stands beside the mean only above 2 %. There is no star; a metric is listed only if it *changed*.

use numalab_stats::describe;

use crate::data::{Comparison, Metric, Runs, Workload};
use crate::format::{general, general_signed};

/// Width of a mean.
const MEAN: usize = 10;
/// Width of a deviation.
const DEVIATION: usize = 6;
/// Width of a change.
const CHANGE: usize = 10;
/// Width of the first column title.
const FIRST: usize = MEAN + DEVIATION;
/// Width of every further column title.
const FURTHER: usize = CHANGE + 1 + FIRST;
/// Times that stay below this in all runs are not listed, s.
const TIME_FLOOR: f64 = 10.0;
/// Counters and reasons that stay below this in all runs are not listed.
const COUNT_FLOOR: f64 = 1000.0;

/// What the report shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Whether every metric is listed, changed or not: if asked for, or if metrics were selected ([`crate::select`]).
    pub all: bool,
}

/// The whole report: one table per workload, followed by the number of metrics that are not listed.
pub fn report(c: &Comparison, options: Options) -> String {
    let mut out = String::new();
    if c.nothing_ran() {
        out.push_str("Nothing was run yet.\n");
    }
    for w in &c.workloads {
        out.push_str(&workload(c, w, options));
    }
    out
}

/// One workload: axes, compared kernels, failures, changed metrics.
pub fn workload(c: &Comparison, w: &Workload, options: Options) -> String {
    let order: Vec<usize> =
        (c.baseline < c.kernels.len()).then_some(c.baseline).into_iter().chain(c.others()).collect();
    let mut out = header(c, w, &order);
    let failures = failures(w, &order);
    if !failures.is_empty() {
        let first = ["       fail:runs", "           |    "];
        let further = ["  %reproduction    fail:runs", "         |             |    "];
        out.push_str(&headings(first, further, order.len()));
        out.push_str(&failures);
    }
    let lines = lines(w);
    // With one or two runs on both sides the rule of changes says nothing, so the workload's own figures are shown.
    let few = !lines.is_empty() && lines.iter().all(|l| !l.enough(c));
    let shown = |l: &Line| options.all || l.changed(c) || few && !l.counter;
    let (listed, left_out): (Vec<&Line>, Vec<&Line>) = lines.iter().partition(|l| shown(l));
    if !listed.is_empty() {
        let first = ["         %stddev", "             \\  "];
        let further = ["     %change         %stddev", "        |                \\  "];
        out.push_str(&headings(first, further, order.len()));
    }
    for line in sorted(listed) {
        out.push_str(&line.text(&order));
    }
    out.push('\n');
    if !left_out.is_empty() {
        out.push_str(&format!("{}\n\n", why_left_out(c, &left_out, lines.len(), few)));
    }
    out
}

/// Two heading lines above the columns of `kernels`, the first of which has no change.
fn headings(first: [&str; 2], further: [&str; 2], kernels: usize) -> String {
    let line = |i: usize| format!("{}{}\n", first[i], further[i].repeat(kernels.saturating_sub(1)));
    line(0) + &line(1)
}

/// How many of `all` metrics are not listed, and why.
fn why_left_out(c: &Comparison, left_out: &[&Line<'_>], all: usize, few: bool) -> String {
    if few {
        return format!(
            "No metric can be called changed: at least one side needs 3 runs. Not listed of {all} metrics: {} counters \
             (--all lists them).",
            left_out.len()
        );
    }
    let small = left_out.iter().filter(|l| l.moved(c)).count();
    let why = [
        (left_out.len() - small, "unchanged".to_string()),
        (small, format!("changed, but below {TIME_FLOOR} s (times) or {COUNT_FLOOR} (counters)")),
    ];
    let why: Vec<String> = why.iter().filter(|(n, _)| *n > 0).map(|(n, why)| format!("{n} {why}")).collect();
    format!("Not listed of {all} metrics: {} (--all lists them).", why.join("; "))
}

fn header<'a>(c: &'a Comparison, w: &'a Workload, order: &[usize]) -> String {
    let mut keys: Vec<&str> = c.axes.iter().map(|(k, _)| k.as_str()).collect();
    // With several machines the block of a workload names its own machine only.
    let value = |(key, v): &'a (String, String)| w.machine.as_deref().filter(|_| key == "machine").unwrap_or(v);
    let mut values: Vec<&str> = c.axes.iter().map(value).collect();
    keys.push("testcase");
    values.push(w.program());
    let mut out = format!("{}\n{}:\n  {}\n\ncommit: \n", "=".repeat(89), keys.join("/"), values.join("/"));
    let names: Vec<String> = order.iter().map(|k| c.kernels[*k].run_name()).collect();
    for name in &names {
        out.push_str(&format!("  {name}\n"));
    }
    out.push('\n');
    let width = |i: usize| if i == 0 { FIRST } else { FURTHER };
    for (i, name) in names.iter().enumerate() {
        let cut: String = name.chars().take(width(i)).collect();
        out.push_str(&format!("{cut:>w$} ", w = width(i)));
    }
    out.push('\n');
    for i in 0..names.len() {
        out.push_str(&format!("{} ", "-".repeat(width(i))));
    }
    out.push('\n');
    out
}

/// Failed runs and timeouts, one line each if any kernel had some.
fn failures(w: &Workload, order: &[usize]) -> String {
    let mut out = String::new();
    for kind in ["fail", "timeout"] {
        let count = |r: &Runs| if kind == "fail" { r.failed } else { r.timeout };
        let runs: Vec<(usize, usize)> =
            order.iter().map(|k| w.runs.get(*k).map_or((0, 0), |r| (count(r), r.total))).collect();
        if runs.iter().all(|(failed, _)| *failed == 0) {
            continue;
        }
        let share = |(failed, total): (usize, usize)| if total == 0 { 0.0 } else { failed as f64 / total as f64 };
        for (i, run) in runs.iter().enumerate() {
            if i > 0 {
                out.push_str(&format!("{:CHANGE$.0}% ", 100.0 * (share(*run) - share(runs[0]))));
            }
            let failed = if run.0 == 0 { String::new() } else { run.0.to_string() };
            out.push_str(&format!("{failed:>w$}:{:<4}", run.1, w = MEAN + 1));
        }
        out.push_str(&format!("  {}.{kind}\n", w.program()));
    }
    out
}

/// A metric under its lkp name.
struct Line<'a> {
    name: String,
    metric: std::borrow::Cow<'a, Metric>,
    /// Whether it is a counter or a reason.
    counter: bool,
    /// Whether it is a key metric, of which smaller changes are listed.
    key: bool,
    /// Some value must reach this for a change to be listed.
    floor: f64,
}

/// The metrics of a workload under their lkp names: times as `<workload>.time.*`, scores as `<workload>.*`, counters as
/// `proc-vmstat.*`, skips as `reasons.*`.
fn lines(w: &Workload) -> Vec<Line<'_>> {
    use std::borrow::Cow;
    let metric = |m| {
        let Metric { name, .. }: &Metric = m;
        let time = matches!(name.as_str(), "elapsed" | "user" | "system");
        let name = match name.as_str() {
            t if time => format!("{}.time.{t}_time", w.program()),
            other => format!("{}.{other}", w.program()),
        };
        let floor = if time { TIME_FLOOR } else { 0.0 };
        Line { name, metric: Cow::Borrowed(m), counter: false, key: !time, floor }
    };
    let counter = |c, group: &str| {
        let m = crate::figures::counter_metric(c);
        let name = format!("{group}.{}", m.name);
        Line { name, metric: Cow::Owned(m), counter: true, key: false, floor: COUNT_FLOOR }
    };
    let counters = w.counters.iter().map(|c| counter(c, "proc-vmstat"));
    let reasons = w.reasons.iter().map(|c| counter(c, "reasons"));
    w.metrics.iter().chain(&w.derived).map(metric).chain(counters).chain(reasons).collect()
}

/// Sorts lines: first those of the workload, then the counters, each by name.
fn sorted<'a>(mut lines: Vec<&'a Line<'a>>) -> Vec<&'a Line<'a>> {
    lines.sort_by(|a, b| (a.counter, &a.name).cmp(&(b.counter, &b.name)));
    lines
}

impl Line<'_> {
    /// Whether the rule of changes can be applied: at least one side of a comparison has 3 samples.
    fn enough(&self, c: &Comparison) -> bool {
        c.others().any(|k| self.metric.of(c.baseline).len() >= 3 || self.metric.of(k).len() >= 3)
    }

    /// Whether some kernel changed enough against the baseline to be listed (§6.3).
    fn changed(&self, c: &Comparison) -> bool {
        c.others().any(|k| self.changed_between(self.metric.of(c.baseline), self.metric.of(k)))
    }

    /// Whether some kernel changed against the baseline, even if its values are small.
    fn moved(&self, c: &Comparison) -> bool {
        c.others().any(|k| self.moved_between(self.metric.of(c.baseline), self.metric.of(k)))
    }

    fn changed_between(&self, base: &[f64], col: &[f64]) -> bool {
        self.moved_between(base, col) && range(base).2.max(range(col).2) >= self.floor
    }

    fn moved_between(&self, base: &[f64], col: &[f64]) -> bool {
        if base.is_empty() || col.is_empty() || (base.len() < 3 && col.len() < 3) {
            return false;
        }
        let ((min_a, median_a, max_a), (min_b, median_b, max_b)) = (range(base), range(col));
        let apart = |min: f64, median: f64, max: f64, low_median: f64| min > low_median && median > max;
        if !apart(min_b, median_b, max_a, median_a) && !apart(min_a, median_a, max_b, median_b) {
            return false;
        }
        let (small, large) = (median_a.abs().min(median_b.abs()), median_a.abs().max(median_b.abs()));
        let least = if self.key { 1.01 } else { 1.05 };
        large > small * least
    }

    /// One line: means with deviations, changes, and the name at the right end. A kernel without samples has a dash and
    /// no change.
    fn text(&self, order: &[usize]) -> String {
        let absolute = self.name.ends_with('%') || self.metric.unit == "%";
        let mean = |k: usize| describe::amean(self.metric.of(k));
        let mut out = String::new();
        for (i, k) in order.iter().enumerate() {
            if i > 0 {
                let change = mean(order[0]).zip(mean(*k)).map(|(base, col)| change(base, col, absolute));
                out.push_str(&change.unwrap_or_else(|| " ".repeat(CHANGE + 2)));
            }
            out.push_str(&format!("{:>MEAN$}", mean(*k).map_or("-".into(), mean_text)));
            out.push_str(&deviation(self.metric.of(*k)));
        }
        out.push_str(&format!("  {}\n", self.name));
        out
    }
}

/// Smallest sample, median (the upper of two middle ones) and largest sample, without outliers: n/32 at each end, at
/// most 3.
fn range(samples: &[f64]) -> (f64, f64, f64) {
    let mut s = samples.to_vec();
    s.sort_by(f64::total_cmp);
    let margin = (s.len() / 32).min(3);
    let s = &s[margin..s.len() - margin];
    (s[0], s[s.len() / 2], s[s.len() - 1])
}

/// A mean as lkp prints it: two decimals below 1000, an integer (truncated) up to 1e8, and four significant digits
/// above.
fn mean_text(mean: f64) -> String {
    let size = mean.abs();
    if size < 1000.0 {
        format!("{mean:.2}")
    } else if size > 1e8 {
        general(mean, 4)
    } else {
        format!("{:.0}", mean.trunc())
    }
}

/// A relative deviation as lkp prints it: blank, plus-minus sign, three digits, percent sign. It stays blank up to 2 %
/// and for a single run.
fn deviation(samples: &[f64]) -> String {
    let relative = match (describe::population_stddev(samples), describe::amean(samples)) {
        (Some(s), Some(m)) if samples.len() > 1 && m != 0.0 => 100.0 * s / m,
        _ => 0.0,
    };
    if relative > 2.0 {
        format!(" ±{:3.0}%", relative.trunc())
    } else {
        " ".repeat(DEVIATION)
    }
}

/// A change as lkp prints it: percent of the base, or points if the metric is a percentage. A base of 0 is replaced by
/// 1e-100.
fn change(base: f64, col: f64, absolute: bool) -> String {
    let (value, sign) = if absolute {
        (col - base, "  ")
    } else if base == col {
        (0.0, "% ")
    } else {
        let base = if base == 0.0 { 1e-100 } else { base };
        (100.0 * (col - base) / base, "% ")
    };
    let text = if value.abs() < 100_000.0 { format!("{value:+.1}") } else { general_signed(value, 2) };
    format!("{text:>CHANGE$}{sign}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn section_6_2_means() {
        let got = [8.8, 999.999, 7732.9, 13_467_005.0, 123_456_789.0].map(mean_text);
        assert_eq!(got, ["8.80", "1000.00", "7732", "13467005", "1.235e+08"]);
    }

    #[test]
    fn section_6_2_deviation_only_above_two_percent() {
        // With divisor n, 9 and 11 have a deviation of 1 around 10; 9.8 and 10.2 have one of 0.2.
        assert_eq!(deviation(&[9.0, 11.0]), " ± 10%");
        assert_eq!(deviation(&[9.8, 10.2]), "      ");
        assert_eq!(deviation(&[5.0]), "      ");
        assert_eq!(deviation(&[0.0, 0.0]), "      ");
    }

    #[test]
    fn section_6_2_changes() {
        assert_eq!(change(24.47, 17.29, true), "      -7.2  ");
        assert_eq!(change(8.76, 16.36, true), "      +7.6  ");
        assert_eq!(change(13_467_005.0, 26_223_847.0, false), "     +94.7% ");
        assert_eq!(change(1.0, 2000.0, false), "    +2e+05% ");
        assert_eq!(change(0.0, 0.0, false), "      +0.0% ");
        assert_eq!(change(0.0, 2.0, false), "   +2e+102% ");
    }

    #[test]
    fn section_6_3_what_counts_as_changed() {
        let line = |key, floor| Line {
            name: "w.x".into(),
            metric: std::borrow::Cow::Owned(Metric::default()),
            counter: false,
            key,
            floor,
        };
        let l = line(false, 0.0);
        assert!(l.changed_between(&[10.0, 11.0, 12.0], &[13.0, 14.0, 15.0]));
        assert!(l.changed_between(&[13.0, 14.0, 15.0], &[10.0, 11.0, 12.0]));
        // Ranges may overlap if each median is outside the range of the other side.
        assert!(l.changed_between(&[10.0, 11.0, 12.0], &[11.5, 13.0, 14.0]));
        assert!(!l.changed_between(&[10.0, 11.0, 12.0], &[10.5, 13.0, 14.0]));
        assert!(!l.changed_between(&[10.0, 11.0], &[13.0, 14.0]), "one side needs 3");
        assert!(l.changed_between(&[10.0, 11.0, 12.0], &[14.0]));
        // 3 % is too small unless it is a key metric.
        let (a, b) = ([100.0, 100.1, 100.2], [103.0, 103.1, 103.2]);
        assert!(!l.changed_between(&a, &b));
        assert!(line(true, 0.0).changed_between(&a, &b));
        assert!(!line(true, 1000.0).changed_between(&a, &b));
    }
}
