//! The HTML report: one file that opens from disk, without network.
//!
//! Problem: a comparison must be understood by someone who was not there, on any computer, years later. Approach:
//! [`render`] writes one self-contained page: the question and the verdict in words, the tables, charts, maps, the
//! machine, the configuration and every definition. All but charts and maps is plain HTML and needs no script. The
//! script (`web/`, built into `bundle.js`) draws the series, which [`timeline`] has thinned out so that ten runs of a
//! minute stay below 3 MB.
//!
//! [`snapshot`] what was read once, at the end of a run. [`verdict`] calls and sentences · [`answer`] top of the page ·
//! [`tables`], [`figures`] · [`timeline`], [`bins`], [`payload`] series · [`machine`] · [`config`] · [`glossary`],
//! [`reasons`] definitions · [`markup`] escaping.
//!
//! Invariants: a pure function of its input; foreign text never becomes markup; the policy in the page's head lets no other
//! script run than the bundle and nothing be loaded.

pub mod answer;
pub mod bins;
pub mod config;
pub mod figures;
mod fold;
pub mod glossary;
pub mod machine;
pub mod markup;
pub mod payload;
pub mod reasons;
pub mod snapshot;
pub mod tables;
pub mod timeline;
pub mod verdict;

use numalab_model::machine::Machine;
use numalab_model::record::Outcome;
use numalab_stats::star::StarRule;

use crate::data::Comparison;
use glossary::Glossary;
use markup::Html;

/// The script, built from `web/src`.
const SCRIPT: &str = include_str!("bundle.js");
/// Its style.
const STYLE: &str = include_str!("bundle.css");
/// SHA-256 of the script in base64, for the policy in the head.
const SCRIPT_SHA256: &str = include_str!("bundle.sha256");

/// Below the comparison tables.
const STAR_NOTE: &str =
    "As in mmtests: plus is better in every row, whatever its direction. A star and a coloured cell mark a \
                         significant mean; the rule is named below.";

/// What the page is about.
#[derive(Clone, Debug)]
pub struct Input<'a> {
    /// Name of the experiment.
    pub title: String,
    /// The comparison, with derived figures applied.
    pub comparison: &'a Comparison,
    /// When a cell of the tables is starred.
    pub rule: StarRule,
    /// What was run: backend, seeds, version, …, in order.
    pub facts: Vec<(String, String)>,
    /// Machines, if they are known.
    pub machines: Vec<&'a Machine>,
    /// Runs with their series, kernel by kernel in seed order.
    pub runs: Vec<Run<'a>>,
    /// Effective configuration per kernel, in the order of the comparison's kernels.
    pub settings: Vec<Vec<Setting>>,
}

impl<'a> Input<'a> {
    /// A page with nothing but a comparison.
    pub fn new(title: &str, comparison: &'a Comparison) -> Self {
        Self {
            title: title.into(),
            comparison,
            rule: StarRule::default(),
            facts: Vec::new(),
            machines: Vec::new(),
            runs: Vec::new(),
            settings: Vec::new(),
        }
    }
}

/// A run and where it belongs.
#[derive(Clone, Copy, Debug)]
pub struct Run<'a> {
    /// Index of its workload in the comparison.
    pub workload: usize,
    /// Index of its kernel in the comparison.
    pub kernel: usize,
    /// Seed.
    pub seed: u64,
    /// What it produced.
    pub outcome: &'a Outcome,
}

/// A policy or a tunable as a kernel had it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Setting {
    /// Role or `group.key`.
    pub name: String,
    /// Value.
    pub value: String,
    /// Unit, empty if none.
    pub unit: String,
    /// Kernel name (sysctl, debugfs), empty if none.
    pub kernel_name: String,
    /// Where the value comes from, empty if unknown.
    pub origin: String,
    /// One line, empty if unknown.
    pub doc: String,
}

/// The whole page. It holds everything it needs and loads nothing.
pub fn render(input: &Input<'_>) -> String {
    let blocks: Vec<Vec<tables::Block>> = input.comparison.workloads.iter().map(|w| tables::blocks(input, w)).collect();
    let shown: Vec<_> = blocks.iter().flatten().map(|b| b.table.clone()).collect();
    let glossary = Glossary::new(input, &shown);
    let mut h = Html::new();
    head(&mut h, &input.title);
    header(&mut h, input);
    h.raw("<main id=\"main\">");
    h.push(&answer::render(input, &glossary));
    charts(&mut h, input);
    h.raw("<section id=\"tables\"><h2>Tables</h2>");
    for (w, blocks) in input.comparison.workloads.iter().zip(&blocks) {
        h.raw("<h3>").text(&w.name).raw("</h3>").push(&tables::render(input, &glossary, &w.name, blocks));
    }
    h.raw("<p class=\"note\">Baseline: ")
        .text(input.comparison.baseline_name())
        .raw(". ")
        .text(input.rule.legend())
        .raw(".</p>");
    h.push(&snapshot::render(input)).push(&figures::render(input.comparison, &glossary)).raw("</section>");
    h.push(&machine::render(&input.machines));
    h.push(&config::render(input, &glossary));
    h.raw("<section id=\"definitions\"><h2>Definitions</h2>").push(&glossary.render()).raw("</section></main>");
    foot(&mut h, input);
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
    h.raw("<a href=\"#answer\">Answer</a>");
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
    // The script puts the charts in place of the warning.
    h.raw("<section id=\"time\"><h2>Over time</h2><div id=\"charts\"><p class=\"warning\">The charts need a script, which did ");
    h.raw("not run; everything else does not.</p></div></section>");
}

fn foot(h: &mut Html, input: &Input<'_>) {
    h.raw("<footer><p>Written by numalab ").raw(env!("CARGO_PKG_VERSION"));
    h.raw(
        ". Charts drawn with uPlot, © Leon Sorokin, MIT licence (its text is in the script of this page).</p></footer>",
    );
    h.raw("<div id=\"tip\" role=\"tooltip\" hidden></div>");
    if timeline::any(input) {
        h.raw("<script type=\"application/json\" id=\"data\">");
        h.json(&payload::fit(|limits| timeline::data(input, limits))).raw("</script>");
    }
    // Not even a line feed may stand around it: the policy names the hash of exactly these bytes.
    h.raw("<script>").raw(SCRIPT).raw("</script></body></html>\n");
}
