//! What a run cost and what changed with it: the sentences of the decision, and for each workload bars and a table.

use super::bars;
use super::glossary::Glossary;
use super::markup::Html;
use crate::data::{Comparison, Counter, Metric, Workload};
use crate::figures::{largest_mean, named_metric};
use crate::format::{human, ratio, unit_for};
use crate::reasons;
use crate::verdict::{measurements, Decision, Finding};
use numalab_stats::describe;

/// Most measurements of a workload that are drawn as bars. The tables have all of them.
const MAX_BARS: usize = 6;
/// Most sentences that are shown at once; the others are folded away.
const MAX_SENTENCES: usize = 6;
/// Most workloads whose cards are shown at once; the others are folded away.
const MAX_CARDS: usize = 4;

/// Figures of a run's cost and words for them, in print order.
const COSTS: [(&str, &str); 11] = [
    ("system", "system time"),
    ("user", "user time"),
    ("blocked", "blocked time"),
    ("numa_pte_updates", "PTE updates"),
    ("numa_hint_faults", "hint faults"),
    ("numa_local_percent", "local-fault share"),
    ("numa_migrated_mib", "memory migrated"),
    ("task_numa_work_p99_ns", "task_numa_work, 99 of 100 within"),
    ("task_stall_max_ns", "longest stall of a thread"),
    ("numa_cost", "AutoNUMA cost (mmtests)"),
    ("numa_cost_with_copy", "AutoNUMA cost with copies"),
];

/// The section of all workloads.
pub fn render(c: &Comparison, glossary: &Glossary, decision: &Decision, all: &[Finding]) -> Html {
    let mut h = Html::new();
    h.raw("<section id=\"cost\"><h2>What it cost</h2>");
    let (first, rest) = decision.costs.split_at(decision.costs.len().min(MAX_SENTENCES));
    sentences(&mut h, first);
    if !rest.is_empty() {
        h.raw("<details class=\"more\"><summary>").count(rest.len(), "more kernel").raw("</summary>");
        sentences(&mut h, rest);
        h.raw("</details>");
    }
    for (index, w) in c.workloads.iter().enumerate() {
        if index == MAX_CARDS {
            h.raw("<details class=\"more\"><summary>").count(c.workloads.len() - index, "more workload");
            h.raw("</summary><div class=\"pile\">");
        }
        workload(&mut h, c, glossary, w, index, all);
    }
    h.raw(if c.workloads.len() > MAX_CARDS { "</div></details></section>" } else { "</section>" });
    h
}

fn sentences(h: &mut Html, list: &[String]) {
    for text in list {
        h.element("p", &[("class", "lead")], text);
    }
}

