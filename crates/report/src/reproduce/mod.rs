//! Published beside simulated: the table of `numalab reproduce`, with its score.
//!
//! Problem: a reproduction is worth what it says about its misses. Approach: every published cell has a simulated one and
//! both have a ratio to their own baseline; cells that calibrated the model count for nothing, all others are predictions
//! and are scored, and every miss is listed with what is suspected behind it.
//!
//! Definitions. *Within X*: both ratios exist, are positive, and the larger over the smaller is at most X; or both are 0.
//! *Direction right*: both ratios are on the same side of 1; a published ratio of exactly 1 wants a simulated one within 1 %.
//! Where the baseline has none of something, the ratio of whoever has some is without limit, which is above 1.
//! Ratios themselves are given, not computed here: what a cell's baseline is belongs to the published table.

mod repeats;

pub use repeats::{repeats, Repeat};

use serde::Serialize;

use crate::format::readable;
use crate::json::{pretty, JsonError};
use crate::order::unique;
use numalab_model::published::Expect;

/// How near a simulated ratio must be to a published ratio of exactly 1.
const UNCHANGED: f64 = 0.01;
/// Slack of that comparison, so that 1.01 itself is near enough in binary.
const SLACK: f64 = 1e-9;
/// The near band.
const NEAR: f64 = 1.25;
/// The wide band.
const WIDE: f64 = 2.0;

/// What a cell is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The amount of work was chosen so that this cell fits; not scored.
    Calibrated,
    /// Came out by itself; scored.
    Predicted,
}

/// A published cell and its simulated counterpart.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cell {
    /// Identifier in the published table.
    pub id: String,
    /// Which table of the mail.
    pub group: String,
    /// Column.
    pub kernel: String,
    /// Row.
    pub metric: String,
    /// Published value.
    pub published: Option<f64>,
    /// Simulated value; `None` if there was no such run.
    pub simulated: Option<f64>,
    /// Published value over that of the baseline column.
    pub published_ratio: Option<f64>,
    /// Simulated value over that of the simulated baseline column.
    pub simulated_ratio: Option<f64>,
    /// What the cell is for.
    pub role: Role,
    /// The cell belongs to the baseline column, so its ratio is 1 by definition; not scored.
    pub baseline: bool,
    /// What is suspected behind a miss; not part of the JSON form.
    #[serde(skip)]
    pub note: String,
}

impl Cell {
    fn ratios(&self) -> Option<(f64, f64)> {
        self.published_ratio.zip(self.simulated_ratio)
    }
    /// How far apart the ratios are, at least 1; `None` if one is missing or not positive.
    pub fn factor(&self) -> Option<f64> {
        match self.ratios()? {
            // Neither happened at all.
            (0.0, 0.0) => Some(1.0),
            (p, s) if p > 0.0 && s > 0.0 => Some((p / s).max(s / p)).filter(|f| f.is_finite()),
            _ => None,
        }
    }
    /// Whether the ratios are within `bound` of each other.
    pub fn within(&self, bound: f64) -> bool {
        self.factor().is_some_and(|f| f <= bound)
    }
    /// Whether the change went the published way.
    pub fn direction_right(&self) -> bool {
        match self.ratios() {
            Some((1.0, s)) => (s - 1.0).abs() <= UNCHANGED + SLACK,
            Some((p, s)) => (p > 1.0 && s > 1.0) || (p < 1.0 && s < 1.0),
            None => false,
        }
    }
    fn scored(&self) -> bool {
        self.role == Role::Predicted && !self.baseline
    }
    fn missed(&self) -> bool {
        self.scored() && !(self.direction_right() && self.within(NEAR))
    }
    /// One sign per cell: how well it came out.
    fn sign(&self) -> char {
        match self.role {
            Role::Calibrated => 'c',
            Role::Predicted if self.baseline => ' ',
            Role::Predicted if !self.direction_right() => '!',
            Role::Predicted if self.within(NEAR) => '=',
            Role::Predicted if self.within(WIDE) => '~',
            Role::Predicted => '>',
        }
    }
}

/// How well the predictions came out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Score {
    /// Predicted cells.
    pub predicted: usize,
    /// Of these, direction right.
    pub direction_right: usize,
    /// Of these, ratio within 1.25.
    pub within_1_25: usize,
    /// Of these, ratio within 2.
    pub within_2: usize,
}

/// Counts the predicted cells outside the baseline column, whose ratios say nothing.
pub fn score(cells: &[Cell]) -> Score {
    let mut out = Score::default();
    for c in cells.iter().filter(|c| c.scored()) {
        out.predicted += 1;
        out.direction_right += usize::from(c.direction_right());
        out.within_1_25 += usize::from(c.within(NEAR));
        out.within_2 += usize::from(c.within(WIDE));
    }
    out
}

