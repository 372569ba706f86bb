//! The HTML report: one file that opens from disk, without network.
//!
//! Problem: a comparison must be understood by a reader who did not run it, on any computer, years later. Approach:
//! [`render`] writes one self-contained page: the question and the verdict in words, tables, charts, maps, the machine,
//! the configuration and every definition. All but charts and maps is plain HTML and needs no script. The script
//! (`web/`, built into `bundle.js`) draws the series, which `timeline` reduces so that ten runs of a minute stay below
//! 3 MB.
//!
//! * Top of the page: `answer` · `picture` · `cost` with `bars` · `sure`.
//! * Charts and maps: `timeline` · `time_axis` · `chart_data`; `snapshot` has series of a single sample.
//! * Below: `tables` · `lookup` · `machine` · `config` · `glossary`.
//! * Shared: `input` · `markup`.
//!
//! Invariants: the page is a pure function of its input. Foreign text never becomes markup. The policy in its head
//! permits no script but the bundle, and no loading.

mod answer;
mod bars;
mod chart_data;
mod config;
mod cost;
mod glossary;
mod input;
mod lookup;
mod machine;
mod markup;
mod picture;
mod snapshot;
mod sure;
mod tables;
mod time_axis;
mod timeline;

pub use input::{Input, Run, Setting};

use crate::verdict::{decide, findings};
use chart_data::{Data, Picture};
use glossary::Glossary;
use markup::Html;

/// The script, built from `web/src`.
const SCRIPT: &str = include_str!("bundle.js");
/// The style, built from `web/src`.
const STYLE: &str = include_str!("bundle.css");
/// SHA-256 of the script in base64, for the policy in the head.
const SCRIPT_SHA256: &str = include_str!("bundle.sha256");

/// The whole page. It contains everything it needs and loads nothing.
pub fn render(input: &Input<'_>) -> String {
    let blocks: Vec<Vec<tables::Block>> = input.comparison.workloads.iter().map(|w| tables::blocks(input, w)).collect();
    let shown: Vec<_> = blocks.iter().flatten().map(|b| b.table.clone()).collect();
    let glossary = Glossary::new(input, &shown);
    let (decision, findings) = (decide(input.comparison), findings(input.comparison));
    let mut h = Html::new();
    head(&mut h, &input.title);
    header(&mut h, input);
    h.raw("<main id=\"main\">");
    let picture = picture::choose(input, &decision);
    h.push(&answer::render(input, &decision));
    h.push(&picture::render(input, picture.as_ref()));
    h.push(&cost::render(input.comparison, &glossary, &decision, &findings));
    h.push(&sure::render(input, &decision, &findings));
    charts(&mut h, input);
    h.raw("<section id=\"tables\"><h2>Tables</h2>");
    for (w, blocks) in input.comparison.workloads.iter().zip(&blocks) {
        h.raw("<h3>").text(&w.name).raw("</h3>").push(&tables::render(input, &glossary, w, blocks));
    }
    h.raw("<p class=\"note\">Baseline: ")
        .text(input.comparison.baseline_name())
        .raw(". ")
        .text(input.rule.legend())
        .raw(".</p>");
    h.push(&snapshot::render(input)).push(&lookup::render(input.comparison, &glossary)).raw("</section>");
    h.push(&machine::render(&input.machines));
    h.push(&config::render(input, &glossary));
    h.raw("<section id=\"definitions\"><h2>Definitions</h2>").push(&glossary.render()).raw("</section></main>");
    foot(&mut h, input, picture.as_ref());
    h.into_string()
}

fn head(h: &mut Html, title: &str) {
    h.raw("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">");
    let policy = format!(
        "default-src 'none'; script-src 'sha256-{}'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; \
            form-action 'none'",
        SCRIPT_SHA256.trim()
    );
    h.open("meta", &[("http-equiv", "Content-Security-Policy"), ("content", &policy)]);
    h.raw("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">");
    h.raw("<meta name=\"color-scheme\" content=\"light dark\"><title>").text(title).raw(" · numalab</title>");
    h.raw("<style>").raw(STYLE).raw("</style></head><body>");
}

fn header(h: &mut Html, input: &Input<'_>) {
    h.raw(
        "<a class=\"skip\" href=\"#main\">Skip to the answer</a><header><span class=\"brand\">numalab</span>\
        <nav aria-label=\"Sections\">",
    );
    h.raw("<a href=\"#answer\">Answer</a><a href=\"#cost\">Cost</a><a href=\"#sure\">How sure?</a>");
    if timeline::any(input) {
        h.raw("<a href=\"#time\">Over time</a>");
    }
    h.raw("<a href=\"#tables\">Tables</a>");
    if !input.machines.is_empty() {
        h.raw("<a href=\"#machine\">Machine</a>");
    }
    h.raw("<a href=\"#config\">Configuration</a><a href=\"#definitions\">Definitions</a></nav>");
    h.raw("<button id=\"theme\" type=\"button\" hidden>Theme</button></header>");
}

fn charts(h: &mut Html, input: &Input<'_>) {
    if !timeline::any(input) {
        return;
    }
    // The script replaces the warning by the charts.
    h.raw("<section id=\"time\"><h2>Over time</h2><div id=\"charts\"><p class=\"warning\">The charts need a script, which did ");
    h.raw("not run; everything else works without it.</p></div></section>");
}

fn foot(h: &mut Html, input: &Input<'_>, picture: Option<&Picture>) {
    h.raw("<footer><p>Written by numalab ").raw(env!("CARGO_PKG_VERSION"));
    h.raw(
        ". Charts drawn with uPlot, © Leon Sorokin, MIT licence (its text is in the script of this page).</p></footer>",
    );
    h.raw("<div id=\"tip\" role=\"tooltip\" hidden></div>");
    if timeline::any(input) {
        h.raw("<script type=\"application/json\" id=\"data\">");
        let data = |limits: &_| Data { picture: picture.cloned(), ..timeline::data(input, limits) };
        h.json(&chart_data::fit(data)).raw("</script>");
    }
    // No line feed may stand around the script: the policy has the hash of exactly these bytes.
    h.raw("<script>").raw(SCRIPT).raw("</script></body></html>\n");
}
