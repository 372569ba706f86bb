//! What a run cost and what changed with it: a sentence for each kernel, and a table.

use super::glossary::Glossary;
use super::headline::MAX_LINES;
use super::markup::Html;
use crate::data::{Comparison, Counter, Metric, Workload};
use crate::figures::{every_metric, largest_mean};
use crate::format::{human, ratio, unit_for};
use crate::reasons;
use crate::verdict::growth;
use numalab_stats::{describe, percent};

/// A figure of a run's cost.
struct Cost {
    /// Name of the metric.
    metric: &'static str,
    /// Words for it.
    words: &'static str,
    /// Whether the sentences have it too; the table has all.
    in_sentence: bool,
}

const fn cost(metric: &'static str, words: &'static str) -> Cost {
    Cost { metric, words, in_sentence: false }
}

const fn main_cost(metric: &'static str, words: &'static str) -> Cost {
    Cost { metric, words, in_sentence: true }
}

/// Costs in print order.
const COSTS: [Cost; 9] = [
    main_cost("system", "system time"),
    cost("user", "user time"),
    cost("blocked", "blocked time"),
    cost("numa_pte_updates", "PTE updates"),
    main_cost("numa_hint_faults", "hint faults"),
    main_cost("numa_local_percent", "local-fault share"),
    main_cost("numa_migrated_mib", "memory migrated"),
    cost("numa_cost", "AutoNUMA cost (mmtests)"),
    cost("numa_cost_with_copy", "AutoNUMA cost with copies"),
];

/// The costs of a workload as sentences and as a table.
pub(super) fn costs(h: &mut Html, c: &Comparison, glossary: &Glossary, w: &Workload) {
    let figures = every_metric(w);
    let present: Vec<(&Metric, &str)> =
        COSTS.iter().filter_map(|cost| figure(&figures, cost.metric).map(|m| (m, cost.words))).collect();
    if present.is_empty() {
        return;
    }
    h.raw("<h3>What it cost and what changed with it</h3>");
    cost_sentences(h, c, w, &figures);
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
        let (unit, by) = unit_for(&m.unit, largest_mean(m));
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
}

/// A sentence for each kernel. Many sentences are folded away, as the table has the same figures.
fn cost_sentences(h: &mut Html, c: &Comparison, w: &Workload, figures: &[Metric]) {
    let mut explained = Vec::new();
    // The change between runs of different work says nothing about the kernels.
    let alike = c.others().filter(|k| w.different_work(*k).is_none());
    let said: Vec<String> = alike.filter_map(|k| cost_sentence(c, w, k, figures, &mut explained)).collect();
    let many = said.len() > MAX_LINES;
    if many {
        h.raw("<details class=\"more\"><summary>In words, for ").count(said.len(), "kernel").raw("</summary>");
    }
    for text in &said {
        h.element("p", &[], text);
    }
    h.raw(if many { "</details>" } else { "" });
}

/// The sentence of a kernel: "6.7 against 6.1, per run: system time 41 → 127 s, 3.1 times as much; hint faults …".
/// `explained` are the reasons whose meaning has been said already.
fn cost_sentence(
    c: &Comparison,
    w: &Workload,
    kernel: usize,
    figures: &[Metric],
    explained: &mut Vec<String>,
) -> Option<String> {
    let name = &c.kernels.get(kernel)?.name;
    let mut parts = Vec::new();
    for cost in COSTS.iter().filter(|cost| cost.in_sentence) {
        let Some(m) = figure(figures, cost.metric) else { continue };
        let (Some(base), Some(mean)) = (describe::amean(m.of(c.baseline)), describe::amean(m.of(kernel))) else {
            continue;
        };
        let (unit, by) = unit_for(&m.unit, base.max(mean));
        let unit = if unit == "faults" || unit.is_empty() { String::new() } else { format!(" {unit}") };
        let change = match percent::change(mean, base) {
            // A change of a share in percent would be misread as one in points.
            _ if m.unit == "%" => String::new(),
            Some(x) if x != 0.0 => format!(", {}", growth(x)),
            _ => String::new(),
        };
        parts.push(format!("{} {} → {}{unit}{change}", cost.words, human(base / by), human(mean / by)));
    }
    if parts.is_empty() {
        return None;
    }
    let reason = changed_reason(c, w, kernel, explained).map(|r| format!(" {r}")).unwrap_or_default();
    Some(format!("{name} against {}, per run: {}.{reason}", c.baseline_name(), parts.join("; ")))
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
fn figure<'a>(figures: &'a [Metric], name: &str) -> Option<&'a Metric> {
    figures.iter().find(|m| m.name == name && m.samples.iter().any(|s| !s.is_empty()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Kernel;
    use numalab_stats::Better;

    #[test]
    fn cost_is_said_per_run() {
        let counter = |name: &str, a: f64, b: f64| Counter { name: name.into(), samples: vec![vec![a, a], vec![b, b]] };
        let w = Workload {
            name: "w".into(),
            metrics: vec![Metric::new("system", "s", false, vec![vec![40.0, 42.0], vec![123.0, 123.0]])],
            counters: vec![counter("numa_hint_faults", 1000.0, 500.0)],
            reasons: vec![counter("skip.small", 1.0, 1.0), counter("skip.pid_inactive", 10.0, 90.0)],
            ..Workload::default()
        };
        let c = Comparison { kernels: vec![Kernel::named("a"), Kernel::named("b")], ..Comparison::default() };
        let moved = Metric::counted("numa_migrated_mib", "MiB", Better::Lower, vec![vec![512.0], vec![11_602.3]]);
        let memory = Workload { derived: vec![moved], ..Workload::default() };
        let got = cost_sentence(&c, &memory, 1, &every_metric(&memory), &mut Vec::new()).unwrap();
        assert!(got.contains("memory migrated 0.5000 → 11.33 GiB, 22.66 times as much"), "{got}");
        let got = cost_sentence(&c, &w, 1, &every_metric(&w), &mut Vec::new()).unwrap();
        let want = "b against a, per run: system time 41 → 123 s, 3.00 times as much; hint faults 1000 → 500, 50.0 % \
                    lower. The reason whose count changed most: skip.pid_inactive 10 → 90. The scanner passed over a mapping that ";
        assert!(got.starts_with(want), "{got}");
        assert_eq!(cost_sentence(&c, &Workload::default(), 1, &[], &mut Vec::new()), None);
    }
}
