//! The comparison as text: for every counter, reason and node, the values of both sides and their ratio.

use super::calibrate;
use super::compare::Workload;
use super::compared::Compared;
use super::row::{Row, CLOSE, NEAR};
use super::shares;

/// The tables of an image and their score.
pub fn text(of: &Compared) -> String {
    let mut out = format!("{} on {} against the simulated {}\n", of.image, of.machine, of.kernel);
    out += &calibrate::text(&of.calibration);
    for side in &of.thp {
        out += &format!("\nhuge pages: {}\n", side.thp);
        out += &tables(&side.workloads);
    }
    for run in &of.timeouts {
        out += &format!("not compared, it reached its limit of time: {run}\n");
    }
    out
}

/// The rows of every workload, and the score.
fn tables(report: &[Workload]) -> String {
    let mut out = String::new();
    for w in report {
        out += &format!(
            "\n{:<30}{:>12}{:>12}{:>12}{:>14}{:>8}\n",
            w.name, "kernel min", "median", "max", "simulated", "ratio"
        );
        for r in &w.rows {
            let ratio = r.ratio().map_or("-".into(), |x| format!("{x:.2}"));
            let (min, median, max, sim) = (short(r.min), short(r.median), short(r.max), short(r.simulated));
            out += &format!("{:<30}{min:>12}{median:>12}{max:>12}{sim:>14}{ratio:>8} {}\n", r.name, r.mark());
        }
        out += &shares::text(&w.shares);
    }
    let all: Vec<&Row> = report.iter().flat_map(|w| &w.rows).collect();
    let within = |limit: f64| all.iter().filter(|r| r.off_by() <= limit).count();
    out += &format!(
        "\n{} figures: {} inside the kernel's own range, {} within {CLOSE} of it, {} within {NEAR}\n",
        all.len(),
        within(1.0),
        within(CLOSE),
        within(NEAR)
    );
    out += "= inside the range   + within 1.25 of it   ~ within 2   ! further off\n";
    let score = shares::score(report.iter().flat_map(|w| &w.shares));
    if !score.is_empty() {
        out += &format!("\n{score}\n* tells them apart\n");
    }
    out
}

/// A figure with two decimals, or none if it is whole or large.
fn short(v: f64) -> String {
    if v.fract() == 0.0 || v.abs() >= 1e5 {
        format!("{v:.0}")
    } else {
        format!("{v:.2}")
    }
}
