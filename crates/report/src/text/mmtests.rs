//! The mmtests layout, which kernel developers know as "an mmtests comparison" (mmtests-report.md §1).
//!
//! Two heading lines without rules, a column of labels (statistic and operation), and cells of value and percentage.
//! Positions are exact: tests compare the text byte for byte.

use crate::data::{Comparison, Kernel, Workload};
use crate::format::fixed;
use crate::legend;
use crate::tables::monitor::{self, VmstatRows};
use crate::tables::{comparison_tables, Cell, Table, TableOptions};
use crate::text::summary;

/// Characters of a cell beyond the value: blank, parenthesis, percentage as %7.2f, percent sign, parenthesis.
const PERCENT_WIDTH: usize = 11;

/// What the report shows.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// How comparison tables are built.
    pub table: TableOptions,
    /// Which rows the vmstat table has.
    pub vmstat: VmstatRows,
    /// Whether the figures that mmtests computes wrong are added, computed right, under other names.
    pub corrected: bool,
    /// Whether the derived figures are added.
    pub derived: bool,
    /// Whether the skips and refusals are added, by reason.
    pub reasons: bool,
    /// Whether the answer in short is added below the tables. It has no meaning for selected figures
    /// ([`crate::select`]).
    pub summary: bool,
    /// Whether the heading, the legend and the notes are added.
    pub legend: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            table: TableOptions::default(),
            vmstat: VmstatRows::NonZero,
            corrected: true,
            derived: true,
            reasons: true,
            summary: true,
            legend: true,
        }
    }
}

/// The whole report.
pub fn report(c: &Comparison, options: &Options) -> String {
    let mut out = String::new();
    if options.legend {
        heading_lines(c).iter().for_each(|line| out.push_str(&format!("{line}\n")));
    }
    for w in &c.workloads {
        out.push_str(&workload(c, w, options));
    }
    if options.summary {
        out.push_str(&summary::text(c));
    }
    if options.legend {
        out.push_str(&legend::text(c, options.table.rule));
    }
    out
}

/// What was run, in two or three lines; empty if it is not known.
pub fn heading_lines(c: &Comparison) -> Vec<String> {
    let kernels: Vec<&str> = c.kernels.iter().map(|k| k.name.as_str()).collect();
    c.origin.as_ref().map_or_else(Vec::new, |o| o.lines(&kernels))
}

/// One workload: its name, then comparison tables, durations, vmstat rows, derived figures and reasons, each after a
/// blank line.
pub fn workload(c: &Comparison, w: &Workload, options: &Options) -> String {
    let mut out = format!("\n{}\n", w.name);
    let mut blocks: Vec<Table> = comparison_tables(c, w, &options.table);
    blocks.extend(monitor::duration(c, w, options.table.value_width));
    blocks.extend(monitor::vmstat(c, w, options.vmstat, options.corrected));
    if options.derived {
        blocks.extend(monitor::derived(c, w));
    }
    if options.reasons {
        blocks.extend(monitor::reasons(c, w, options.vmstat));
    }
    let blocks: Vec<String> = blocks.iter().map(|t| table(c, t, LongNames::Widen)).collect();
    out.push_str(&blocks.join("\n"));
    out
}

/// What a kernel name does that is longer than its column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LongNames {
    /// It widens the column, so that every name stands over its figures.
    Widen,
    /// It pushes the names to its right away from their figures, as in mmtests and therefore in published tables.
    Push,
}

/// One table with its two heading lines.
pub fn table(c: &Comparison, t: &Table, long: LongNames) -> String {
    let label_width = t.stat_width + 1 + t.operation_width;
    let cell_width = if t.percents { t.value_width + PERCENT_WIDTH } else { t.value_width };
    let headings: Vec<(String, String)> = c.kernels.iter().map(of_column).collect();
    let names = |h: &(String, String)| [h.0.chars().count(), h.1.chars().count()];
    // A blank stays before every name, which mmtests does not ensure.
    let needed = |i: usize, name: usize| cell_width.max(name + usize::from(i > 0));
    let width = |(i, h)| match long {
        LongNames::Widen => names(h).map(|n| needed(i, n)).into_iter().fold(cell_width, usize::max),
        LongNames::Push => cell_width,
    };
    let widths: Vec<usize> = headings.iter().enumerate().map(width).collect();
    let mut out = String::new();
    for line in 0..2 {
        out.push_str(&" ".repeat(label_width));
        for (i, h) in headings.iter().enumerate() {
            let text = if line == 0 { &h.0 } else { &h.1 };
            let width = widths[i].max(needed(i, names(h)[line]));
            out.push_str(&format!("{text:>width$}"));
        }
        out.push('\n');
    }
    for row in &t.rows {
        out.push_str(&format!("{:<w$} {:<o$}", row.stat, row.operation, w = t.stat_width, o = t.operation_width));
        for (cell, width) in row.cells.iter().zip(&widths) {
            out.push_str(&format!("{:>width$}", self::cell(cell, t)));
        }
        out.truncate(out.trim_end().len());
        out.push('\n');
    }
    out
}

