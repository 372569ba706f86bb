//! The top of the page: the question, the decision, how much on each workload, and what the names stand for.
//!
//! The sentences are those of [`Decision`], so that the page and the text form say the same.

use super::input::Input;
use super::markup::Html;
use crate::data::Comparison;
use crate::verdict::{Choice, Decision, Verdict, WorkloadDecision};

/// Most workloads whose decisions are shown at once; the others are folded away.
const MAX_DECISIONS: usize = 6;
/// Most names that are explained at once; the others are folded away.
const MAX_EXPLAINED: usize = 8;
/// Most names whose badge has room for them.
const MAX_BADGE: usize = 2;

/// The section at the top of the page.
pub fn render(input: &Input<'_>, decision: &Decision) -> Html {
    let c = input.comparison;
    let mut h = Html::new();
    h.raw("<section id=\"answer\">");
    if let Some(prediction) = c.origin.as_ref().and_then(|o| o.prediction.as_ref()) {
        h.element("p", &[("class", "warning")], &prediction.text());
    }
    // The name of the experiment is left where its title is the question.
    let name = input.title.strip_suffix(&decision.question).map_or(input.title.as_str(), |t| t.trim_end_matches(": "));
    if !name.is_empty() {
        h.element("p", &[("class", "eyebrow")], name);
    }
    h.element("h1", &[], &decision.question);
    let class = shared_class(c, decision);
    h.raw("<div class=\"headline\">").element("p", &[("class", class)], &decision.answer).raw("</div>");
    let (first, rest) = decision.workloads.split_at(decision.workloads.len().min(MAX_DECISIONS));
    decisions(&mut h, c, first);
    if !rest.is_empty() {
        h.raw("<details class=\"more\"><summary>").count(rest.len(), "more workload").raw("</summary>");
        decisions(&mut h, c, rest);
        h.raw("</details>");
    }
    brief(&mut h, input);
    explained(&mut h, input);
    h.raw("</section>");
    h
}

/// The class of the badge that all workloads share, else that of several; of a prediction, that of its verdict.
fn shared_class(c: &Comparison, decision: &Decision) -> &'static str {
    if let Some(agreement) = &decision.agreement {
        return match agreement.verdict {
            Verdict::Take(_) => "better",
            Verdict::Keep => "keep",
            Verdict::Even => "even",
            Verdict::NoVerdict => "unknown",
        };
    }
    let mut classes = decision.workloads.iter().map(|w| badge(c, &w.choice).0);
    let first = classes.next().unwrap_or("several");
    if classes.all(|class| class == first) {
        first
    } else {
        "several"
    }
}

/// Class and words of a badge.
fn badge(c: &Comparison, choice: &Choice) -> (&'static str, String) {
    match choice {
        Choice::Take(take) => {
            let keep = take.contains(&c.baseline);
            let names: Vec<&str> = take.iter().filter_map(|k| c.kernels.get(*k)).map(|k| k.name.as_str()).collect();
            let names = if names.len() > MAX_BADGE { format!("{} kernels", names.len()) } else { names.join(" or ") };
            if keep {
                ("keep", format!("● keep {names}"))
            } else {
                ("better", format!("▲ take {names}"))
            }
        }
        Choice::Even => ("even", "= either".into()),
        Choice::Mixed => ("several", "± it depends".into()),
        Choice::CannotTell => ("unknown", "? cannot tell".into()),
    }
}

fn decisions(h: &mut Html, c: &Comparison, list: &[WorkloadDecision]) {
    if list.is_empty() {
        return;
    }
    h.raw("<ul class=\"findings\">");
    for w in list {
        let (class, words) = badge(c, &w.choice);
        h.open("li", &[("class", class)]).element("span", &[("class", "badge")], &words).raw(" ");
        let name = c.workloads.get(w.workload).map_or("", |w| w.name.as_str());
        h.element("b", &[], name).raw(" ").element("span", &[], &w.text).raw("</li>");
    }
    h.raw("</ul>");
}

