//! Side by side: what a knob changes on a real kernel, and what the same setting changes in the simulator.
//!
//! Problem: times of an emulated guest and of the model cannot be compared, but what a setting changes on each side
//! can. Approach: both sides run the same columns. For every column and figure there is the change against the first
//! column of its own side, with Welch's test after Holm's correction over all rows of that side. Units: percent.
//! Invariant: a change is clear only with a test; one run a side has none.

use crate::assess::LEVEL;
use crate::data::{Comparison, Metric, Workload};
use crate::figures::every_metric;
use crate::format::{shows, significant};
use numalab_model::record::TIMES;
use numalab_stats::{holm::holm, welch::welch};

/// Counters that stand in every table, where both sides have them.
const COUNTERS: [&str; 6] = [
    "numa_pte_updates",
    "numa_hint_faults",
    "numa_hint_faults_local",
    "numa_pages_migrated",
    "thp_fault_alloc",
    "thp_fault_fallback",
];

/// What a column changed on one side.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Side {
    /// Change of the mean against the baseline, percent; `None` from a baseline of 0.
    pub change_percent: Option<f64>,
    /// Mean of the column less that of the baseline.
    pub difference: f64,
    /// Probability that chance alone made it, corrected for all rows of the side; `None` where nothing can be tested.
    pub p: Option<f64>,
    /// Completed runs of the baseline and of the column.
    pub runs: (usize, usize),
}

impl Side {
    /// Whether the difference is clear, and no change that prints as nothing.
    pub fn is_clear(&self) -> bool {
        self.p.is_some_and(|p| p < LEVEL) && self.change_percent.is_none_or(shows) && self.difference != 0.0
    }

    /// The cell of a table: the change, and how likely chance alone makes it.
    pub(crate) fn text(&self) -> String {
        let change = match self.change_percent {
            Some(percent) => format!("{percent:+.1} %"),
            None if self.difference == 0.0 => "+0.0 %".to_string(),
            None => format!("{}{} from 0", if self.difference < 0.0 { "" } else { "+" }, significant(self.difference)),
        };
        match self.p {
            Some(p) if p < 0.0001 => format!("{change} (p < 0.0001)"),
            Some(p) => format!("{change} (p = {p:.4})"),
            None => format!("{change} (not tested)"),
        }
    }
}

/// A figure of a column on both sides.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Workload, with the machine if there are several.
    pub workload: String,
    /// Column.
    pub column: String,
    /// Figure.
    pub metric: String,
    /// The real kernel.
    pub kernel: Side,
    /// The simulator.
    pub simulator: Side,
}

/// How the two sides of a row stand to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sides {
    /// Both are clear, in one direction.
    Agree,
    /// Neither is clear.
    NeitherClear,
    /// The real kernel alone changed clearly.
    KernelOnly,
    /// The simulator alone did.
    SimulatorOnly,
    /// Both are clear, in opposite directions.
    Opposite,
}

impl Sides {
    /// All of them, in the order of the sum below a table.
    pub const ALL: [Self; 5] = [Self::Agree, Self::NeitherClear, Self::KernelOnly, Self::SimulatorOnly, Self::Opposite];

    /// The words of tables.
    pub fn words(self) -> &'static str {
        match self {
            Self::Agree => "agree",
            Self::NeitherClear => "neither is clear",
            Self::KernelOnly => "only the kernel",
            Self::SimulatorOnly => "only the simulator",
            Self::Opposite => "opposite",
        }
    }
}

impl Row {
    /// How the sides stand to each other.
    pub fn sides(&self) -> Sides {
        match (self.kernel.is_clear(), self.simulator.is_clear()) {
            (false, false) => Sides::NeitherClear,
            (true, false) => Sides::KernelOnly,
            (false, true) => Sides::SimulatorOnly,
            (true, true) if (self.kernel.difference > 0.0) == (self.simulator.difference > 0.0) => Sides::Agree,
            (true, true) => Sides::Opposite,
        }
    }
}

