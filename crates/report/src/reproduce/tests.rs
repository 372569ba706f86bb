//! Scores and forms of made-up cells.

use super::text::{miss, ratios};
use super::*;
use numalab_model::published::Expect;

fn cell(kernel: &str, role: Role, published: Option<f64>, simulated: Option<f64>) -> Cell {
    Cell {
        id: format!("000.1.{kernel}"),
        group: "manual run".into(),
        kernel: kernel.into(),
        metric: "real [s]".into(),
        figure: crate::trust::FigureKind::Elapsed,
        published: published.map(|r| 61.507 * r),
        simulated: simulated.map(|r| 60.0 * r),
        published_ratio: published,
        simulated_ratio: simulated,
        role,
        derived: String::new(),
        band: None,
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
    let want = Score { predicted: 3, direction_right: 1, within_1_25: 2, within_2: 2, ..Score::default() };
    assert_eq!(score(&sample()), want);
}

/// Cells that something was derived from are named with the reason, and no count has them, however well they came out.
#[test]
fn derived_cells_are_named_and_not_counted() {
    let mut cells = sample();
    let before = score(&cells);
    let derived = Cell { derived: "the cost of a fault".into(), ..cell("k", Role::Derived, Some(2.0), Some(2.0)) };
    cells.push(derived.clone());
    cells.push(Cell { kernel: "wrong".into(), simulated_ratio: Some(0.1), ..derived.clone() });
    cells.push(Cell { baseline: true, ..derived.clone() });
    assert_eq!(score(&cells), Score { derived: 2, ..before });
    let text = text("000", &cells, 200);
    let want = "Predicted 3: direction right 1, ratio within 1.25 2, within 2 2; derived, not counted: 2\n";
    assert!(text.contains(want), "{text}");
    let want = "Derived, not counted (2)\n  manual run, real [s] (2): the cost of a fault\n";
    assert!(text.contains(want), "{text}");
    assert!(text.contains("Misses (2)"), "a derived cell is no miss: {text}");
    assert!(score_line("total", &cells).ends_with("; derived, not counted: 2\n"));
    assert_eq!(gains(&cells, "manual run"), gains(&sample(), "manual run"));
    assert_eq!(ratios(&derived), ["2.000", "2.000", "d"].map(str::to_string));
    let json: serde_json::Value = serde_json::from_str(&json("000", &[derived], &[]).unwrap()).unwrap();
    assert_eq!(
        (&json["cells"][0]["role"], &json["cells"][0]["derived"]),
        (&"derived".into(), &"the cost of a fault".into())
    );
    assert_eq!((&json["score"]["predicted"], &json["score"]["derived"]), (&0.into(), &1.into()));
}

#[test]
fn fewer_than_expected_are_named() {
    let got = Score { predicted: 3, direction_right: 1, within_1_25: 2, within_2: 2, ..Score::default() };
    let expect = |direction_right, within_1_25, within_2| Expect {
        direction_right,
        within_1_25,
        within_2,
        in_band: 0,
        runs: None,
    };
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
            "figure": "elapsed", "published": 61.507, "simulated": 60.0, "published_ratio": 1.0, "simulated_ratio": 1.0, "role": "calibrated",
            "baseline": false
        }],
        "score": {"predicted": 0, "derived": 0, "direction_right": 0, "within_1_25": 0, "within_2": 0,
                  "banded": 0, "in_band": 0},
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
000: 1 of 3 directions as published; 2 sizes within a factor of 1.25 and 2 within 2

manual run
                 base-numascan                    base                base+fix                     off
          published  simulated    published  simulated    published  simulated    published  simulated
real [s]      61.51      60.00        83.28      78.00        62.61      58.20        123.0          -
  ratio       1.000      1.000 c      1.354      1.300 =      1.018      0.970 !      2.000          - !

Predicted 3: direction right 1, ratio within 1.25 2, within 2 2
c calibrated   d derived   = within 1.25   ~ within 2   > direction only   ! direction wrong or no figure

Misses (2)
  000.1.base+fix manual run real [s] on base+fix: ratio 1.02 published, 0.9700 simulated, off by 1.05, direction wrong; no mechanism suspected yet
  000.1.off manual run real [s] on off: no figure; scan budget per VMA
";
    assert_eq!(text("000", &sample(), 200), want);
}

#[test]
fn a_cell_is_in_its_band_or_a_miss() {
    let of = |simulated| Cell { band: Some((1.2, 1.5)), ..predicted(1.33, simulated) };
    assert_eq!([1.19, 1.2, 1.5, 1.51].map(|s| of(s).in_band()), [Some(false), Some(true), Some(true), Some(false)]);
    assert_eq!(predicted(1.33, 1.3).in_band(), None);
    assert_eq!(Cell { simulated_ratio: None, ..of(1.0) }.in_band(), Some(false));
    let cells = [of(1.3), of(1.63), predicted(1.0, 1.0)];
    let s = score(&cells);
    assert_eq!((s.predicted, s.within_1_25, s.banded, s.in_band), (3, 3, 2, 1));
    assert!(score_line("t", &cells).contains("within 2 3 (100 %), in its band 1 of 2"), "{}", score_line("t", &cells));
    assert!(
        text("t", &cells, 200).contains("1.63 simulated, off by 1.23, outside 1.2 to 1.5;"),
        "{}",
        text("t", &cells, 200)
    );
    let expect = Expect { direction_right: 0, within_1_25: 0, within_2: 0, in_band: 2, runs: None };
    assert_eq!(s.regression(&expect).as_deref(), Some("worse than the file expects: in its band 1 of 2\n"));
}