fn workload(h: &mut Html, c: &Comparison, glossary: &Glossary, w: &Workload, index: usize, all: &[Finding]) {
    h.raw("<article class=\"card\"><h3>").text(&w.name).raw("</h3>");
    missing_runs(h, c, w);
    h.raw("<div class=\"split\"><div>");
    let measured = measurements(w);
    for m in measured.iter().take(MAX_BARS) {
        let own = |f: &&Finding, kernel| (f.workload, f.kernel) == (index, kernel) && f.metric == m.name;
        let call = |kernel: usize| all.iter().find(|f| own(f, kernel)).map(|f| f.call);
        bars::bars(h, c, m, &call);
    }
    if measured.len() > MAX_BARS {
        h.raw("<p class=\"note\">The tables have ").count(measured.len() - MAX_BARS, "more measurement").raw(".</p>");
    }
    bars::thread_time(h, c, w);
    h.raw("</div><div>");
    costs(h, c, glossary, w);
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

/// The costs of a workload as a table.
fn costs(h: &mut Html, c: &Comparison, glossary: &Glossary, w: &Workload) {
    let present: Vec<(Metric, &str)> =
        COSTS.iter().filter_map(|(name, words)| figure(w, name).map(|m| (m, *words))).collect();
    if present.is_empty() {
        return;
    }
    let label = format!("Cost per run: {}", w.name);
    h.raw("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"").text(&label).raw("\">");
    h.raw("<table class=\"figures compact\"><thead><tr><th scope=\"col\">Mean per run</th>");
    for kernel in &c.kernels {
        h.element("th", &[("scope", "col"), ("class", "num")], &kernel.run_name());
    }
    h.raw("</tr></thead><tbody>");
    for (m, words) in present {
        h.raw("<tr><th scope=\"row\">");
        glossary.term_as(h, &m.name, words);
        let (unit, by) = unit_for(&m.unit, largest_mean(&m));
        h.raw(" <small>").text(unit).raw("</small></th>");
        let base = describe::amean(m.of(c.baseline));
        for k in 0..c.kernels.len() {
            h.raw("<td class=\"num\">");
            match describe::amean(m.of(k)) {
                None => h.raw("–"),
                Some(mean) => h.text(&human(mean / by)).raw(if k == c.baseline { "" } else { " <small>" }),
            };
            if let (Some(base), Some(mean), false) =
                (base.filter(|b| *b != 0.0), describe::amean(m.of(k)), k == c.baseline)
            {
                h.raw("×").text(&ratio(mean / base));
            }
            h.raw(if k == c.baseline || m.of(k).is_empty() { "</td>" } else { "</small></td>" });
        }
        h.raw("</tr>");
    }
    h.raw("</tbody></table></div>");
    reasons_of(h, c, w);
}

/// Why balancing passed memory over, where that changed, in words.
fn reasons_of(h: &mut Html, c: &Comparison, w: &Workload) {
    let mut explained = Vec::new();
    // The change between runs of different work says nothing about the kernels.
    for k in c.others().filter(|k| w.different_work(*k).is_none()).take(MAX_SENTENCES) {
        if let Some(text) = changed_reason(c, w, k, &mut explained) {
            h.raw("<p class=\"note\">").text(&c.kernels[k].name).raw(": ").text(&text).raw("</p>");
        }
    }
}

/// The reason whose count changed most, with its meaning unless that is in `explained`.
fn changed_reason(c: &Comparison, w: &Workload, kernel: usize, explained: &mut Vec<String>) -> Option<String> {
    let mean = |r: &Counter, k: usize| describe::amean(r.of(k)).unwrap_or(0.0);
    let by = |r: &Counter| (mean(r, kernel) - mean(r, c.baseline)).abs();
    let most = w.reasons.iter().max_by(|a, b| by(a).total_cmp(&by(b))).filter(|r| by(r) > 0.0)?;
    let (base, now) = (human(mean(most, c.baseline)), human(mean(most, kernel)));
    let known = explained.contains(&most.name);
    let meaning = reasons::meaning(&most.name).filter(|_| !known).map(|m| format!(" {m}")).unwrap_or_default();
    explained.push(most.name.clone());
    Some(format!("The reason whose count changed most: {} {base} → {now}.{meaning}", most.name))
}

/// A figure by name; `None` if no kernel has it.
fn figure(w: &Workload, name: &str) -> Option<Metric> {
    named_metric(w, name).filter(|m| m.samples.iter().any(|s| !s.is_empty()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Kernel;

    #[test]
    fn the_reason_that_changed_most_is_explained_once() {
        let counter = |name: &str, a: f64, b: f64| Counter { name: name.into(), samples: vec![vec![a, a], vec![b, b]] };
        let reasons = vec![counter("skip.small", 1.0, 1.0), counter("skip.pid_inactive", 10.0, 90.0)];
        let w = Workload { name: "w".into(), reasons, ..Workload::default() };
        let c = Comparison { kernels: vec![Kernel::named("a"), Kernel::named("b")], ..Comparison::default() };
        let mut explained = Vec::new();
        let got = changed_reason(&c, &w, 1, &mut explained).unwrap();
        let want =
            "The reason whose count changed most: skip.pid_inactive 10 → 90. The scanner passed over a mapping that ";
        assert!(got.starts_with(want), "{got}");
        let again = changed_reason(&c, &w, 1, &mut explained).unwrap();
        assert_eq!(again, "The reason whose count changed most: skip.pid_inactive 10 → 90.");
        assert_eq!(changed_reason(&c, &Workload::default(), 1, &mut explained), None);
    }
}
