//! Snapshots: series of a single sample, taken at the end of a run, as tables.
//!
//! Problem: some backends read where pages and faults ended up only when the workload has ended, which makes no chart.
//! Approach: one folded table per workload and series. A row is a column of the series; a column is the first completed
//! run of each kernel.

use super::input::{Input, Run};
use super::markup::Html;
use crate::format::human;
use crate::order::unique;
use numalab_model::record::{Series, Status};

/// Most rows of a table.
const MAX_ROWS: usize = 200;

/// Whether a series has a single sample.
pub fn is_snapshot(s: &Series) -> bool {
    s.time_ns.len() == 1
}

/// The tables of all workloads; empty if no run has a snapshot.
pub fn render(input: &Input<'_>) -> Html {
    let mut h = Html::new();
    for (w, workload) in input.comparison.workloads.iter().enumerate() {
        // A run that was cut off has not reached its final placement.
        let completed = |r: &&Run<'_>| r.outcome.status == Status::Completed;
        let first = |kernel: usize| input.runs.iter().filter(completed).find(|r| r.workload == w && r.kernel == kernel);
        let runs: Vec<Option<&Run<'_>>> = (0..input.comparison.kernels.len()).map(first).collect();
        let snapshots = runs.iter().flatten().flat_map(|r| &r.outcome.series).filter(|s| is_snapshot(s));
        for name in unique(snapshots.map(|s| s.name.as_str())) {
            table(&mut h, input, &workload.name, name, &runs);
        }
    }
    h
}

fn table(h: &mut Html, input: &Input<'_>, workload: &str, name: &str, runs: &[Option<&Run<'_>>]) {
    let of = |r: &Option<&Run<'_>>| {
        r.and_then(|r| r.outcome.series.iter().find(|s| s.name == name && is_snapshot(s)).cloned())
    };
    let all: Vec<Option<Series>> = runs.iter().map(of).collect();
    let rows = unique(all.iter().flatten().flat_map(|s| &s.columns).map(String::as_str));
    let unit = all.iter().flatten().next().map_or("", |s| s.unit.as_str());
    h.raw("<details class=\"block\"><summary>At the end: ").text(name).raw(", ").text(workload);
    h.raw(" <span class=\"count\">").count(rows.len(), "row").raw("</span></summary>");
    h.raw("<p class=\"note\">Read once, when the first completed run of each kernel ended; unit: ").text(unit).raw(".");
    if rows.len() > MAX_ROWS {
        h.raw(" Only the first ").show(MAX_ROWS).raw(" rows are shown; all are in the records.");
    }
    h.raw("</p><div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"At the end\"><table class=\"figures compact\">");
    h.raw("<thead><tr><th scope=\"col\">Of</th>");
    for kernel in &input.comparison.kernels {
        h.element("th", &[("scope", "col"), ("class", "num")], &kernel.run_name());
    }
    h.raw("</tr></thead><tbody>");
    for row in rows.into_iter().take(MAX_ROWS) {
        h.raw("<tr>").element("th", &[("scope", "row")], row);
        for s in &all {
            let at = s.as_ref().and_then(|s| s.columns.iter().position(|c| c == row).map(|i| (s, i)));
            let value = at.and_then(|(s, i)| s.values.get(i)?.first().copied());
            h.element("td", &[("class", "num")], &value.map_or("–".into(), human));
        }
        h.raw("</tr>");
    }
    h.raw("</tbody></table></div></details>");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Comparison, Kernel, Workload};
    use numalab_model::record::Outcome;

    #[test]
    fn a_single_sample_is_a_table_and_no_chart() {
        let series = |values: Vec<f64>| Series {
            name: "placement".into(),
            unit: "pages".into(),
            columns: vec!["heap/node0".into()],
            time_ns: (1..=values.len() as u64).collect(),
            values: vec![values],
        };
        let outcome = |values| Outcome { series: vec![series(values)], ..Outcome::default() };
        let (once, often) = (outcome(vec![16_384.0]), outcome(vec![1.0, 2.0]));
        let c = Comparison {
            kernels: vec![Kernel::named("a"), Kernel::named("b")],
            workloads: vec![Workload { name: "w".into(), ..Workload::default() }],
            ..Comparison::default()
        };
        let run = |kernel, outcome| Run { workload: 0, kernel, seed: 1, outcome };
        let page = |runs| render(&Input { runs, ..Input::new("t", &c) }).into_string();
        let text = page(vec![run(0, &once), run(1, &often)]);
        assert!(
            text.contains("At the end: placement, w") && text.contains("16.38\u{a0}k") && text.contains('–'),
            "{text}"
        );
        assert_eq!(page(vec![run(1, &often)]), "");
        assert!(!super::super::timeline::any(&Input { runs: vec![run(0, &once)], ..Input::new("t", &c) }));
    }
}
