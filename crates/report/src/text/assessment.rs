//! The table "How sure": the tests of every difference, which stand beside the star of mmtests.
//!
//! One line per metric and kernel: runs, change, probabilities, interval of the ratio, and detectable change.
//! [`crate::assess`] defines them.

use crate::assess::{assess, Assessment, LEVEL, POWER};
use crate::data::Comparison;
use crate::format::readable;

/// Mark of runs that were too short for balancing to act.
const TOO_SHORT: char = '!';
/// Mark of a kernel that did different work than the baseline.
const DIFFERENT_WORK: char = '≠';

/// Headings of the columns. The first two columns are left-aligned.
const HEADINGS: [&str; 9] =
    ["", "kernel", "runs", "change", "p Welch", "p Holm", "p Mann-Whitney", "ratio 95 %", "detectable"];

/// The table after a blank line; empty if there is nothing to compare.
pub fn table(c: &Comparison) -> String {
    let all = assess(c);
    if all.is_empty() {
        return String::new();
    }
    let mut rows: Vec<[String; 9]> = vec![HEADINGS.map(String::from)];
    rows.extend(all.iter().map(row));
    let width = |i: usize| rows.iter().map(|r| r[i].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..HEADINGS.len()).map(width).collect();
    let mut out = String::from("\nHow sure\n");
    for r in &rows {
        let mut line = String::new();
        for (i, (cell, w)) in r.iter().zip(&widths).enumerate() {
            match i {
                0 => line.push_str(&format!("{cell:<w$}")),
                1 => line.push_str(&format!("  {cell:<w$}")),
                _ => line.push_str(&format!("  {cell:>w$}")),
            }
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    let often = 100.0 * POWER;
    out.push_str(&format!(
        "change: of the arithmetic mean, plus means it grew. p Holm is corrected for all rows tested; clear below {LEVEL},\n\
         unless the change is 0.00 %. detectable: the change that would be seen {often:.0} times in 100 by one test alone\n\
         with these runs and this spread. –: too few runs, a baseline of 0, or the same in every run.\n"
    ));
    if all.iter().any(|a| a.too_short) {
        out.push_str(&format!(
            "{TOO_SHORT} behind the runs: too short for balancing to act, so nothing is clear, whatever p is.\n"
        ));
    }
    if all.iter().any(|a| a.different_work.is_some()) {
        out.push_str(&format!(
            "{DIFFERENT_WORK} behind the runs: different work (see the notes), so nothing is clear, whatever p is.\n"
        ));
    }
    out
}

/// The marks behind the number of runs that say why no verdict follows.
fn marks(a: &Assessment) -> String {
    let marks = [(a.too_short, TOO_SHORT), (a.different_work.is_some(), DIFFERENT_WORK)];
    marks.iter().filter(|m| m.0).map(|m| format!(" {}", m.1)).collect()
}

fn row(a: &Assessment) -> [String; 9] {
    let p = |p: Option<f64>| p.map_or("–".into(), |p| if p < 0.0001 { "<0.0001".into() } else { format!("{p:.4}") });
    let interval = a.ratio_interval.filter(|i| i.low.is_finite() && i.high.is_finite());
    [
        format!("{} {}", a.workload, a.metric),
        a.kernel.clone(),
        format!("{}/{}{}", a.runs.0, a.runs.1, marks(a)),
        match a.change_percent {
            Some(x) => format!("{x:+.2} %"),
            None if a.has_runs() => "from 0".into(),
            None => "–".into(),
        },
        p(a.p_welch),
        p(a.p_holm),
        p(a.p_mann_whitney),
        interval.map_or("–".into(), |i| format!("{:.3} … {:.3}", i.low, i.high)),
        a.detectable_percent.filter(|d| d.is_finite()).map_or("–".into(), |d| format!("{} %", readable(d))),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Kernel, Metric, Workload};

    #[test]
    fn one_line_per_metric_and_kernel() {
        let samples = vec![vec![10.0, 11.0, 12.0], vec![20.0, 21.0, 22.0], vec![10.5], vec![]];
        let w = Workload {
            name: "w".into(),
            metrics: vec![Metric::new("elapsed", "s", false, samples)],
            ..Workload::default()
        };
        let kernels = ["a", "b", "c", "d"].map(Kernel::named).to_vec();
        let got = table(&Comparison { kernels, workloads: vec![w], ..Comparison::default() });
        let lines: Vec<&str> = got.lines().collect();
        assert!(lines[3].starts_with("w elapsed  b        3/3  +90.91 %   0.0003"), "{got}");
        assert!(lines[4].starts_with("w elapsed  c        3/1   -4.55 %"), "{got}");
        assert_eq!(lines[4].matches('–').count(), 4, "a single run has no spread: {got}");
        assert!(lines[5].starts_with("w elapsed  d        3/0         –"), "{got}");
        assert_eq!(lines[5].matches('–').count(), 6, "{got}");
        assert!(!got.contains('!'), "no run was too short: {got}");
        assert_eq!(table(&Comparison::default()), "");
    }

    #[test]
    fn rows_say_why_nothing_can_be_told() {
        let metric = |name: &str, samples: [[f64; 3]; 3]| {
            Metric::new(name, "s", false, samples.iter().map(|s| s.to_vec()).collect())
        };
        let elapsed = metric("elapsed", [[10.0, 11.0, 12.0], [20.0, 21.0, 22.0], [20.0, 21.0, 22.0]]);
        let w = Workload {
            name: "w".into(),
            metrics: vec![elapsed, metric("blocked", [[0.0; 3]; 3])],
            too_short: vec![false, false, true],
            ..Workload::default()
        };
        let kernels = ["a", "b", "c"].map(Kernel::named).to_vec();
        let c = Comparison { kernels, workloads: vec![w], ..Comparison::default() };
        let got = table(&c);
        let lines: Vec<&str> = got.lines().collect();
        assert!(lines[3].starts_with("w elapsed  b         3/3  +90.91 %   0.0003"), "{got}");
        assert!(lines[4].starts_with("w elapsed  c       3/3 !  +90.91 %   0.0003"), "{got}");
        let blocked = lines[5].split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(blocked, "w blocked b 3/3 +0.00 % – – – – –", "nothing was tested");
        assert!(got.contains(" –: too few runs, a baseline of 0, or the same in every run.\n"), "{got}");
        assert!(
            got.ends_with("! behind the runs: too short for balancing to act, so nothing is clear, whatever p is.\n")
        );
        let mut c = c;
        c.workloads[0].different_work = vec![None, Some("loops is 9, not 3".into()), None];
        let got = table(&c);
        assert!(got.contains("w elapsed  b       3/3 ≠  +90.91 %   0.0003"), "{got}");
        assert!(
            got.ends_with("≠ behind the runs: different work (see the notes), so nothing is clear, whatever p is.\n")
        );
    }
}