/// The rows of all columns that both comparisons have, by workload, then column.
pub fn rows(kernel: &Comparison, simulator: &Comparison) -> Vec<Row> {
    let mut out = Vec::new();
    for w in &kernel.workloads {
        let Some(other) = simulator.workloads.iter().find(|o| o.name == w.name) else { continue };
        for k in kernel.others() {
            let column = kernel.kernels[k].name.clone();
            let Some(s) = simulator.kernels.iter().position(|other| other.name == column) else { continue };
            for (a, b) in common(w, other) {
                let sides = side(&a, (kernel.baseline, k)).zip(side(&b, (simulator.baseline, s)));
                if let Some((on_kernel, simulated)) = sides {
                    let (workload, column, metric) = (w.name.clone(), column.clone(), a.name);
                    out.push(Row { workload, column, metric, kernel: on_kernel, simulator: simulated });
                }
            }
        }
    }
    correct(&mut out, |row| &mut row.kernel);
    correct(&mut out, |row| &mut row.simulator);
    out
}

/// The figures that both sides have: scores, elapsed time, and the counters of NUMA balancing.
fn common(kernel: &Workload, simulator: &Workload) -> Vec<(Metric, Metric)> {
    let others = every_metric(simulator);
    let with = |m: Metric| others.iter().find(|o| o.name == m.name).cloned().map(|o| (m, o));
    figures(kernel).into_iter().filter_map(with).collect()
}

/// The figures of a table: scores, elapsed time, and the counters of NUMA balancing.
pub(crate) fn figures(w: &Workload) -> Vec<Metric> {
    let score = |name: &str| w.metrics.iter().any(|m| m.name == name) && (name == TIMES[0] || !TIMES.contains(&name));
    every_metric(w).into_iter().filter(|m| score(&m.name) || COUNTERS.contains(&m.name.as_str())).collect()
}

/// One side of a row; `None` without runs.
pub(crate) fn side(m: &Metric, (base, column): (usize, usize)) -> Option<Side> {
    let (a, b) = (m.mean_of(base)?, m.mean_of(column)?);
    let p = welch(m.of(base), m.of(column)).map(|t| t.p);
    let runs = (m.of(base).len(), m.of(column).len());
    Some(Side { change_percent: m.change_percent(base, column), difference: b - a, p, runs })
}

/// Corrects the probabilities of one side for the number of its rows.
pub(crate) fn correct<R>(rows: &mut [R], side: impl Fn(&mut R) -> &mut Side) {
    let p: Vec<f64> = rows.iter_mut().map(|row| side(row).p.unwrap_or(f64::NAN)).collect();
    for (row, p) in rows.iter_mut().zip(holm(&p)) {
        side(row).p = Some(p).filter(|p| !p.is_nan());
    }
}

/// The table as text, with how many rows stand how below it.
pub fn text(rows: &[Row]) -> String {
    let cells = |row: &Row| -> [String; 6] {
        [
            row.workload.clone(),
            row.column.clone(),
            row.metric.clone(),
            row.kernel.text(),
            row.simulator.text(),
            row.sides().words().to_string(),
        ]
    };
    let head = ["workload", "column", "figure", "kernel", "simulator", "sides"].map(str::to_string);
    let all: Vec<[String; 6]> = std::iter::once(head).chain(rows.iter().map(cells)).collect();
    let width = |n: usize| all.iter().map(|r| r[n].chars().count()).max().unwrap_or(0);
    let widths = [0, 1, 2, 3, 4, 5].map(width);
    let line = |r: &[String; 6]| {
        let padded: Vec<String> = r.iter().zip(widths).map(|(cell, w)| format!("{cell:w$}")).collect();
        format!("{}\n", padded.join("  ").trim_end())
    };
    all.iter().map(line).collect::<String>() + &sum(rows) + "\n"
}

/// The table as Markdown.
pub fn markdown(rows: &[Row]) -> String {
    let mut out =
        String::from("| workload | column | figure | kernel | simulator | sides |\n|---|---|---|---:|---:|---|\n");
    for row in rows {
        let cells = [&row.workload, &row.column, &row.metric].map(|cell| cell.replace('|', "\\|"));
        let (kernel, simulator) = (row.kernel.text(), row.simulator.text());
        out += &format!("| {} | {kernel} | {simulator} | {} |\n", cells.join(" | "), row.sides().words());
    }
    format!("{out}\n{}\n", sum(rows))
}

