//! How sure the answer is: the sentence of the decision, and folded behind it the tests, what was run, and notes.

use super::input::Input;
use super::markup::Html;
use crate::data::Comparison;
use crate::legend;
use crate::verdict::{Decision, Finding};

/// Most findings that are shown at once; the others are folded away.
const MAX_FINDINGS: usize = 12;
/// Most notes that are shown at once; the others are folded away.
const MAX_NOTES: usize = 4;

/// The section.
pub fn render(input: &Input<'_>, decision: &Decision, all: &[Finding]) -> Html {
    let c = input.comparison;
    let mut h = Html::new();
    h.raw("<section id=\"sure\"><h2>How sure?</h2>");
    if !decision.how_sure.is_empty() {
        h.element("p", &[("class", "lead")], &decision.how_sure);
    }
    h.raw("<details class=\"block\"><summary>The statistics, what was run, and what was assumed</summary><div class=\"pile\">");
    if !all.is_empty() {
        list(&mut h, c, all);
    }
    facts(&mut h, input);
    notes(&mut h, input);
    h.raw("</div></details></section>");
    h
}

fn facts(h: &mut Html, input: &Input<'_>) {
    if input.facts.is_empty() {
        return;
    }
    h.raw("<dl class=\"facts\">");
    for (name, value) in &input.facts {
        h.raw("<div>").element("dt", &[], name).element("dd", &[], value).raw("</div>");
    }
    h.raw("</dl>");
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
    use crate::data::{Kernel, Workload};

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
