//! How well a measurement agrees with itself: other published runs of the same tests, scored as if they were
//! predictions.
//!
//! Approach: a repeat is a list of cells like any other, in which the second measurement stands in the place of the
//! simulated figures. The simulation of the same cells is kept beside it. Both have the same score, so they can be
//! compared.

use super::cell::Cell;
use super::score::{changes, score, Score};
use crate::order::unique;
use serde::Serialize;

/// Other published runs of some cells of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Repeat {
    /// Name of the runs.
    pub name: String,
    /// Author and date.
    pub source: String,
    /// The cells that were measured again, with the new figures in the place of the simulated ones.
    pub again: Vec<Cell>,
    /// The same cells with their simulated figures.
    pub simulated: Vec<Cell>,
}

/// The JSON form of a repeat.
#[derive(Serialize)]
pub(super) struct Scores<'a> {
    name: &'a str,
    source: &'a str,
    score: Score,
    simulated: Score,
}

impl<'a> From<&'a Repeat> for Scores<'a> {
    fn from(r: &'a Repeat) -> Self {
        Self { name: &r.name, source: &r.source, score: score(&r.again), simulated: score(&r.simulated) }
    }
}

/// The text form: a line per repeat with the number of its cells that agree with the table, and in brackets the number
/// of simulated cells that do. For each group in `judged` a further line has the error of the changes.
pub fn repeats(list: &[Repeat], judged: &[&str]) -> String {
    let list: Vec<&Repeat> = list.iter().filter(|r| score(&r.again).predicted > 0).collect();
    if list.is_empty() {
        return String::new();
    }
    let mut out =
        String::from("Measured again, scored as if predicted (in brackets: what is simulated, for the same cells)\n");
    for r in list {
        let (a, s) = (score(&r.again), score(&r.simulated));
        out.push_str(&format!(
            "  {} ({}): of {} cells direction right {} ({}), ratio within 1.25 {} ({}), within 2 {} ({})\n",
            r.name,
            r.source,
            a.predicted,
            a.direction_right,
            s.direction_right,
            a.within_1_25,
            s.within_1_25,
            a.within_2,
            s.within_2
        ));
        for group in judged {
            for kernel in unique(r.again.iter().map(|c| c.kernel.as_str())) {
                let of = |cells: &[Cell]| changes(cells, group, kernel);
                let (Some(a), Some(s)) = (of(&r.again), of(&r.simulated)) else { continue };
                out.push_str(&format!(
                    "    {group}, {kernel}: direction right in {} ({}) of {} rows, mean absolute error of the change {:.1} ({:.1}) points\n",
                    a.right, s.right, a.rows, a.points, s.points
                ));
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::Role;
    use super::*;

    fn cell(published: f64, simulated: f64) -> Cell {
        Cell {
            id: "r".into(),
            group: "g".into(),
            kernel: "k".into(),
            metric: "m".into(),
            figure: crate::trust::FigureKind::Elapsed,
            published: Some(published),
            simulated: Some(simulated),
            published_ratio: Some(published),
            simulated_ratio: Some(simulated),
            role: Role::Predicted,
            derived: String::new(),
            band: None,
            baseline: false,
            note: String::new(),
        }
    }

    #[test]
    fn a_repeat_is_scored_beside_the_simulation_of_its_cells() {
        let r = Repeat {
            name: "later".into(),
            source: "somebody".into(),
            again: vec![cell(1.1, 1.2), cell(0.9, 1.3)],
            simulated: vec![cell(1.1, 3.0), cell(0.9, 0.8)],
        };
        let text = repeats(std::slice::from_ref(&r), &["g", "another"]);
        let want = "  later (somebody): of 2 cells direction right 1 (2), ratio within 1.25 1 (1), within 2 2 (1)\n";
        assert!(text.contains(want), "{text}");
        let want =
            "    g, k: direction right in 1 (2) of 2 rows, mean absolute error of the change 25.0 (100.0) points\n";
        assert!(text.ends_with(want), "{text}");
        let none = Repeat { again: vec![Cell { baseline: true, ..cell(1.0, 1.0) }], simulated: Vec::new(), ..r };
        assert_eq!(repeats(&[none], &[]), "", "cells of the baseline say nothing");
    }
}
