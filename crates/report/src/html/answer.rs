//! The top of the page: the question, the answer, what it cost and what changed with it.
//!
//! Everything here is said in words and repeated as bars of the single runs, so that a reader sees the spread behind a call.

use super::glossary::Glossary;
use super::markup::Html;
use super::verdict::{findings, growth, headline, judged, more_than_headline, question, Call, Finding};
use super::{config, fold, reasons, Input};
use crate::data::{Comparison, Metric, Workload};
use crate::format::{readable, significant, unit_for};
use crate::json::every_metric;
use crate::legend;
use numalab_stats::{describe, percent, Better, Mean};

/// Most measurements of a workload drawn as bars; the tables have all.
const MAX_BARS: usize = 6;
/// Most findings shown before the rest is folded away.
const MAX_FINDINGS: usize = 12;
/// Most notes shown before the rest is folded away.
const MAX_NOTES: usize = 4;

/// Most differing settings named at the top.
const MAX_NAMES: usize = 8;

/// What a run cost and what changed with it: figure, words for it, what one of it is.
const COSTS: [(&str, &str); 9] = [
    ("system", "system time"),
    ("user", "user time"),
    ("blocked", "blocked time"),
    ("numa_pte_updates", "PTE updates"),
    ("numa_hint_faults", "hint faults"),
    ("numa_local_percent", "local-fault share"),
    ("numa_migrated_mib", "memory migrated"),
    ("numa_cost", "AutoNUMA cost (mmtests)"),
    ("numa_cost_with_copy", "AutoNUMA cost with copies"),
];

/// The section.
pub fn render(input: &Input<'_>, glossary: &Glossary) -> Html {
    let c = input.comparison;
    let all = findings(c);
    let mut h = Html::new();
    h.raw("<section id=\"answer\"><p class=\"eyebrow\">")
        .text(&input.title)
        .raw("</p><h1>")
        .text(&question(c))
        .raw("</h1>");
    fold::headline(&mut h, c, &headline(c, &all));
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

/// Names of the settings in which the kernels differ: the usual suspects.
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

/// One line per finding, folded if there are many.
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
    trouble(h, c, w);
    h.raw("<div class=\"split\"><div>");
    let judged = judged(w);
    for m in judged.iter().take(MAX_BARS) {
        let call = |kernel: usize| {
            all.iter().find(|f| f.workload == index && f.kernel == kernel && f.metric == m.name).map(|f| f.call)
        };
        bars(h, c, m, &call);
    }
    if judged.len() > MAX_BARS {
        h.raw("<p class=\"note\">The tables have ").count(judged.len() - MAX_BARS, "more measurement").raw(".</p>");
    }
    cpu(h, c, w);
    h.raw("</div><div>");
    costs(h, c, glossary, w);
    h.raw("</div></div></article>");
}

/// Runs that gave no figures.
fn trouble(h: &mut Html, c: &Comparison, w: &Workload) {
    for (k, runs) in w.runs.iter().enumerate().filter(|(_, r)| r.failed + r.timeout > 0) {
        let name = c.kernels.get(k).map_or("", |k| k.name.as_str());
        h.raw("<p class=\"warning\"><b>").text(name).raw(":</b> of ").show(runs.total).raw(" runs ");
        h.show(runs.failed)
            .raw(" failed and ")
            .show(runs.timeout)
            .raw(" reached the time limit; they are in no figure.</p>");
    }
}

