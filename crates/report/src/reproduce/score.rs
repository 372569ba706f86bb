//! Scores: how many predicted cells came out well, and the error of predicted changes.

use super::cell::{Cell, Role, NEAR, WIDE};
use crate::order::unique;
use numalab_model::published::Expect;
use serde::Serialize;

/// How many predicted cells came out well.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Score {
    /// Number of predicted cells.
    pub predicted: usize,
    /// Number of derived cells outside the baseline column. No other count has them.
    pub derived: usize,
    /// Predicted cells whose direction is right.
    pub direction_right: usize,
    /// Predicted cells whose ratio is within 1.25.
    pub within_1_25: usize,
    /// Predicted cells whose ratio is within 2.
    pub within_2: usize,
    /// Predicted cells with a band.
    pub banded: usize,
    /// Predicted cells whose ratio is in their band.
    pub in_band: usize,
}

/// Scores the predicted cells outside the baseline column, where all ratios are 1.
pub fn score(cells: &[Cell]) -> Score {
    let derived = cells.iter().filter(|c| c.role == Role::Derived && !c.baseline).count();
    let mut out = Score { derived, ..Score::default() };
    for c in cells.iter().filter(|c| c.is_scored()) {
        out.predicted += 1;
        out.direction_right += usize::from(c.direction_right());
        out.within_1_25 += usize::from(c.within(NEAR));
        out.within_2 += usize::from(c.within(WIDE));
        out.banded += usize::from(c.band.is_some());
        out.in_band += usize::from(c.in_band() == Some(true));
    }
    out
}

impl Score {
    /// A line with the counts that are below those a published file expects; `None` if none is.
    pub fn regression(&self, expect: &Expect) -> Option<String> {
        let counts = [
            ("direction right", self.direction_right, expect.direction_right),
            ("within 1.25", self.within_1_25, expect.within_1_25),
            ("within 2", self.within_2, expect.within_2),
            ("in its band", self.in_band, expect.in_band),
        ];
        let worse: Vec<String> =
            counts.iter().filter(|c| c.1 < c.2).map(|(what, got, want)| format!("{what} {got} of {want}")).collect();
        (!worse.is_empty()).then(|| format!("worse than the file expects: {}\n", worse.join(", ")))
    }
}

/// A line with the score of `cells`, called `what`.
pub fn score_line(what: &str, cells: &[Cell]) -> String {
    let s = score(cells);
    let percent = |n: usize| if s.predicted == 0 { 0.0 } else { 100.0 * n as f64 / s.predicted as f64 };
    format!(
        "{what}: predicted {}, direction right {} ({:.0} %), within 1.25 {} ({:.0} %), within 2 {} ({:.0} %){}{}\n",
        s.predicted,
        s.direction_right,
        percent(s.direction_right),
        s.within_1_25,
        percent(s.within_1_25),
        s.within_2,
        percent(s.within_2),
        in_bands(&s),
        left_out(s.derived),
    )
}

/// The part of a score's line on bands. Empty if no cell has one.
pub(super) fn in_bands(s: &Score) -> String {
    match s.banded {
        0 => String::new(),
        n => format!(", in its band {} of {n}", s.in_band),
    }
}

/// The end of a score's line: how many cells it leaves out because they are derived. Empty if none are.
pub(super) fn left_out(derived: usize) -> String {
    match derived {
        0 => String::new(),
        n => format!("; derived, not counted: {n}"),
    }
}

/// One line per column on the changes of a group: how many rows have the right direction, and the mean absolute error
/// of the change, in points. Rows without a figure count as wrong and are left out of the mean.
pub fn gains(cells: &[Cell], group: &str) -> String {
    let mut out = String::new();
    for kernel in unique(cells.iter().map(|c| c.kernel.as_str())) {
        let Some(c) = changes(cells, group, kernel) else { continue };
        out.push_str(&format!(
            "{group}, {kernel}: direction right in {} of {} rows, mean absolute error of the change {:.1} points\n",
            c.right, c.rows, c.points
        ));
    }
    out
}

/// Score of the changes of a group in one column.
pub(super) struct Changes {
    /// Rows that are scored.
    pub(super) rows: usize,
    /// Rows whose direction is right.
    pub(super) right: usize,
    /// Mean absolute error of the change, points.
    pub(super) points: f64,
}

/// Scores the changes of a group in a column. Rows without a figure count as wrong and are left out of the mean. `None`
/// if there is no row to score.
pub(super) fn changes(cells: &[Cell], group: &str, kernel: &str) -> Option<Changes> {
    let scored: Vec<&Cell> = cells.iter().filter(|c| c.group == group && c.kernel == kernel && c.is_scored()).collect();
    let errors: Vec<f64> = scored.iter().filter_map(|c| c.ratios()).map(|(p, s)| 100.0 * (s - p).abs()).collect();
    (!scored.is_empty()).then(|| Changes {
        rows: scored.len(),
        right: scored.iter().filter(|c| c.direction_right()).count(),
        points: errors.iter().sum::<f64>() / errors.len().max(1) as f64,
    })
}
