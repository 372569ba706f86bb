//! A table before layout: rows of cells with a value, a percentage and a star.

use numalab_stats::Better;

/// A table with one column per kernel.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// Rows in print order.
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
    /// Whether more or less is better; without meaning if there are no percentages.
    pub better: Better,
}

/// A row: one statistic of one operation.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Statistic, e.g. `Amean`, `Ops`.
    pub stat: String,
    /// Operation, e.g. `elsp-NUMA01`.
    pub operation: String,
    /// One cell per kernel.
    pub cells: Vec<Cell>,
}

/// A cell: the figure of one kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cell {
    /// Value, unrounded. `None` prints as a dash in every form: there were no runs, a single run has no spread, or a
    /// share has no whole.
    pub value: Option<f64>,
    /// Percentage against the baseline; plus is better, or more if the table has no direction. `None` if one of the two
    /// has no value.
    pub percent: Option<f64>,
    /// Whether the difference is significant.
    pub star: bool,
}

impl Table {
    /// Widens the label columns to the labels of the present rows.
    pub(crate) fn fit_labels(&mut self) {
        for row in &self.rows {
            self.stat_width = self.stat_width.max(row.stat.chars().count());
            self.operation_width = self.operation_width.max(row.operation.chars().count());
        }
    }
}