/// A bar from 0 to the mean and a mark for every run.
fn bars(h: &mut Html, c: &Comparison, m: &Metric, call: &dyn Fn(usize) -> Option<Call>) {
    let top = m.samples.iter().flatten().copied().fold(0.0, f64::max);
    let better = match m.better {
        Better::Higher => "more is better",
        Better::Lower => "less is better",
        Better::Neutral => "neither more nor less is better",
    };
    h.raw("<figure class=\"bars\"><figcaption><b>").text(&m.name).raw("</b> ").text(&m.unit).raw(" · ").raw(better);
    if m.samples.iter().any(|s| s.len() > 1) {
        h.raw(if m.mean == Mean::Harmonic { " · harmonic mean" } else { " · mean" });
        h.raw(" ± standard deviation, <span class=\"key run\">one run</span>");
    }
    h.raw("</figcaption>");
    for (k, kernel) in c.kernels.iter().enumerate() {
        let samples = m.of(k);
        h.raw("<div class=\"bar\"><span class=\"name\">").text(&kernel.run_name()).raw("</span>");
        h.raw("<span class=\"track\" aria-hidden=\"true\">");
        if samples.is_empty() {
            h.raw("</span><span class=\"value\">–</span></div>");
            continue;
        }
        let mean = m.mean_of(k);
        if let Some(mean) = mean {
            let style = format!("width:{}", share(mean, top));
            h.open("i", &[("class", if k == c.baseline { "fill base" } else { "fill" }), ("style", &style)]).close("i");
        }
        for s in samples {
            h.open("i", &[("class", "dot"), ("style", &format!("left:{}", share(*s, top)))]).close("i");
        }
        h.raw("</span><span class=\"value\">").text(&mean.map_or_else(|| "–".to_string(), human));
        if let Some(sd) = describe::stddev(samples) {
            h.raw(" <small>± ").text(&human(sd)).raw("</small>");
        }
        if let Some(call) = call(k) {
            let (sign, word) = call.badge();
            h.open("span", &[("class", call.class()), ("title", word)]).raw(" ").text(sign).close("span");
            h.element("span", &[("class", "hidden")], word);
        }
        h.raw("</span></div>");
    }
    h.raw("</figure>");
}

fn share(x: f64, top: f64) -> String {
    let percent = if top > 0.0 && x.is_finite() { (100.0 * x / top).clamp(0.0, 100.0) } else { 0.0 };
    format!("{percent:.2}%")
}

/// User, system and blocked time of a run, stacked.
fn cpu(h: &mut Html, c: &Comparison, w: &Workload) {
    const PARTS: [&str; 3] = ["user", "system", "blocked"];
    let mean = |name: &str, k: usize| w.metric(name).and_then(|m| describe::amean(m.of(k)));
    let total = |k: usize| PARTS.iter().filter_map(|p| mean(p, k)).sum::<f64>();
    let top = (0..c.kernels.len()).map(total).fold(0.0, f64::max);
    if top <= 0.0 {
        return;
    }
    h.raw("<figure class=\"bars\"><figcaption><b>Thread time</b> s per run, all threads · ");
    h.raw("<span class=\"key user\">user</span> <span class=\"key system\">system</span> ");
    h.raw("<span class=\"key blocked\">blocked</span></figcaption>");
    for (k, kernel) in c.kernels.iter().enumerate() {
        h.raw("<div class=\"bar\"><span class=\"name\">").text(&kernel.run_name()).raw("</span>");
        h.raw("<span class=\"track stack\" aria-hidden=\"true\">");
        if PARTS.iter().all(|p| mean(p, k).is_none()) {
            h.raw("</span><span class=\"value\">–</span></div>");
            continue;
        }
        for p in PARTS {
            let width = share(mean(p, k).unwrap_or(0.0), top);
            h.open("i", &[("class", p), ("style", &format!("width:{width}"))]).close("i");
        }
        h.raw("</span><span class=\"value\">");
        for (i, p) in PARTS.into_iter().enumerate() {
            h.raw(if i > 0 { " <small>+</small> " } else { "" });
            h.text(&mean(p, k).map_or_else(|| "–".to_string(), human));
            h.open("span", &[("class", "hidden")]).raw(" s ").raw(p).close("span");
        }
        h.raw("</span></div>");
    }
    h.raw("</figure>");
}

