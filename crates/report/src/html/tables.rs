//! The tables of the text report as tables of the page.
//!
//! The cells are those of [`crate::tables`], with the same figures and signs; plus is better. A star stands beside the
//! percentage and colours the cell green or red, as in mmtests' own HTML. An arrow and a hidden word say the same
//! without colour.

use super::glossary::Glossary;
use super::input::Input;
use super::markup::Html;
use crate::data::{Comparison, Workload};
use crate::format::{fixed, shows};
use crate::tables::monitor::{self, Aggregate, VmstatRows};
use crate::tables::{comparison_tables, Cell, Row, Table, TableOptions};
use numalab_model::record::TIMES;
use numalab_stats::Better;

/// Note below the comparison tables.
const STAR_NOTE: &str =
    "As in mmtests: plus is better in every row, whatever its direction. A star and a coloured cell mark a \
                         significant mean; the rule is named below.";

/// Note below the comparison tables of runs that all take the same time.
const FIXED_NOTE: &str =
    "As in mmtests: plus is better in every row, whatever its direction. A star and a coloured cell mark a significant \
     mean; the rule is named below. The runs have a fixed duration, so times are neither better nor worse and have no mark.";

/// A table of a workload with its title.
pub struct Block {
    /// Title.
    pub title: &'static str,
    /// Note below the title.
    pub note: &'static str,
    /// The table.
    pub table: Table,
}

/// Every table of a workload, in the order of the text report.
pub fn blocks(input: &Input<'_>, w: &Workload) -> Vec<Block> {
    let c = input.comparison;
    let options = TableOptions { rule: input.rule, ..TableOptions::default() };
    let mut out: Vec<Block> = Vec::new();
    let mut add = |title, note, table: Option<Table>| {
        out.extend(table.filter(|t| !t.rows.is_empty()).map(|table| Block { title, note, table }));
    };
    for table in comparison_tables(c, w, &options) {
        let title = match table.better {
            Better::Higher => "Comparison: more is better",
            Better::Lower => "Comparison: less is better",
            Better::Neutral => "Comparison: neither more nor less is better",
        };
        let note = if w.fixed_duration() { FIXED_NOTE } else { STAR_NOTE };
        add(title, note, Some(table));
    }
    let [duration, ops, reasons] = notes(Aggregate::of(w));
    add("Duration", duration, monitor::duration(c, w, 12));
    add("Ops", ops, monitor::vmstat(c, w, VmstatRows::NonZero, true));
    add("Derived", "Figures computed from counters run by run; the mean of the runs.", monitor::derived(c, w));
    add("Reasons", reasons, monitor::reasons(c, w, VmstatRows::NonZero));
    out
}

/// Notes below the titles of durations, counters and reasons.
fn notes(aggregate: Aggregate) -> [&'static str; 3] {
    match aggregate {
        Aggregate::Sum => [
            "Seconds of all completed runs of a kernel together, all threads.",
            "Growth of kernel counters over all completed runs of a kernel together, in the order and with the names of mmtests.",
            "Skips and refusals of the simulator over all completed runs of a kernel together.",
        ],
        Aggregate::PerRun => [
            "Seconds of one completed run on average, all threads: kernels have different numbers of completed runs.",
            "Growth of kernel counters over one completed run on average, as kernels have different numbers of them, in the order \
             and with the names of mmtests.",
            "Skips and refusals of the simulator over one completed run on average, as kernels have different numbers of them.",
        ],
    }
}

/// The tables of a workload as HTML.
pub fn render(input: &Input<'_>, glossary: &Glossary, w: &Workload, blocks: &[Block]) -> Html {
    let mut h = Html::new();
    for b in blocks {
        h.raw("<details class=\"block\"><summary>")
            .raw(b.title)
            .raw(" <span class=\"count\">")
            .count(b.table.rows.len(), "row")
            .raw("</span></summary>");
        h.raw("<p class=\"note\">").raw(b.note).raw("</p>");
        let label = format!("{}: {}", b.title, w.name);
        h.raw("<div class=\"scroll\" tabindex=\"0\" role=\"region\"").raw(" aria-label=\"").text(&label).raw("\">");
        table(&mut h, input.comparison, glossary, &b.table, w.fixed_duration());
        h.raw("</div></details>");
    }
    h
}