impl Score {
    /// Which counts are below those a published file expects, as a line; `None` if none is.
    pub fn regression(&self, expect: &Expect) -> Option<String> {
        let counts = [
            ("direction right", self.direction_right, expect.direction_right),
            ("within 1.25", self.within_1_25, expect.within_1_25),
            ("within 2", self.within_2, expect.within_2),
        ];
        let worse: Vec<String> =
            counts.iter().filter(|c| c.1 < c.2).map(|(what, got, want)| format!("{what} {got} of {want}")).collect();
        (!worse.is_empty()).then(|| format!("worse than the file expects: {}\n", worse.join(", ")))
    }
}

#[derive(Serialize)]
struct Json<'a> {
    mail: &'a str,
    cells: &'a [Cell],
    score: Score,
    repeats: Vec<repeats::Scores<'a>>,
}

/// The JSON form: `mail`, `cells`, `score`, `repeats`.
///
/// # Errors
/// [`JsonError`], which the types rule out but the interface does not.
pub fn json(mail: &str, cells: &[Cell], repeats: &[Repeat]) -> Result<String, JsonError> {
    pretty(&Json { mail, cells, score: score(cells), repeats: repeats.iter().map(Into::into).collect() })
}

/// The text form: one table per group with kernels as columns, the score, the misses.
pub fn text(mail: &str, cells: &[Cell]) -> String {
    let mut out = format!("{mail}: published beside simulated\n");
    for group in unique(cells.iter().map(|c| c.group.as_str())) {
        let members: Vec<&Cell> = cells.iter().filter(|c| c.group == group).collect();
        out.push_str(&format!("\n{group}\n"));
        out.push_str(&table(&members));
    }
    let s = score(cells);
    out.push_str(&format!(
        "\nPredicted {}: direction right {}, ratio within 1.25 {}, within 2 {}\n",
        s.predicted, s.direction_right, s.within_1_25, s.within_2
    ));
    out.push_str("c calibrated   = within 1.25   ~ within 2   > direction only   ! direction wrong or no figure\n");
    let misses: Vec<String> = cells.iter().filter(|c| c.missed()).map(miss).collect();
    if !misses.is_empty() {
        out.push_str(&format!("\nMisses ({})\n{}", misses.len(), misses.concat()));
    }
    out
}

/// How the changes of a group came out, one line per column: rows whose direction is right, and the mean absolute error
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

/// How the changes of a group came out in a column.
struct Changes {
    rows: usize,
    /// Of these, with the published direction.
    right: usize,
    /// Mean absolute error, points.
    points: f64,
}

/// Rows without a figure count as wrong and are left out of the mean; `None` if the column has no row of the group to score.
fn changes(cells: &[Cell], group: &str, kernel: &str) -> Option<Changes> {
    let scored: Vec<&Cell> = cells.iter().filter(|c| c.group == group && c.kernel == kernel && c.scored()).collect();
    let errors: Vec<f64> = scored.iter().filter_map(|c| c.ratios()).map(|(p, s)| 100.0 * (s - p).abs()).collect();
    (!scored.is_empty()).then(|| Changes {
        rows: scored.len(),
        right: scored.iter().filter(|c| c.direction_right()).count(),
        points: errors.iter().sum::<f64>() / errors.len().max(1) as f64,
    })
}

/// One line: what, how many predictions, and how well they came out.
pub fn score_line(what: &str, cells: &[Cell]) -> String {
    let s = score(cells);
    let percent = |n: usize| if s.predicted == 0 { 0.0 } else { 100.0 * n as f64 / s.predicted as f64 };
    format!(
        "{what}: predicted {}, direction right {} ({:.0} %), within 1.25 {} ({:.0} %), within 2 {} ({:.0} %)\n",
        s.predicted,
        s.direction_right,
        percent(s.direction_right),
        s.within_1_25,
        percent(s.within_1_25),
        s.within_2,
        percent(s.within_2),
    )
}

/// Two lines per metric: values, then ratios to the baseline with the sign of the prediction.
fn table(cells: &[&Cell]) -> String {
    let kernels = unique(cells.iter().map(|c| c.kernel.as_str()));
    let metrics = unique(cells.iter().map(|c| c.metric.as_str()));
    let mut lines: Vec<(String, Vec<[String; 3]>)> = Vec::new();
    for metric in metrics {
        let of = |kernel: &str| cells.iter().find(|c| c.metric == metric && c.kernel == kernel);
        let values = kernels.iter().map(|k| of(k).map_or_else(empty, |c| values(c)));
        lines.push((metric.to_string(), values.collect()));
        let ratios = kernels.iter().map(|k| of(k).map_or_else(empty, |c| ratios(c)));
        lines.push(("  ratio".into(), ratios.collect()));
    }
    let heading = vec![["published".into(), "simulated".into(), String::new()]; kernels.len()];
    lines.insert(0, (String::new(), heading));
    render(&kernels, &lines)
}

