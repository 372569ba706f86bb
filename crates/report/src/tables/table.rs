//! A table before layout: rows of cells with a value, a percentage and a star.

use numalab_stats::Better;

/// A table with one column per kernel.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// Rows, in print order.
    pub rows: Vec<Row>,
    /// Width of the widest statistic label of the family, shown or not.
    pub stat_width: usize,
    /// Width of the widest operation.
    pub operation_width: usize,
    /// Width of a value, characters.
    pub value_width: usize,
    /// Decimals of a value.
    pub decimals: usize,
    /// Whether cells carry a percentage (monitor tables do not).
    pub percents: bool,
    /// Direction of its operations; without meaning where there are no percentages.
    pub better: Better,
}

/// A row.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Statistic, e.g. `Amean`, `Ops`.
    pub stat: String,
    /// Operation, e.g. `elsp-NUMA01`.
    pub operation: String,
    /// One cell per kernel.
    pub cells: Vec<Cell>,
}

/// A cell.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cell {
    /// Value, unrounded; `None` if there is none (no runs, the spread of one run, a share of nothing): a dash in every form.
    pub value: Option<f64>,
    /// Percent against the baseline, plus is better (in a neutral table: more); `None` if one of them has no value.
    pub percent: Option<f64>,
    /// Significant.
    pub star: bool,
}

impl Table {
    /// Sets the label widths to the widest of the present rows, if that is more.
    pub(crate) fn fit_labels(&mut self) {
        for row in &self.rows {
            self.stat_width = self.stat_width.max(row.stat.chars().count());
            self.operation_width = self.operation_width.max(row.operation.chars().count());
        }
    }
}
