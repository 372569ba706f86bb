//! Monitor tables: durations, vmstat rows, reasons and derived figures, without percentages and stars
//! (mmtests-report.md §2).
//!
//! mmtests prints sums over the runs of a kernel. Sums of different numbers of runs cannot be compared, and here runs
//! without a result are left out. Where that leaves kernels with different numbers of runs, every sum is divided by its
//! number of runs, and the labels say `/run`. Shares and rates are the same in both forms.

use super::table::{Cell, Row, Table};
use super::vmstat::{Deltas, OpsRow, CORRECTED, ROWS};
use crate::data::{Comparison, Metric, Workload};
use numalab_stats::describe;

/// Width of a value in the vmstat table.
const VMSTAT_WIDTH: usize = 15;

/// How monitor tables combine the completed runs of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aggregate {
    /// The sum over the runs, as in mmtests.
    Sum,
    /// The mean of the runs, because kernels have different numbers of completed runs.
    PerRun,
}

impl Aggregate {
    /// [`Aggregate::PerRun`] if two kernels with figures have different numbers of completed runs, else
    /// [`Aggregate::Sum`].
    pub fn of(w: &Workload) -> Self {
        let mut counts = (0..w.runs.len()).map(|k| w.runs_of(k).completed()).filter(|n| *n > 0);
        let first = counts.next();
        if counts.any(|n| Some(n) != first) {
            Aggregate::PerRun
        } else {
            Aggregate::Sum
        }
    }
    /// The divisor of a sum over the runs of a kernel.
    fn divisor(self, w: &Workload, kernel: usize) -> f64 {
        match self {
            Aggregate::Sum => 1.0,
            Aggregate::PerRun => w.runs_of(kernel).completed().max(1) as f64,
        }
    }
    /// The label of rows of sums: `Ops`, or `Ops/run` if they are divided.
    fn label(self, stat: &str) -> String {
        match self {
            Aggregate::Sum => stat.to_string(),
            Aggregate::PerRun => format!("{stat}/run"),
        }
    }
}

/// User, system and elapsed time of the completed runs of each kernel; `None` if no times were recorded.
pub fn duration(c: &Comparison, w: &Workload, value_width: usize) -> Option<Table> {
    w.durations.iter().flatten().next()?;
    let aggregate = Aggregate::of(w);
    let row = |operation: &str, f: fn(&crate::data::Duration) -> f64| {
        let value = |k| w.duration(k).map(|d| f(&d) / aggregate.divisor(w, k));
        row(&aggregate.label("Duration"), operation, (0..c.kernels.len()).map(value))
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

/// Which `Ops` rows are printed. Authors of mails cut rows of zeros by hand. The positions of columns do not change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum VmstatRows {
    /// All 62 rows, as in mmtests.
    All,
    /// Rows that are not zero for every kernel, and the NUMA rows in any case, where a zero is an answer.
    #[default]
    NonZero,
}

/// The `Ops` rows, followed by the corrected rows if `corrected`; `None` if no counters were recorded.
pub fn vmstat(c: &Comparison, w: &Workload, which: VmstatRows, corrected: bool) -> Option<Table> {
    if w.counters.is_empty() {
        return None;
    }
    let deltas: Vec<Option<Deltas>> = (0..c.kernels.len()).map(|k| w.measured(k).then(|| deltas(w, k))).collect();
    let label = Aggregate::of(w).label("Ops");
    let ops = |(name, f): &OpsRow| row(&label, name, deltas.iter().map(|d| d.as_ref().map(f)));
    let mut rows: Vec<Row> = ROWS.iter().map(ops).collect();
    if corrected {
        rows.extend(CORRECTED.iter().map(ops));
    }
    let mut t = table(rows, VMSTAT_WIDTH);
    if which == VmstatRows::NonZero {
        let subject = |r: &Row| r.operation.starts_with("NUMA ") || r.operation == "AutoNUMA cost";
        let counted: Vec<String> = t.rows.iter().filter(|r| counts(r)).map(|r| r.operation.clone()).collect();
        // An efficiency is 100 where nothing was scanned, so it is kept only where pages were scanned.
        let whole = |r: &Row| match r.operation.as_str() {
            "Kswapd efficiency %" => counted.iter().any(|name| name == "Kswapd pages scanned"),
            "Direct efficiency %" => counted.iter().any(|name| name == "Direct pages scanned"),
            _ => true,
        };
        t.rows.retain(|r| subject(r) || (counts(r) && whole(r)));
    }
    Some(t)
}

/// Whether the row is not 0 for some kernel.
fn counts(row: &Row) -> bool {
    row.cells.iter().any(|cell| cell.value.is_some_and(|v| v != 0.0))
}

/// Growth of the counters of a kernel: the sum over its completed runs, or their mean.
pub fn deltas(w: &Workload, kernel: usize) -> Deltas {
    let runs = Aggregate::of(w).divisor(w, kernel);
    let counters = w.counters.iter().filter(|c| !c.of(kernel).is_empty());
    let growth = counters.map(|c| (c.name.as_str(), c.of(kernel).iter().sum::<f64>() / runs));
    Deltas::new(growth, w.duration(kernel).map_or(0.0, |d| d.elapsed_s / runs))
}

/// Skips and refusals of each kernel, by reason; `None` if there are no rows. A kernel whose runs do not report a
/// reason has no figure there.
pub fn reasons(c: &Comparison, w: &Workload, which: VmstatRows) -> Option<Table> {
    let aggregate = Aggregate::of(w);
    let sum = |r: &crate::data::Counter, k: usize| {
        (!r.of(k).is_empty()).then(|| r.of(k).iter().sum::<f64>() / aggregate.divisor(w, k))
    };
    let label = aggregate.label("Reason");
    let rows = w.reasons.iter().map(|r| row(&label, &r.name, (0..c.kernels.len()).map(|k| sum(r, k))));
    let rows: Vec<Row> = rows.filter(|r| which == VmstatRows::All || counts(r)).collect();
    (!rows.is_empty()).then(|| table(rows, VMSTAT_WIDTH))
}

/// Derived figures, mean over the runs, as `Ops` rows under their names; `None` if there are none.
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
