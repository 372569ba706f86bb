//! The table to look figures up: mean, spread, number of runs and ratio of every metric on every kernel, as in the JSON
//! form.

use super::glossary::Glossary;
use super::markup::Html;
use crate::data::Comparison;
use crate::figures::{each_metric, largest_mean, Figures};
use crate::format::{human, ratio as ratio_text, unit_for};

/// The tables of all workloads. The script of the page filters their rows.
pub fn render(c: &Comparison, glossary: &Glossary) -> Html {
    let mut h = Html::new();
    for w in &c.workloads {
        let rows = w.metrics.len() + w.derived.len() + w.counters.len() + w.reasons.len();
        h.raw("<details class=\"block lookup\"><summary>Every figure: ").text(&w.name);
        h.raw(" <span class=\"count\">").count(rows, "row").raw("</span></summary>");
        h.raw("<p class=\"note\">Arithmetic mean ± standard deviation per run, number of runs, ratio to the baseline; the same figures as ");
        h.raw("<code>numalab compare --json</code>.</p>");
        let label = format!("Filter figures of {}", w.name);
        h.open("input", &[("type", "search"), ("class", "filter"), ("placeholder", "filter"), ("aria-label", &label)]);
        h.raw("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Every figure\">");
        h.open("table", &[("class", "figures every"), ("data-workload", &w.name)]);
        h.raw("<thead><tr><th scope=\"col\">Metric</th><th scope=\"col\">Unit</th>");
        for kernel in &c.kernels {
            h.element("th", &[("scope", "col"), ("class", "num")], &kernel.run_name());
        }
        h.raw("</tr></thead><tbody>");
        for m in each_metric(w) {
            h.open("tr", &[("data-metric", &m.name)]).raw("<th scope=\"row\">");
            glossary.term(&mut h, &m.name);
            let (unit, by) = unit_for(&m.unit, largest_mean(&m));
            h.raw("</th>").element("td", &[], unit);
            for k in 0..c.kernels.len() {
                cell(&mut h, &Figures::new(&m, k, c.baseline), (&m.unit, by), k == c.baseline);
            }
            h.raw("</tr>");
        }
        h.raw("</tbody></table></div></details>");
    }
    h
}

/// Writes a cell. Figures are of `unit` and are shown divided by `by`.
fn cell(h: &mut Html, f: &Figures, (unit, by): (&str, f64), baseline: bool) {
    let Some(mean) = f.mean else {
        h.raw("<td class=\"num\">–</td>");
        return;
    };
    // The exact figure is an attribute for programs, and a tooltip.
    let exact = mean.to_string();
    let title = format!("{exact} {unit}");
    h.open("td", &[("class", "num"), ("data-mean", &exact), ("title", title.trim_end())]);
    h.raw("<span class=\"v\">").text(&human(mean / by)).raw("</span>");
    let spread = f.stddev.map_or_else(|| "–".to_string(), |sd| human(sd / by));
    h.raw(" <small>± ").text(&spread).raw(", n ").show(f.n);
    if let (Some(ratio), false) = (f.ratio, baseline) {
        h.raw(", ×").text(&ratio_text(ratio));
    }
    h.raw("</small></td>");
}