/// "Of 12 figures 7 agree, 3 neither is clear, …".
fn sum(rows: &[Row]) -> String {
    let count = |s: Sides| rows.iter().filter(|r| r.sides() == s).count();
    let parts = Sides::ALL.map(|s| (count(s), s.words()));
    let parts: Vec<String> = parts.iter().filter(|p| p.0 > 0).map(|(n, words)| format!("{words}: {n}")).collect();
    format!(
        "{} figures; {}.",
        rows.len(),
        if parts.is_empty() { "nothing on both sides".into() } else { parts.join(", ") }
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Counter, Kernel};

    fn comparison(migrated: &[&[f64]], elapsed: &[&[f64]]) -> Comparison {
        let lists = |all: &[&[f64]]| all.iter().map(|s| s.to_vec()).collect::<Vec<_>>();
        let w = Workload {
            name: "w".into(),
            metrics: vec![
                Metric::new("elapsed", "s", false, lists(elapsed)),
                Metric::new("user", "s", false, lists(elapsed)),
            ],
            counters: vec![Counter { name: "numa_pages_migrated".into(), samples: lists(migrated) }],
            ..Workload::default()
        };
        let kernels = ["base", "a=1", "a=2"].iter().take(elapsed.len()).map(|n| Kernel::named(n)).collect();
        Comparison { kernels, workloads: vec![w], ..Comparison::default() }
    }

    #[test]
    fn changes_of_both_sides_stand_beside_each_other() {
        let kernel = comparison(
            &[&[100.0, 101.0, 99.0], &[200.0, 202.0, 198.0], &[100.0, 99.0, 101.0]],
            &[&[10.0, 10.1, 9.9], &[8.0, 8.1, 7.9], &[12.0, 12.1, 11.9]],
        );
        let simulator = comparison(
            &[&[50.0, 51.0, 49.0], &[90.0, 91.0, 89.0], &[50.0, 49.0, 51.0]],
            &[&[1.0, 1.01, 0.99], &[1.2, 1.21, 1.19], &[1.0, 0.99, 1.01]],
        );
        let rows = rows(&kernel, &simulator);
        let found: Vec<_> = rows.iter().map(|r| (r.column.as_str(), r.metric.as_str(), r.sides())).collect();
        assert_eq!(
            found,
            [
                ("a=1", "elapsed", Sides::Opposite),
                ("a=1", "numa_pages_migrated", Sides::Agree),
                ("a=2", "elapsed", Sides::KernelOnly),
                ("a=2", "numa_pages_migrated", Sides::NeitherClear),
            ]
        );
        assert_eq!(rows[1].kernel.change_percent, Some(100.0));
        assert_eq!(rows[1].kernel.runs, (3, 3));
        let page = markdown(&rows);
        assert!(page.contains("| w | a=1 | numa_pages_migrated | +100.0 % (p "), "{page}");
        assert!(page.contains("4 figures; agree: 1, neither is clear: 1, only the kernel: 1, opposite: 1."), "{page}");
        assert_eq!(text(&rows).lines().count(), 6);
    }

    #[test]
    fn one_run_a_side_is_never_clear_and_what_one_side_lacks_is_left_out() {
        let kernel = comparison(&[&[100.0], &[900.0], &[0.0]], &[&[1.0], &[2.0], &[3.0]]);
        let simulator = comparison(&[&[0.0], &[900.0]], &[&[1.0], &[2.0]]);
        let rows = rows(&kernel, &simulator);
        assert!(rows.iter().all(|r| r.column == "a=1" && r.sides() == Sides::NeitherClear), "{rows:?}");
        assert_eq!(rows.len(), 2);
        assert!(text(&rows).contains("+900.0 from 0 (not tested)"), "{}", text(&rows));
        assert_eq!(text(&[]).lines().last(), Some("0 figures; nothing on both sides."));
    }
}
