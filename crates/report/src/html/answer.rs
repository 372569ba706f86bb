//! The top of the page: the question, the answer, the costs and what else changed.
//!
//! Everything here stands in words and again as bars with a mark for every run, so that a reader sees the spread behind
//! a call.

use super::glossary::Glossary;
use super::markup::Html;
use super::{bars, config, cost, headline, Input};
use crate::data::{Comparison, Workload};
use crate::legend;
use crate::verdict::{self, findings, measurements, more_than_headline, question, Finding};

/// Most measurements of a workload that are drawn as bars. The tables have all of them.
const MAX_BARS: usize = 6;
/// Most findings that are shown at once; the others are folded away.
const MAX_FINDINGS: usize = 12;
/// Most notes that are shown at once; the others are folded away.
const MAX_NOTES: usize = 4;
/// Most differing settings that are named at the top.
const MAX_NAMES: usize = 8;

/// The section at the top of the page.
pub fn render(input: &Input<'_>, glossary: &Glossary) -> Html {
    let c = input.comparison;
    let all = findings(c);
    let mut h = Html::new();
    h.raw("<section id=\"answer\"><p class=\"eyebrow\">")
        .text(&input.title)
        .raw("</p><h1>")
        .text(&question(c))
        .raw("</h1>");
    headline::render(&mut h, c, &verdict::headline(c, &all));
    facts(&mut h, input);
    differences(&mut h, input, glossary);
    if more_than_headline(c, &all) {
        list(&mut h, c, &all);
    }
    for (index, w) in c.workloads.iter().enumerate() {
        workload(&mut h, c, glossary, w, index, &all);
    }
    notes(&mut h, input);
    h.raw("</section>");
    h
}

fn facts(h: &mut Html, input: &Input<'_>) {
    h.raw("<dl class=\"facts\">");
    for (name, value) in &input.facts {
        h.raw("<div>").element("dt", &[], name).element("dd", &[], value).raw("</div>");
    }
    h.raw("</dl>");
}

/// Names the settings in which the kernels differ, as they may explain a difference.
fn differences(h: &mut Html, input: &Input<'_>, glossary: &Glossary) {
    let names = config::differing(input);
    if names.is_empty() {
        return;
    }
    h.raw("<p class=\"note\">The kernels differ in ");
    for (i, name) in names.iter().take(MAX_NAMES).enumerate() {
        h.raw(if i > 0 { ", " } else { "" });
        glossary.term(h, name);
    }
    if names.len() > MAX_NAMES {
        h.raw(" and ").show(names.len() - MAX_NAMES).raw(" more");
    }
    h.raw(": see <a href=\"#config\">configuration</a>.</p>");
}

/// Lists one line per finding; if there are many, the rest is folded away.
fn list(h: &mut Html, c: &Comparison, findings: &[Finding]) {
    let rows = |h: &mut Html, part: &[Finding]| {
        h.raw("<ul class=\"findings\">");
        for f in part {
            let (sign, word) = f.call.badge();
            h.open("li", &[("class", f.call.class())]).raw("<span class=\"badge\"><span aria-hidden=\"true\">");
            h.text(sign).raw("</span> ").text(word).raw("</span> ");
            let workload = c.workloads.get(f.workload).map_or("", |w| w.name.as_str());
            h.element("b", &[], workload).raw(" <span>").text(&f.text).raw("</span></li>");
        }
        h.raw("</ul>");
    };
    let cut = findings.len().min(MAX_FINDINGS);
    rows(h, &findings[..cut]);
    if cut < findings.len() {
        h.raw("<details class=\"more\"><summary>").count(findings.len() - cut, "more measurement").raw("</summary>");
        rows(h, &findings[cut..]);
        h.raw("</details>");
    }
}

fn workload(h: &mut Html, c: &Comparison, glossary: &Glossary, w: &Workload, index: usize, all: &[Finding]) {
    h.raw("<article class=\"card\"><h2>").text(&w.name).raw("</h2>");
    missing_runs(h, c, w);
    h.raw("<div class=\"split\"><div>");
    let measured = measurements(w);
    for m in measured.iter().take(MAX_BARS) {
        let call = |kernel: usize| {
            all.iter().find(|f| f.workload == index && f.kernel == kernel && f.metric == m.name).map(|f| f.call)
        };
        bars::bars(h, c, m, &call);
    }
    if measured.len() > MAX_BARS {
        h.raw("<p class=\"note\">The tables have ").count(measured.len() - MAX_BARS, "more measurement").raw(".</p>");
    }
    bars::thread_time(h, c, w);
    h.raw("</div><div>");
    cost::costs(h, c, glossary, w);
    h.raw("</div></div></article>");
}

/// Warns of runs that gave no figures.
fn missing_runs(h: &mut Html, c: &Comparison, w: &Workload) {
    for (k, runs) in w.runs.iter().enumerate().filter(|(_, r)| r.failed + r.timeout > 0) {
        let name = c.kernels.get(k).map_or("", |k| k.name.as_str());
        h.raw("<p class=\"warning\"><b>").text(name).raw(":</b> of ").show(runs.total).raw(" runs ");
        h.show(runs.failed)
            .raw(" failed and ")
            .show(runs.timeout)
            .raw(" reached the time limit; they are in no figure.</p>");
    }
}

fn notes(h: &mut Html, input: &Input<'_>) {
    let notes = legend::notes(input.comparison, input.rule);
    if notes.is_empty() {
        return;
    }
    let cut = notes.len().min(MAX_NOTES);
    let list = |h: &mut Html, part: &[String]| {
        h.raw("<ul>");
        part.iter().for_each(|n| {
            h.element("li", &[], n);
        });
        h.raw("</ul>");
    };
    h.raw("<aside class=\"notes\" aria-label=\"Notes\"><h2>Keep in mind</h2>");
    list(h, &notes[..cut]);
    if cut < notes.len() {
        h.raw("<details class=\"more\"><summary>").count(notes.len() - cut, "more note").raw("</summary>");
        list(h, &notes[cut..]);
        h.raw("</details>");
    }
    h.raw("</aside>");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Kernel;

    #[test]
    fn one_more_note_is_one() {
        let folded = |n: usize| {
            let warnings = (0..n).map(|i| format!("note {i}")).collect();
            let w = Workload { name: "w".into(), warnings, ..Workload::default() };
            let c = Comparison { kernels: vec![Kernel::named("a")], workloads: vec![w], ..Comparison::default() };
            let mut h = Html::new();
            notes(&mut h, &Input::new("x", &c));
            h.into_string()
        };
        assert!(!folded(MAX_NOTES).contains("<summary>"));
        assert!(folded(MAX_NOTES + 1).contains("<summary>1 more note</summary>"), "{}", folded(MAX_NOTES + 1));
        assert!(folded(MAX_NOTES + 2).contains("<summary>2 more notes</summary>"));
    }
}
