//! Markdown: one table per workload, means only, for issue trackers and commit messages.

use numalab_stats::star::StarRule;

use crate::data::{Comparison, Workload};
use crate::legend;
use crate::statistics::Stat;
use crate::tables::monitor::{self, VmstatRows};
use crate::tables::{comparison_tables, Cell, Table, TableOptions};
use crate::text::mmtests::heading_lines;
use crate::text::summary;

/// The whole report. Stars become bold percentages; the answer in short is included if `short`.
pub fn report(c: &Comparison, options: &TableOptions, short: bool) -> String {
    let mut out = String::new();
    for w in &c.workloads {
        out.push_str(&format!("### {}\n\n", escape(&w.name)));
        out.push_str(&workload(c, w, options));
        out.push('\n');
    }
    if short {
        out.push_str(&answers(c));
    }
    let origin = heading_lines(c);
    if !origin.is_empty() {
        out.push_str(&format!("{}.\n\n", escape(&origin.join("; "))));
    }
    let rule = options.rule.legend().trim_start_matches("* ");
    out.push_str(&format!("Baseline: {}. Positive percent = better. Bold: {rule}.\n", escape(c.baseline_name())));
    for line in legend::notes(c, options.rule) {
        out.push_str(&format!("- {}\n", escape(&line)));
    }
    out
}

/// The answer in short as a list, with the costs as lists below.
fn answers(c: &Comparison) -> String {
    let text = summary::text(c);
    let mut lines = text.lines().filter(|l| !l.is_empty());
    let Some(head) = lines.next() else { return String::new() };
    let item = |line: &str| match line.strip_prefix("    ") {
        Some(cost) => format!("  - {}\n", escape(cost)),
        None => format!("- {}\n", escape(line)),
    };
    format!("{}:\n\n{}\n", escape(head), lines.map(item).collect::<String>())
}

fn workload(c: &Comparison, w: &Workload, options: &TableOptions) -> String {
    let mut out = String::from("| |");
    for k in &c.kernels {
        out.push_str(&format!(" {} |", escape(&k.run_name())));
    }
    out.push_str("\n|---|");
    out.push_str(&"---:|".repeat(c.kernels.len()));
    out.push('\n');
    let means = TableOptions { keep: mean_labels(options), ..options.clone() };
    for t in comparison_tables(c, w, &means) {
        out.push_str(&rows(&t));
    }
    for t in monitor::vmstat(c, w, VmstatRows::NonZero, true).into_iter().chain(monitor::derived(c, w)) {
        out.push_str(&rows(&t));
    }
    out
}

/// Labels of the rows that are kept: the mean of either kind, and single values.
fn mean_labels(options: &TableOptions) -> Vec<String> {
    use numalab_stats::Mean::{Arithmetic, Harmonic};
    let spread = options.rule == StarRule::GenC;
    let mut labels: Vec<String> =
        [Harmonic, Arithmetic].map(|m| Stat::Mean.label(m, options.labels, spread, "")).to_vec();
    labels.extend(["", "MB/sec"].map(|unit| Stat::Value.label(Arithmetic, options.labels, spread, unit)));
    labels
}

fn rows(t: &Table) -> String {
    let mut out = String::new();
    for row in &t.rows {
        out.push_str(&format!("| {} {} |", row.stat, escape(&row.operation)));
        for cell in &row.cells {
            out.push_str(&format!(" {} |", self::cell(cell, t)));
        }
        out.push('\n');
    }
    out
}

/// Value and percentage; a dash if a figure does not exist.
fn cell(cell: &Cell, t: &Table) -> String {
    let Some(value) = cell.value.filter(|v| v.is_finite()) else { return "–".into() };
    let value = crate::format::fixed(value, 0, t.decimals);
    if !t.percents {
        return value;
    }
    let Some(percent) = cell.percent.filter(|p| p.is_finite()) else { return format!("{value} (–)") };
    let percent = crate::format::fixed(percent, 0, 2);
    if cell.star {
        format!("{value} (**{percent}%**)")
    } else {
        format!("{value} ({percent}%)")
    }
}

/// Escapes vertical bars, which would end a cell.
fn escape(text: &str) -> String {
    text.replace('|', "\\|")
}