fn table(h: &mut Html, c: &Comparison, glossary: &Glossary, t: &Table, fixed_duration: bool) {
    // One cell holds both words, so that it stays in place as a whole when the table is scrolled.
    h.raw("<table class=\"figures two\"><thead><tr><th scope=\"col\"><span class=\"stat\">Statistic</span> <span>Of</span></th>");
    for (k, kernel) in c.kernels.iter().enumerate() {
        h.raw("<th scope=\"col\" class=\"num\">").text(&kernel.run_name());
        if k == c.baseline {
            h.raw(" <span class=\"tag\">baseline</span>");
        }
        h.raw("</th>");
    }
    h.raw("</tr></thead><tbody>");
    for row in &t.rows {
        h.raw(if emphasised(row) { "<tr class=\"mean\">" } else { "<tr>" });
        h.raw("<th scope=\"row\"><span class=\"stat\">");
        glossary.term(h, &row.stat);
        h.raw("</span> <span>");
        operation(h, glossary, &row.operation);
        h.raw("</span></th>");
        let judged = !(fixed_duration && TIMES.contains(&row.operation.as_str()));
        for (k, value) in row.cells.iter().enumerate() {
            cell(h, value, t, k == c.baseline, judged);
        }
        h.raw("</tr>");
    }
    h.raw("</tbody></table>");
}

fn emphasised(row: &Row) -> bool {
    matches!(row.stat.as_str(), "Amean" | "Hmean")
}

/// Writes an operation. A derived figure has its unit in brackets behind its name, which is not part of the term.
fn operation(h: &mut Html, glossary: &Glossary, operation: &str) {
    let name = operation.split(" [").next().unwrap_or(operation);
    let name = if glossary.has(operation) { operation } else { name };
    glossary.term_as(h, name, operation);
}

/// Writes a cell. One that is not judged has its percentage without a mark.
fn cell(h: &mut Html, cell: &Cell, t: &Table, baseline: bool, judged: bool) {
    let value = match cell.value.filter(|v| v.is_finite()) {
        None => "–".to_string(),
        Some(value) => fixed(value, 0, t.decimals),
    };
    if !t.percents || baseline || cell.value.is_none() {
        h.element("td", &[("class", "num")], &value);
        return;
    }
    let Some(percent) = cell.percent.filter(|p| p.is_finite()) else {
        h.open("td", &[("class", "num")]).element("span", &[("class", "v")], &value);
        h.raw(" <span class=\"p\">–</span></td>");
        return;
    };
    // A change that prints as 0.00 is neither better nor worse.
    let (class, sign, word) = match percent {
        p if !shows(p) || t.better == Better::Neutral || !judged => ("same", "", ""),
        p if p > 0.0 => ("better", "▲", "better"),
        _ => ("worse", "▼", "worse"),
    };
    let star = cell.star && judged;
    let class = if star { format!("num star {class}") } else { format!("num {class}") };
    h.open("td", &[("class", &class)]).element("span", &[("class", "v")], &value);
    h.raw(" <span class=\"p\"><span aria-hidden=\"true\">").text(sign).raw("</span>").text(&format!("{percent:+.2}%"));
    if star {
        h.raw("<sup aria-hidden=\"true\">*</sup><span class=\"hidden\"> significant,</span>");
    }
    h.raw("<span class=\"hidden\"> ").text(word).raw("</span></span></td>");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(value: f64, percent: f64, star: bool, baseline: bool) -> String {
        cell_text(Cell { value: Some(value), percent: Some(percent), star }, baseline)
    }

    fn cell_text(one: Cell, baseline: bool) -> String {
        let t = Table { percents: true, decimals: 2, ..Table::default() };
        let mut h = Html::new();
        cell(&mut h, &one, &t, baseline, true);
        h.into_string()
    }

    #[test]
    fn what_has_no_runs_is_a_dash_and_against_it_there_is_no_percentage() {
        assert_eq!(cell_text(Cell::default(), false), "<td class=\"num\">–</td>");
        let alone = Cell { value: Some(12.0), ..Cell::default() };
        let want = "<td class=\"num\"><span class=\"v\">12.00</span> <span class=\"p\">–</span></td>";
        assert_eq!(cell_text(alone, false), want);
        assert_eq!(cell_text(alone, true), "<td class=\"num\">12.00</td>");
    }

    #[test]
    fn cells_say_better_without_colour() {
        let starred = shown(2.736, 13.25, true, false);
        assert!(starred.starts_with("<td class=\"num star better\"><span class=\"v\">2.74</span>"), "{starred}");
        assert!(starred.contains("▲") && starred.contains("+13.25%") && starred.contains("significant"), "{starred}");
        let worse = shown(2.0, -1.0, false, false);
        assert!(worse.contains("class=\"num worse\"") && worse.contains("▼") && !worse.contains("<sup"), "{worse}");
        assert!(shown(2.0, 0.004, false, false).contains("class=\"num same\""));
        assert_eq!(shown(f64::NAN, 0.0, false, true), "<td class=\"num\">–</td>");
    }
}
