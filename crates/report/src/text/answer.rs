//! The answer of a comparison in about five lines: question, answer, how much, how sure, cost.
//!
//! The sentences are those at the top of the page ([`crate::verdict::decide`]). Only the layout is made here: a label,
//! and the sentence wrapped beside it.

use textwrap::{wrap, Options, WordSplitter};

use crate::collect::HAD_SETTLED;
use crate::data::{Comparison, Metric, Workload};
use crate::format::significant;
use crate::order::unique;
use crate::verdict::{measurements, Decision};

/// Most workloads that are printed. A large comparison has many.
const MAX_WORKLOADS: usize = 8;
/// Most kernels whose cost is printed.
const MAX_COSTS: usize = 3;
/// Most warnings that are printed.
const MAX_NOTES: usize = 3;
/// Narrowest column of sentences beside the labels, in characters. In a narrower terminal they stand below the labels.
const MIN_SENTENCE: usize = 40;

/// A line of the answer: its label, and a sentence. Further sentences of a label have an empty one.
pub type Line = (&'static str, String);

/// The lines of a decision, not wrapped.
pub fn lines(c: &Comparison, d: &Decision) -> Vec<Line> {
    let mut out: Vec<Line> = predicted(c).into_iter().collect();
    out.extend([("Question", d.question.clone()), ("Answer", d.answer.clone())]);
    // A single workload without a winner has its sentence as the answer already.
    let repeated = |text: &str| d.answer.trim_end_matches('.').starts_with(text.trim_end_matches('.'));
    let shown: Vec<String> = d
        .workloads
        .iter()
        .filter(|w| !w.text.is_empty() && !repeated(&w.text))
        .map(|w| {
            if d.workloads.len() > 1 {
                format!("{}: {}", c.workloads[w.workload].name, w.text)
            } else {
                w.text.clone()
            }
        })
        .collect();
    push(&mut out, "How much", &shown, MAX_WORKLOADS, "workload");
    if c.kernels.len() == 1 {
        let figures: Vec<String> = c.workloads.iter().map(figures).filter(|f| !f.is_empty()).collect();
        push(&mut out, "Figures", &figures, MAX_WORKLOADS, "workload");
    }
    if !d.how_sure.is_empty() {
        out.push(("How sure", d.how_sure.clone()));
    }
    push(&mut out, "Cost", &d.costs, MAX_COSTS, "kernel");
    push(&mut out, "Note", &notes(c), MAX_NOTES, "note");
    out
}

/// The line that says what was simulated of the program that a prediction was asked about; `None` of other comparisons.
pub fn predicted(c: &Comparison) -> Option<Line> {
    const LABEL: &str = "Predicted";
    let text = c.origin.as_ref()?.prediction.as_ref()?.text();
    // The label is the first word of the sentence.
    Some((LABEL, text.strip_prefix(LABEL).unwrap_or(&text).trim_start().to_string()))
}

/// The means of the only kernel on a workload: "numa02: elapsed 14.39 s, system 0.2582 s".
fn figures(w: &Workload) -> String {
    let times = ["elapsed", "system"].into_iter().filter_map(|name| w.metric(name));
    let all = unique_metrics(measurements(w).into_iter().chain(times));
    let one = |m: &Metric| Some(format!("{} {} {}", m.name, significant(m.mean_of(0)?), m.unit).trim_end().to_string());
    let said: Vec<String> = all.into_iter().filter_map(one).collect();
    if said.is_empty() {
        String::new()
    } else {
        format!("{}: {}.", w.name, said.join(", "))
    }
}

/// Metrics, each once by its name.
fn unique_metrics<'a>(all: impl Iterator<Item = &'a Metric>) -> Vec<&'a Metric> {
    let mut out: Vec<&Metric> = Vec::new();
    all.for_each(|m| {
        if !out.iter().any(|o| o.name == m.name) {
            out.push(m);
        }
    });
    out
}

/// The warnings about the workloads, each once. What a machine file assumes is left to the tables.
fn notes(c: &Comparison) -> Vec<String> {
    let all = c.workloads.iter().flat_map(|w| w.warnings.iter().map(move |text| (w, text)));
    let several = c.workloads.len() > 1;
    let one = |(w, text): (&Workload, &String)| if several { format!("{}: {text}", w.name) } else { text.clone() };
    // What is assumed is in the full tables, unless the reader can put it right with an option. So is which runs had
    // settled.
    let kept_back = |text: &str| text.starts_with("assumed: ") || text.contains(HAD_SETTLED);
    let told = |text: &str| !kept_back(text) || text.contains("--memory-kind");
    unique(all.filter(|(_, text)| told(text)).map(one))
}

/// Adds the first sentences under one label, and how many are left out.
fn push(out: &mut Vec<Line>, label: &'static str, sentences: &[String], most: usize, noun: &str) {
    for (i, text) in sentences.iter().take(most).enumerate() {
        out.push((if i == 0 { label } else { "" }, text.clone()));
    }
    let more = sentences.len().saturating_sub(most);
    if more > 0 {
        out.push((
            "",
            format!("{}; --full has all of them.", crate::format::count(more as u64, &format!("more {noun}"))),
        ));
    }
}

/// Lays lines out for `width` characters. `label` decorates a label, such as with colour.
pub fn layout(lines: &[Line], width: usize, label: &dyn Fn(&str) -> String) -> String {
    let longest = lines.iter().map(|l| l.0.len()).max().unwrap_or(0);
    let beside = width >= longest + 2 + MIN_SENTENCE;
    let indent = " ".repeat(if beside { longest + 2 } else { 2 });
    let options = Options::new(width.max(20))
        .initial_indent(&indent)
        .subsequent_indent(&indent)
        .break_words(false)
        .word_splitter(WordSplitter::NoHyphenation);
    let mut out = String::new();
    for (name, sentence) in lines {
        let text = wrap(sentence, &options).join("\n");
        if beside {
            let gap = " ".repeat(longest + 2 - name.len());
            out.push_str(&format!("{}{gap}{}", label(name), text.get(indent.len()..).unwrap_or_default()));
        } else {
            let head = if name.is_empty() { String::new() } else { label(name) + "\n" };
            out.push_str(&(head + &text));
        }
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(text: &str) -> String {
        text.to_string()
    }

    #[test]
    fn sentences_are_wrapped_beside_their_labels() {
        let lines: Vec<Line> = vec![
            ("Answer", "Take 6.12: it beats off on numa02, and it is a long sentence that goes on.".into()),
            ("Cost", "none".into()),
            ("", "more".into()),
        ];
        let want = "Answer  Take 6.12: it beats off on numa02, and it\n        is a long sentence that goes on.\n\
                    Cost    none\n        more\n";
        assert_eq!(layout(&lines, 50, &plain), want);
        let narrow = layout(&lines, 40, &plain);
        assert!(narrow.starts_with("Answer\n  Take 6.12: it beats off on numa02, and\n  it is"), "{narrow}");
        assert!(narrow.ends_with("Cost\n  none\n  more\n"), "{narrow}");
        assert!(narrow.lines().all(|l| l.chars().count() <= 40), "{narrow}");
    }

    #[test]
    fn what_is_left_out_is_counted() {
        let mut out = Vec::new();
        push(&mut out, "Cost", &["a".into(), "b".into(), "c".into()], 2, "kernel");
        let last: Line = ("", "1 more kernel; --full has all of them.".into());
        assert_eq!(out, [("Cost", "a".into()), ("", "b".into()), last]);
    }
}
