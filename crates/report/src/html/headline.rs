//! The answer at the top of the page: a sentence for each kernel, or one for all if they are many.
//!
//! Sentences for 22 kernels say less than how many kernels win. So up to [`MAX_LINES`] sentences stand at the top; if
//! there are more, one sentence counts the kernels and theirs are folded below it. Invariant: every kernel but the
//! baseline is counted once.

use super::markup::Html;
use crate::data::Comparison;
use crate::verdict::Call;

/// Most sentences of kernels at the top of the page.
pub const MAX_LINES: usize = 6;
/// Most kernels that the counting sentence names.
const MAX_NAMES: usize = 6;

/// Writes a line for each kernel, or the sentence that counts them with the lines folded below it.
pub fn render(h: &mut Html, c: &Comparison, lines: &[(Option<Call>, String)]) {
    h.raw("<div class=\"headline\">");
    if lines.len() > MAX_LINES {
        let (call, text) = counted(c, lines);
        h.element("p", &[("class", class(call))], &text);
        h.raw("</div><details class=\"more\"><summary>The answer for each of ").count(lines.len(), "kernel");
        h.raw("</summary><ul class=\"findings\">");
        for (call, line) in lines {
            h.element("li", &[("class", class(*call))], line);
        }
        h.raw("</ul></details>");
        return;
    }
    for (call, line) in lines {
        h.element("p", &[("class", class(*call))], line);
    }
    h.raw("</div>");
}

fn class(call: Option<Call>) -> &'static str {
    call.map_or("several", Call::class)
}

/// The counting sentence, with the call that all kernels share if there is one: "22 kernels against off: 2 better than
/// it (a, b), 20 of which nothing can be told."
fn counted(c: &Comparison, lines: &[(Option<Call>, String)]) -> (Option<Call>, String) {
    let (base, all) = (c.baseline_name(), lines.len());
    if lines.iter().all(|(call, _)| *call == Some(Call::CannotTell)) {
        return (Some(Call::CannotTell), format!("Cannot tell any of {all} kernels from {base}."));
    }
    let kinds = [
        (Some(Call::Better), "better than it"),
        (Some(Call::Worse), "worse"),
        (None, "better in some measurements and worse in others"),
        (Some(Call::Even), "without a clear difference"),
        (Some(Call::CannotTell), "of which nothing can be told"),
    ];
    let mut parts = Vec::new();
    let mut found = Vec::new();
    for (call, words) in kinds {
        let own = c.others().zip(lines).filter(|(_, line)| line.0 == call);
        let names: Vec<&str> = own.map(|(k, _)| c.kernels[k].name.as_str()).collect();
        if !names.is_empty() {
            // Only kernels with a clear difference are named.
            let clear = !matches!(call, Some(Call::Even | Call::CannotTell));
            parts.push(format!("{} {words}{}", names.len(), if clear { named(&names) } else { String::new() }));
            found.push(call);
        }
    }
    let shared = if found.len() == 1 { found[0] } else { None };
    (shared, format!("{all} kernels against {base}: {}.", parts.join(", ")))
}

/// The first names, in parentheses.
fn named(names: &[&str]) -> String {
    let more = if names.len() > MAX_NAMES { ", …" } else { "" };
    format!(" ({}{more})", names.iter().take(MAX_NAMES).copied().collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Kernel;

    fn page(calls: &[Option<Call>]) -> String {
        let kernels = (0..=calls.len()).map(|k| Kernel::named(&format!("k{k}"))).collect();
        let c = Comparison { kernels, ..Comparison::default() };
        let lines: Vec<_> = calls.iter().map(|call| (*call, "Said.".to_string())).collect();
        let mut h = Html::new();
        render(&mut h, &c, &lines);
        h.into_string()
    }

    #[test]
    fn a_handful_of_kernels_have_their_sentences_and_more_are_counted() {
        let few = page(&[Some(Call::CannotTell); MAX_LINES]);
        assert_eq!(
            (few.matches("<p class=\"unknown\">Said.</p>").count(), few.contains("<details")),
            (MAX_LINES, false)
        );
        let many = page(&[Some(Call::CannotTell); 22]);
        let want = "<div class=\"headline\"><p class=\"unknown\">Cannot tell any of 22 kernels from k0.</p></div>";
        assert!(many.starts_with(want), "{many}");
        assert_eq!(many.matches("<li class=\"unknown\">Said.</li>").count(), 22);
        let mut calls = vec![Some(Call::CannotTell); 8];
        (calls[1], calls[2], calls[4]) = (Some(Call::Better), None, Some(Call::Better));
        let want =
            "<p class=\"several\">8 kernels against k0: 2 better than it (k2, k5), 1 better in some measurements and \
                    worse in others (k3), 5 of which nothing can be told.</p>";
        assert!(page(&calls).contains(want), "{}", page(&calls));
    }
}