/// A cell: the value, a blank, and the percentage in parentheses, or in asterisks if it is significant. A figure that
/// does not exist is a dash; mmtests prints 0.00 (0.00%) there, which looks like a measurement.
fn cell(cell: &Cell, t: &Table) -> String {
    let width = t.value_width;
    let Some(value) = cell.value.filter(|v| v.is_finite()) else {
        let blanks = if t.percents { PERCENT_WIDTH } else { 0 };
        return format!("{:>width$}{}", "-", " ".repeat(blanks));
    };
    let value = fixed(value, width, t.decimals);
    if !t.percents {
        return value;
    }
    let Some(percent) = cell.percent.filter(|p| p.is_finite()) else { return format!("{value} ({:>7} )", "-") };
    let percent = fixed(percent, 7, 2);
    if cell.star {
        format!("{value} *{percent}%*")
    } else {
        format!("{value} ({percent}%)")
    }
}

/// The two heading lines of a column. A column with a mark has its whole name on the first line and the mark on the
/// second, so that no name is divided. Others are divided as in mmtests.
fn of_column(k: &Kernel) -> (String, String) {
    if k.mark.is_empty() {
        heading(&k.name)
    } else {
        (k.name.clone(), k.mark.clone())
    }
}

/// The two heading lines of a run name (§1.2). The name is cut at the first hyphen, but `-rcN` of a release candidate
/// stays on line 1.
///
/// Two oddities of mmtests are not copied: here `-rc10` stays whole, and a name without hyphen stays whole on line 1.
pub fn heading(name: &str) -> (String, String) {
    let Some(hyphen) = name.find('-') else { return (name.to_string(), String::new()) };
    let rest = &name[hyphen + 1..];
    let digits = rest.strip_prefix("rc").map_or(0, |r| r.bytes().take_while(u8::is_ascii_digit).count());
    if digits == 0 {
        return (name[..hyphen].to_string(), rest.to_string());
    }
    let cut = hyphen + 1 + 2 + digits;
    let second = &name[cut..];
    (name[..cut].to_string(), second.strip_prefix('-').unwrap_or(second).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_marked_column_is_not_divided() {
        let marked = |name: &str| of_column(&Kernel { name: name.into(), mark: "sim".into(), ..Kernel::default() });
        for name in ["larger-window", "6.4-rc2+rfc-v3", "6.12[scan.scan_size_mb=512]"] {
            assert_eq!(marked(name), (name.to_string(), "sim".to_string()));
        }
        assert_eq!(of_column(&Kernel::named("5.16.0-vanilla")), ("5.16.0".to_string(), "vanilla".to_string()));
    }

    #[test]
    fn section_1_2_headings() {
        let cases = [
            ("5.16.0-rc1-vanilla", "5.16.0-rc1", "vanilla"),
            ("6.4.0-rc2-base+fix", "6.4.0-rc2", "base+fix"),
            ("3.7.0-stats-v2r1", "3.7.0", "stats-v2r1"),
            // The two oddities of mmtests that are not copied.
            ("6.6.0-rc10-x", "6.6.0-rc10", "x"),
            ("fast", "fast", ""),
            ("6.4-rc2+rfc-v3-sim", "6.4-rc2", "+rfc-v3-sim"),
            ("6.1-rc", "6.1", "rc"),
            ("6.4-rc2", "6.4-rc2", ""),
            ("", "", ""),
        ];
        for (name, first, second) in cases {
            assert_eq!(heading(name), (first.to_string(), second.to_string()), "{name}");
        }
    }
}