fn render(kernels: &[&str], lines: &[(String, Vec<[String; 3]>)]) -> String {
    let chars = |s: &str| s.chars().count();
    let label = lines.iter().map(|l| chars(&l.0)).max().unwrap_or(0);
    let width = |k: usize, part: usize| lines.iter().map(|l| chars(&l.1[k][part])).max().unwrap_or(0);
    let widths: Vec<(usize, usize)> = kernels
        .iter()
        .enumerate()
        .map(|(k, name)| {
            let (a, b) = (width(k, 0), width(k, 1));
            // A long kernel name widens the first part of its column.
            (a.max(chars(name).saturating_sub(b + 2)), b)
        })
        .collect();
    let mut out = " ".repeat(label);
    for (name, (a, b)) in kernels.iter().zip(&widths) {
        out.push_str(&format!("  {name:>w$}  ", w = a + b + 2));
    }
    out = format!("{}\n", out.trim_end());
    for (name, parts) in lines {
        let mut line = format!("{name:<label$}");
        for ([p, s, sign], (a, b)) in parts.iter().zip(&widths) {
            line.push_str(&format!("  {p:>a$}  {s:>b$} {sign:1}"));
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

fn empty() -> [String; 3] {
    ["".into(), "".into(), "".into()]
}

fn values(c: &Cell) -> [String; 3] {
    [number(c.published), number(c.simulated), String::new()]
}

fn ratios(c: &Cell) -> [String; 3] {
    let ratio =
        |r: Option<f64>| r.map_or_else(|| "-".to_string(), |x| if x >= 100.0 { any(x) } else { format!("{x:.3}") });
    [ratio(c.published_ratio), ratio(c.simulated_ratio), c.sign().to_string()]
}

/// A ratio, also to nothing at all.
fn any(x: f64) -> String {
    if x.is_finite() {
        readable(x)
    } else {
        "∞".to_string()
    }
}

fn number(x: Option<f64>) -> String {
    x.map_or_else(|| "-".to_string(), readable)
}

/// One line per miss: where, how far, and what is suspected.
fn miss(c: &Cell) -> String {
    let far = match (c.ratios(), c.factor()) {
        (None, _) => "no figure".to_string(),
        (Some((p, s)), factor) => {
            let wrong = if c.direction_right() { "" } else { ", direction wrong" };
            let by = factor.map_or_else(String::new, |f| format!(", off by {f:.2}"));
            format!("ratio {} published, {} simulated{by}{wrong}", any(p), any(s))
        }
    };
    let note = if c.note.is_empty() { "no mechanism suspected yet" } else { &c.note };
    format!("  {} {} {} on {}: {far}; {note}\n", c.id, c.group, c.metric, c.kernel)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(kernel: &str, role: Role, published: Option<f64>, simulated: Option<f64>) -> Cell {
        Cell {
            id: format!("000.1.{kernel}"),
            group: "manual run".into(),
            kernel: kernel.into(),
            metric: "real [s]".into(),
            published: published.map(|r| 61.507 * r),
            simulated: simulated.map(|r| 60.0 * r),
            published_ratio: published,
            simulated_ratio: simulated,
            role,
            baseline: false,
            note: String::new(),
        }
    }

    fn predicted(p: f64, s: f64) -> Cell {
        cell("k", Role::Predicted, Some(p), Some(s))
    }

    #[test]
    fn more_than_nothing_goes_up() {
        let up = predicted(289.0, f64::INFINITY);
        assert!(up.direction_right() && !up.within(2.0) && up.factor().is_none());
        assert_eq!(ratios(&up), ["289.0", "∞", ">"].map(str::to_string));
        assert!(miss(&up).contains("ratio 289.0 published, ∞ simulated; "), "{}", miss(&up));
        assert!(!predicted(0.5, f64::INFINITY).direction_right());
    }

    #[test]
    fn within_is_symmetric_and_needs_ratios_that_are_positive_or_both_0() {
        assert!(predicted(1.0, 1.25).within(1.25) && predicted(1.25, 1.0).within(1.25));
        assert!(!predicted(1.0, 1.2501).within(1.25));
        assert!(predicted(0.0, 0.0).within(1.0) && !predicted(0.0, 0.1).within(2.0));
        assert!(!cell("k", Role::Predicted, Some(1.0), None).within(2.0));
    }

    #[test]
    fn direction_is_the_side_of_one() {
        assert!(predicted(1.3, 1.001).direction_right());
        assert!(predicted(0.5, 0.99).direction_right());
        assert!(predicted(0.0, 0.2).direction_right(), "a published fall to zero has a direction");
        assert!(!predicted(1.3, 1.0).direction_right());
        assert!(!predicted(1.3, 0.9).direction_right());
        assert!(predicted(1.0, 1.01).direction_right() && predicted(1.0, 0.99).direction_right());
        assert!(!predicted(1.0, 1.011).direction_right());
        assert!(!cell("k", Role::Predicted, Some(1.3), None).direction_right());
    }

    fn sample() -> Vec<Cell> {
        vec![
            cell("base-numascan", Role::Calibrated, Some(1.0), Some(1.0)),
            cell("base", Role::Predicted, Some(1.354), Some(1.3)),
            cell("base+fix", Role::Predicted, Some(1.018), Some(0.97)),
            Cell { note: "scan budget per VMA".into(), ..cell("off", Role::Predicted, Some(2.0), None) },
        ]
    }

    #[test]
    fn baseline_cells_do_not_count() {
        let mut cells = sample();
        let before = score(&cells);
        cells.push(Cell { baseline: true, ..predicted(1.0, 1.0) });
        assert_eq!(score(&cells), before);
    }

    #[test]
    fn score_counts_predictions_only() {
        let want = Score { predicted: 3, direction_right: 1, within_1_25: 2, within_2: 2 };
        assert_eq!(score(&sample()), want);
    }

    #[test]
    fn fewer_than_expected_are_named() {
        let got = Score { predicted: 3, direction_right: 1, within_1_25: 2, within_2: 2 };
        let expect = |direction_right, within_1_25, within_2| Expect { direction_right, within_1_25, within_2 };
        assert_eq!(got.regression(&expect(1, 1, 2)), None, "more than expected is none");
        let want = "worse than the file expects: direction right 1 of 2, within 2 2 of 3\n";
        assert_eq!(got.regression(&expect(2, 2, 3)).as_deref(), Some(want));
    }

    #[test]
    fn json_form_is_exact() {
        let text = json("000", &sample()[..1], &[]).unwrap();
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        let want = serde_json::json!({
            "mail": "000",
            "cells": [{
                "id": "000.1.base-numascan", "group": "manual run", "kernel": "base-numascan", "metric": "real [s]",
                "published": 61.507, "simulated": 60.0, "published_ratio": 1.0, "simulated_ratio": 1.0, "role": "calibrated",
                "baseline": false
            }],
            "score": {"predicted": 0, "direction_right": 0, "within_1_25": 0, "within_2": 0},
            "repeats": []
        });
        assert_eq!(value, want);
        assert!(json("000", &sample(), &[]).unwrap().contains("\"simulated_ratio\": null"));
    }

    #[test]
    fn the_score_can_be_counted_from_the_cells_of_the_json_form() {
        let mut cells = sample();
        cells.push(Cell { baseline: true, ..predicted(1.0, 1.0) });
        let value: serde_json::Value = serde_json::from_str(&json("000", &cells, &[]).unwrap()).unwrap();
        let scored = |c: &&serde_json::Value| c["role"] == "predicted" && c["baseline"] == false;
        let count = value["cells"].as_array().unwrap().iter().filter(scored).count();
        assert_eq!(value["score"]["predicted"], count);
    }

    #[test]
    fn gains_are_judged_in_points() {
        let mut cells = vec![predicted(1.10, 1.07), predicted(1.20, 1.25), predicted(0.95, 1.01)];
        cells.push(Cell { simulated_ratio: None, ..predicted(1.3, 1.3) });
        cells.push(Cell { baseline: true, ..predicted(1.0, 1.0) });
        let want = "manual run, k: direction right in 2 of 4 rows, mean absolute error of the change 4.7 points\n";
        assert_eq!(gains(&cells, "manual run"), want);
        assert_eq!(gains(&cells, "another"), "");
    }

    #[test]
    fn text_form() {
        let want = "\
000: published beside simulated

manual run
                 base-numascan                    base                base+fix                     off
          published  simulated    published  simulated    published  simulated    published  simulated
real [s]      61.51      60.00        83.28      78.00        62.61      58.20        123.0          -
  ratio       1.000      1.000 c      1.354      1.300 =      1.018      0.970 !      2.000          - !

Predicted 3: direction right 1, ratio within 1.25 2, within 2 2
c calibrated   = within 1.25   ~ within 2   > direction only   ! direction wrong or no figure

Misses (2)
  000.1.base+fix manual run real [s] on base+fix: ratio 1.02 published, 0.9700 simulated, off by 1.05, direction wrong; no mechanism suspected yet
  000.1.off manual run real [s] on off: no figure; scan budget per VMA
";
        assert_eq!(text("000", &sample()), want);
    }
}