/// Facts that a reader must know before believing anything: where the figures come from, and on how many runs.
fn brief(h: &mut Html, input: &Input<'_>) {
    const SHOWN: [&str; 3] = ["Backend", "Machine", "Runs"];
    let shown: Vec<_> = input.facts.iter().filter(|f| SHOWN.contains(&f.0.as_str())).collect();
    if shown.is_empty() {
        return;
    }
    h.raw("<dl class=\"facts\">");
    for (name, value) in shown {
        h.raw("<div>").element("dt", &[], name).element("dd", &[], value).raw("</div>");
    }
    h.raw("</dl>");
}

/// What the kernels, the workloads and the machines are, one line each.
fn explained(h: &mut Html, input: &Input<'_>) {
    let c = input.comparison;
    let kernels = c.kernels.iter().map(|k| k.name.as_str()).zip(&input.about_kernels);
    let workloads = c.workloads.iter().map(|w| w.name.as_str()).zip(&input.about_workloads);
    let machines = input.machines.iter().map(|m| (m.name.as_str(), &m.title));
    let all = kernels.chain(workloads).chain(machines);
    // A title may begin with the name, which stands before it already.
    let plain =
        |name: &str, about: &'_ str| about.strip_prefix(name).and_then(|a| a.strip_prefix(": ")).map(str::to_string);
    let known: Vec<(&str, String)> = all
        .filter(|(name, about)| !about.is_empty() && name != about)
        .map(|(name, about)| (name, plain(name, about).unwrap_or_else(|| about.clone())))
        .collect();
    let list = |h: &mut Html, part: &[(&str, String)]| {
        h.raw("<dl class=\"explained\">");
        for (name, about) in part {
            h.raw("<div>").element("dt", &[], name).element("dd", &[], about).raw("</div>");
        }
        h.raw("</dl>");
    };
    if known.len() > MAX_EXPLAINED {
        h.raw("<details class=\"more\"><summary>What the ").show(known.len()).raw(" names stand for</summary>");
        list(h, &known);
        h.raw("</details>");
    } else if !known.is_empty() {
        list(h, &known);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Kernel, Metric, Workload};
    use crate::verdict::decide;

    fn comparison(samples: [Vec<f64>; 2]) -> Comparison {
        let metrics = vec![Metric::new("elapsed", "s", false, samples.to_vec())];
        let w = Workload { name: "w".into(), metrics, ..Workload::default() };
        Comparison { kernels: ["off", "on"].map(Kernel::named).to_vec(), workloads: vec![w], ..Comparison::default() }
    }

    #[test]
    fn the_badge_says_what_to_take() {
        let page = |samples| {
            let c = comparison(samples);
            render(&Input::new("t", &c), &decide(&c)).into_string()
        };
        let high = || vec![20.0, 20.1, 19.9];
        let low = || vec![10.0, 10.1, 9.9];
        let better = page([high(), low()]);
        assert!(better.contains("<li class=\"better\"><span class=\"badge\">▲ take on</span>"), "{better}");
        assert!(better.contains("<div class=\"headline\"><p class=\"better\">Take on"), "{better}");
        let worse = page([low(), high()]);
        assert!(worse.contains("<li class=\"keep\"><span class=\"badge\">● keep off</span>"), "{worse}");
        assert!(page([vec![1.0], vec![2.0]]).contains("? cannot tell"));
    }

    #[test]
    fn names_are_explained_and_many_of_them_are_folded() {
        let c = comparison([vec![1.0; 3], vec![2.0; 3]]);
        let about = |n: &str| vec![format!("What {n} is"), String::new()];
        let mut input = Input { about_kernels: about("off"), about_workloads: about("w"), ..Input::new("t", &c) };
        let text = render(&input, &decide(&c)).into_string();
        assert!(text.contains("<dt>off</dt><dd>What off is</dd>") && text.contains("<dt>w</dt>"), "{text}");
        assert!(!text.contains("<dt>on</dt>"), "nothing is known of it: {text}");
        let many = Comparison { kernels: (0..40).map(|k| Kernel::named(&format!("k{k}"))).collect(), ..c.clone() };
        input = Input { about_kernels: vec!["A kernel".into(); 40], ..Input::new("t", &many) };
        let text = render(&input, &decide(&many)).into_string();
        assert!(text.contains("<summary>What the 40 names stand for</summary>"), "{text}");
    }
}