/// A figure of a workload by name, if any kernel has it.
fn figure<'a>(figures: &'a [Metric], name: &str) -> Option<&'a Metric> {
    figures.iter().find(|m| m.name == name && m.samples.iter().any(|s| !s.is_empty()))
}

/// Largest mean of a metric's kernels, at least 0.
pub fn largest(m: &Metric) -> f64 {
    m.samples.iter().filter_map(|s| describe::amean(s)).fold(0.0, f64::max)
}

/// What it cost, as sentences and as a table.
fn costs(h: &mut Html, c: &Comparison, glossary: &Glossary, w: &Workload) {
    let figures = every_metric(w);
    let present: Vec<(&Metric, &str)> =
        COSTS.iter().filter_map(|(name, words)| figure(&figures, name).map(|m| (m, *words))).collect();
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
        let (unit, by) = unit_for(&m.unit, largest(m));
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
                h.raw("×").text(&times(mean / base));
            }
            h.raw(if k == c.baseline || m.of(k).is_empty() { "</td>" } else { "</small></td>" });
        }
        h.raw("</tr>");
    }
    h.raw("</tbody></table></div>");
}

/// A sentence for each kernel, folded away where they are many: the table has the same.
fn cost_sentences(h: &mut Html, c: &Comparison, w: &Workload, figures: &[Metric]) {
    let mut explained = Vec::new();
    // Of different work a change is no change.
    let alike = c.others().filter(|k| w.unlike(*k).is_none());
    let said: Vec<String> = alike.filter_map(|k| cost_sentence(c, w, k, figures, &mut explained)).collect();
    let many = said.len() > fold::MAX_LINES;
    if many {
        h.raw("<details class=\"more\"><summary>In words, for ").count(said.len(), "kernel").raw("</summary>");
    }
    for text in &said {
        h.element("p", &[], text);
    }
    h.raw(if many { "</details>" } else { "" });
}

/// "6.7 spent 127 s in the kernel per run instead of 41.0 s, 3.1 times as much; hint faults …"
fn cost_sentence(
    c: &Comparison,
    w: &Workload,
    kernel: usize,
    figures: &[Metric],
    explained: &mut Vec<String>,
) -> Option<String> {
    let name = &c.kernels.get(kernel)?.name;
    let mut parts = Vec::new();
    for (key, words) in [
        ("system", "system time"),
        ("numa_hint_faults", "hint faults"),
        ("numa_local_percent", "local-fault share"),
        ("numa_migrated_mib", "memory migrated"),
    ] {
        let Some(m) = figure(figures, key) else { continue };
        let (Some(base), Some(mean)) = (describe::amean(m.of(c.baseline)), describe::amean(m.of(kernel))) else {
            continue;
        };
        let (unit, by) = unit_for(&m.unit, base.max(mean));
        let unit = if unit == "faults" || unit.is_empty() { String::new() } else { format!(" {unit}") };
        let change = match percent::change(mean, base) {
            // A share is not a quantity: its growth in percent would mislead.
            _ if m.unit == "%" => String::new(),
            Some(x) if x != 0.0 => format!(", {}", growth(x)),
            _ => String::new(),
        };
        parts.push(format!("{words} {} → {}{unit}{change}", human(base / by), human(mean / by)));
    }
    if parts.is_empty() {
        return None;
    }
    let reason = changed_reason(c, w, kernel, explained).map(|r| format!(" {r}")).unwrap_or_default();
    Some(format!("{name} against {}, per run: {}.{reason}", c.baseline_name(), parts.join("; ")))
}

