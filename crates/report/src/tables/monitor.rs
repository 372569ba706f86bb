//! Monitor tables: Duration and vmstat; no percentages, no stars (mmtests-report.md §2).

use super::vmstat::{Deltas, OpsRow, CORRECTED, ROWS};
use super::{Cell, Row, Table};
use crate::data::{Comparison, Metric, Workload};
use numalab_stats::describe;

/// Width of a value in the vmstat table.
const VMSTAT_WIDTH: usize = 15;

/// User, System and Elapsed of all completed runs of each kernel; `None` if nothing was timed.
pub fn duration(c: &Comparison, w: &Workload, value_width: usize) -> Option<Table> {
    w.durations.iter().flatten().next()?;
    let row = |operation: &str, f: fn(&crate::data::Duration) -> f64| {
        let value = |k| w.duration(k).map(|d| f(&d));
        row("Duration", operation, (0..c.kernels.len()).map(value))
    };
    let rows = vec![row("User", |d| d.user_s), row("System", |d| d.system_s), row("Elapsed", |d| d.elapsed_s)];
    Some(table(rows, value_width))
}

fn row(stat: &str, operation: &str, values: impl Iterator<Item = Option<f64>>) -> Row {
    let cells = values.map(|value| Cell { value, ..Cell::default() }).collect();
    Row { stat: stat.into(), operation: operation.into(), cells }
}

fn table(rows: Vec<Row>, value_width: usize) -> Table {
    let mut t = Table { rows, value_width, decimals: 2, ..Table::default() };
    t.fit_labels();
    t
}

/// Which `Ops` rows are printed; mail authors cut the zero ones by hand. Positions do not change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum VmstatRows {
    /// All 62, as mmtests does.
    All,
    /// Those that are not zero for every kernel, and the NUMA rows in any case: there a zero is an answer.
    #[default]
    NonZero,
}

/// The `Ops` rows, with the corrected ones behind them if asked; `None` if no counters were recorded.
pub fn vmstat(c: &Comparison, w: &Workload, which: VmstatRows, corrected: bool) -> Option<Table> {
    if w.counters.is_empty() {
        return None;
    }
    let deltas: Vec<Option<Deltas>> = (0..c.kernels.len()).map(|k| w.measured(k).then(|| deltas(w, k))).collect();
    let ops = |(name, f): &OpsRow| row("Ops", name, deltas.iter().map(|d| d.as_ref().map(f)));
    let mut rows: Vec<Row> = ROWS.iter().map(ops).collect();
    if corrected {
        rows.extend(CORRECTED.iter().map(ops));
    }
    let mut t = table(rows, VMSTAT_WIDTH);
    if which == VmstatRows::NonZero {
        let subject = |r: &Row| r.operation.starts_with("NUMA ") || r.operation == "AutoNUMA cost";
        t.rows.retain(|r| subject(r) || counts(r));
    }
    Some(t)
}

/// Whether any kernel has something other than 0 in a row.
fn counts(row: &Row) -> bool {
    row.cells.iter().any(|cell| cell.value.is_some_and(|v| v != 0.0))
}

/// Growth of the counters over all completed runs of a kernel.
pub fn deltas(w: &Workload, kernel: usize) -> Deltas {
    let growth =
        w.counters.iter().filter(|c| !c.of(kernel).is_empty()).map(|c| (c.name.as_str(), c.of(kernel).iter().sum()));
    Deltas::new(growth, w.duration(kernel).map_or(0.0, |d| d.elapsed_s))
}

/// Skips and refusals over all completed runs of each kernel, by reason; `None` if there are no rows.
pub fn reasons(c: &Comparison, w: &Workload, which: VmstatRows) -> Option<Table> {
    let sum = |r: &crate::data::Counter, k: usize| w.measured(k).then(|| r.of(k).iter().sum());
    let rows = w.reasons.iter().map(|r| row("Reason", &r.name, (0..c.kernels.len()).map(|k| sum(r, k))));
    let rows: Vec<Row> = rows.filter(|r| which == VmstatRows::All || counts(r)).collect();
    (!rows.is_empty()).then(|| table(rows, VMSTAT_WIDTH))
}

/// Figures derived from counters (mean over the runs), as `Ops` rows under their titles; `None` if there are none.
pub fn derived(c: &Comparison, w: &Workload) -> Option<Table> {
    if w.derived.is_empty() {
        return None;
    }
    let value = |m: &Metric, k| describe::amean(m.of(k));
    let rows = w.derived.iter().map(|m| {
        let title = if m.unit.is_empty() { m.name.clone() } else { format!("{} [{}]", m.name, m.unit) };
        row("Ops", &title, (0..c.kernels.len()).map(|k| value(m, k)))
    });
    Some(table(rows.collect(), VMSTAT_WIDTH))
}
