//! What a knob changes on a real kernel, where the simulator has no such decision.
//!
//! As [`sides`](crate::sides), with one side: the change of every column and figure against the first column, with
//! Welch's test after Holm's correction over all rows. Units: percent.

use crate::data::Comparison;
use crate::sides::{correct, figures, side, Side};

/// A figure of a column.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Workload, with the machine if there are several.
    pub workload: String,
    /// Column.
    pub column: String,
    /// Figure.
    pub metric: String,
    /// What the column changed.
    pub kernel: Side,
    /// Means of the first column and of this one.
    pub means: (f64, f64),
}

/// The rows of all columns but the first, by workload, then column.
pub fn rows(kernel: &Comparison) -> Vec<Row> {
    let mut out = Vec::new();
    for w in &kernel.workloads {
        for k in kernel.others() {
            for m in figures(w) {
                let means = m.mean_of(kernel.baseline).zip(m.mean_of(k));
                if let Some((means, changed)) = means.zip(side(&m, (kernel.baseline, k))) {
                    let (workload, column) = (w.name.clone(), kernel.kernels[k].name.clone());
                    out.push(Row { workload, column, metric: m.name, kernel: changed, means });
                }
            }
        }
    }
    correct(&mut out, |row| &mut row.kernel);
    out
}

/// The table as text.
pub fn text(rows: &[Row]) -> String {
    let line = |r: &Row| format!("{}  {}  {}  {}\n", r.workload, r.column, r.metric, r.kernel.text());
    rows.iter().map(line).collect::<String>() + &sum(rows) + "\n"
}

/// The table as Markdown.
pub fn markdown(rows: &[Row]) -> String {
    let mut out =
        String::from("| workload | column | figure | default | column's | kernel |\n|---|---|---|---:|---:|---:|\n");
    for row in rows {
        let cells = [&row.workload, &row.column, &row.metric].map(|cell| cell.replace('|', "\\|"));
        let means = [row.means.0, row.means.1].map(crate::format::significant);
        out += &format!("| {} | {} | {} |\n", cells.join(" | "), means.join(" | "), row.kernel.text());
    }
    format!("{out}\n{}\n", sum(rows))
}

/// "12 figures; 3 are clear."
fn sum(rows: &[Row]) -> String {
    format!("{} figures in guests alone; clear: {}.", rows.len(), rows.iter().filter(|r| r.kernel.is_clear()).count())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Counter, Kernel, Metric, Workload};

    #[test]
    fn every_column_stands_beside_the_first_and_what_is_clear_is_counted() {
        let lists = |all: [[f64; 3]; 2]| all.iter().map(|s| s.to_vec()).collect::<Vec<_>>();
        let w = Workload {
            name: "w".into(),
            metrics: vec![
                Metric::new("elapsed", "s", false, lists([[10.0, 10.1, 9.9], [8.0, 8.1, 7.9]])),
                Metric::new("user", "s", false, lists([[1.0; 3], [2.0; 3]])),
            ],
            counters: vec![Counter {
                name: "numa_pages_migrated".into(),
                samples: lists([[100.0, 110.0, 90.0], [101.0, 111.0, 91.0]]),
            }],
            ..Workload::default()
        };
        let kernels = ["base", "task_migrate=none"].map(Kernel::named).to_vec();
        let rows = rows(&Comparison { kernels, workloads: vec![w], ..Comparison::default() });
        let found: Vec<_> = rows.iter().map(|r| (r.metric.as_str(), r.kernel.is_clear())).collect();
        assert_eq!(found, [("elapsed", true), ("numa_pages_migrated", false)]);
        let page = markdown(&rows);
        assert!(page.contains("| w | task_migrate=none | elapsed | 10.00 | 8.000 | -20.0 % (p "), "{page}");
        assert!(page.contains("2 figures in guests alone; clear: 1."), "{page}");
        assert!(text(&rows).ends_with("clear: 1.\n"));
    }
}