/// The skip or refusal whose count changed most, and what it means unless that has been said.
fn changed_reason(c: &Comparison, w: &Workload, kernel: usize, explained: &mut Vec<String>) -> Option<String> {
    let mean = |r: &crate::data::Counter, k: usize| describe::amean(r.of(k)).unwrap_or(0.0);
    let by = |r: &crate::data::Counter| (mean(r, kernel) - mean(r, c.baseline)).abs();
    let most = w.reasons.iter().max_by(|a, b| by(a).total_cmp(&by(b))).filter(|r| by(r) > 0.0)?;
    let (base, now) = (human(mean(most, c.baseline)), human(mean(most, kernel)));
    let known = explained.contains(&most.name);
    let meaning = reasons::meaning(&most.name).filter(|_| !known).map(|m| format!(" {m}")).unwrap_or_default();
    explained.push(most.name.clone());
    Some(format!("The reason whose count changed most: {} {base} → {now}.{meaning}", most.name))
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

/// A ratio: two decimals from 0.1 on, one digit more below.
pub fn times(ratio: f64) -> String {
    if ratio == 0.0 || ratio.abs() >= 0.1 {
        format!("{ratio:.2}")
    } else {
        readable(ratio)
    }
}

/// A figure at a glance: four significant digits, from 10 000 on with k, M, G, T.
pub fn human(x: f64) -> String {
    for (from, one, suffix) in [(1e12, 1e12, "T"), (1e9, 1e9, "G"), (1e6, 1e6, "M"), (1e4, 1e3, "k")] {
        if x.abs() >= from {
            return format!("{}\u{a0}{suffix}", significant(x / one));
        }
    }
    if x.fract() == 0.0 {
        return format!("{x:.0}");
    }
    significant(x)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Counter, Kernel};

    #[test]
    fn figures_at_a_glance() {
        let got = [150_531_983.0, 12_345.0, 9_999.0, 0.5, -2.0e9, 0.0].map(human);
        assert_eq!([0.369_04, 1.0, 0.0123, 12.0, 0.0].map(times), ["0.37", "1.00", "0.0123", "12.00", "0.00"]);
        assert_eq!(got, ["150.5\u{a0}M", "12.35\u{a0}k", "9999", "0.5000", "-2.000\u{a0}G", "0"]);
    }

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

    #[test]
    fn the_bar_of_a_rate_is_as_long_as_the_mean_of_the_table() {
        let samples = vec![vec![500.0, 505.0, 495.0], vec![300.0, 420.0, 900.0], vec![0.0, 450.0]];
        let m = Metric::new("accesses", "Maccesses/s", true, samples);
        let c = Comparison { kernels: ["a", "b", "c"].map(Kernel::named).to_vec(), ..Comparison::default() };
        let mut h = Html::new();
        bars(&mut h, &c, &m, &|_| None);
        let got = h.into_string();
        assert!(got.contains(" · harmonic mean ± standard deviation, "), "{got}");
        assert!(got.contains("width:48.84%") && got.contains(">439.5 <small>"), "{got}");
        assert!(got.contains(">– <small>"), "a run at 0: {got}");
    }

    #[test]
    fn what_no_run_measured_is_a_dash_and_never_zero() {
        let m = |name: &str, samples: [Vec<f64>; 2]| Metric::new(name, "s", false, samples.to_vec());
        let metrics = vec![m("user", [vec![3.0], vec![]]), m("system", [vec![0.0], vec![]])];
        let w = Workload { name: "w".into(), metrics, ..Workload::default() };
        let c = Comparison { kernels: ["a", "b"].map(Kernel::named).to_vec(), ..Comparison::default() };
        let values = |h: Html| -> Vec<String> {
            let text = h.into_string();
            text.split("class=\"value\">").skip(1).map(|v| v.split("</div>").next().unwrap().to_string()).collect()
        };
        let mut h = Html::new();
        cpu(&mut h, &c, &w);
        let got = values(h);
        assert!(got[0].starts_with("3<span") && got[0].contains("> 0<span") && got[0].contains("> –<span"), "{got:?}");
        assert_eq!(got[1], "–</span>");
        let mut h = Html::new();
        bars(&mut h, &c, &w.metrics[0], &|_| None);
        assert_eq!(values(h)[1], "–</span>");
    }

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
