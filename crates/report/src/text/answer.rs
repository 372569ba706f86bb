//! The answer of a comparison in about five lines: question, answer, how much, how sure, cost.
//!
//! The sentences are those at the top of the page ([`crate::verdict::decide`]). Only the layout is made here: a label,
//! and the sentence wrapped beside it.

use textwrap::{wrap, Options};

use crate::data::Comparison;
use crate::verdict::Decision;

/// Most workloads that are printed. A large comparison has many.
const MAX_WORKLOADS: usize = 8;
/// Most kernels whose cost is printed.
const MAX_COSTS: usize = 3;
/// Narrowest column of sentences beside the labels, in characters. In a narrower terminal they stand below the labels.
const MIN_SENTENCE: usize = 40;

/// A line of the answer: its label, and a sentence. Further sentences of a label have an empty one.
pub type Line = (&'static str, String);

/// The lines of a decision, not wrapped.
pub fn lines(c: &Comparison, d: &Decision) -> Vec<Line> {
    let mut out = vec![("Question", d.question.clone()), ("Answer", d.answer.clone())];
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
    if !d.how_sure.is_empty() {
        out.push(("How sure", d.how_sure.clone()));
    }
    push(&mut out, "Cost", &d.costs, MAX_COSTS, "kernel");
    out
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
    let options = Options::new(width.max(20)).initial_indent(&indent).subsequent_indent(&indent).break_words(false);
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
