//! The effective configuration: first the settings that differ between the kernels, then the others.
//!
//! Problem: a comparison is worth no more than what is known about the kernels compared. Approach: settings are lined
//! up by name. A setting that a kernel does not have is a dash, which differs from every value.

use super::glossary::Glossary;
use super::markup::Html;
use super::{Input, Setting};
use crate::data::Comparison;

/// A setting with its values on all kernels.
struct Line<'a> {
    first: &'a Setting,
    /// The setting on each kernel, if the kernel has it.
    values: Vec<Option<&'a Setting>>,
}

impl Line<'_> {
    fn differs(&self) -> bool {
        let value = |s: &Option<&Setting>| s.map(|s| s.value.clone());
        self.values.windows(2).any(|pair| value(&pair[0]) != value(&pair[1]))
    }
}

/// All settings, in order of first appearance.
fn lines<'a>(input: &'a Input<'_>) -> Vec<Line<'a>> {
    let kernels = input.comparison.kernels.len();
    let mut out: Vec<Line<'a>> = Vec::new();
    for (k, settings) in input.settings.iter().take(kernels).enumerate() {
        for s in settings {
            let at = out.iter().position(|l| l.first.name == s.name).unwrap_or_else(|| {
                out.push(Line { first: s, values: vec![None; kernels] });
                out.len() - 1
            });
            out[at].values[k] = Some(s);
        }
    }
    out
}

/// Names of the settings that are not the same on all kernels.
pub fn differing<'a>(input: &'a Input<'_>) -> Vec<&'a str> {
    lines(input).iter().filter(|l| l.differs()).map(|l| l.first.name.as_str()).collect()
}

/// The section of the configuration.
pub fn render(input: &Input<'_>, glossary: &Glossary) -> Html {
    let c = input.comparison;
    let all = lines(input);
    let mut h = Html::new();
    h.raw("<section id=\"config\"><h2>Configuration</h2>");
    if all.is_empty() {
        h.raw("<p class=\"note\">The records hold no effective configuration.</p></section>");
        return h;
    }
    let (differ, same): (Vec<Line<'_>>, Vec<Line<'_>>) = all.into_iter().partition(Line::differs);
    if c.kernels.len() > 1 {
        h.raw("<h3>What differs between the kernels</h3>");
        if differ.is_empty() {
            h.raw("<p>Nothing: every kernel ran with the same policies and the same values.</p>");
        } else {
            table(&mut h, c, glossary, &differ, "What differs");
        }
    }
    if !same.is_empty() {
        h.raw("<details class=\"block\"><summary>The same for all kernels <span class=\"count\">");
        h.count(same.len(), "setting").raw("</span></summary>");
        table(&mut h, c, glossary, &same, "The same for all kernels");
        h.raw("</details>");
    }
    h.raw("</section>");
    h
}

fn table(h: &mut Html, c: &Comparison, glossary: &Glossary, lines: &[Line<'_>], label: &str) {
    h.raw("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"").text(label).raw("\">");
    h.raw("<table class=\"config\"><thead><tr><th scope=\"col\">Setting</th>");
    for kernel in &c.kernels {
        h.element("th", &[("scope", "col")], &kernel.run_name());
    }
    h.raw("</tr></thead><tbody>");
    for line in lines {
        h.raw("<tr><th scope=\"row\">");
        glossary.term(h, &line.first.name);
        if !line.first.kernel_name.is_empty() {
            h.raw(" <small>").text(&line.first.kernel_name).raw("</small>");
        }
        h.raw("</th>");
        let base = line.values.get(c.baseline).copied().flatten().map(|s| s.value.as_str());
        for value in &line.values {
            let Some(s) = value else {
                h.raw("<td>–</td>");
                continue;
            };
            let changed = base != Some(s.value.as_str());
            h.raw(if changed {
                "<td class=\"changed\"><span aria-hidden=\"true\">≠ </span><span class=\"hidden\">differs: </span>"
            } else {
                "<td>"
            });
            h.element("code", &[], &s.value);
            if !s.unit.is_empty() {
                h.raw(" ").text(&s.unit);
            }
            if !s.origin.is_empty() {
                h.raw(" <small>from ").text(&s.origin).raw("</small>");
            }
            h.raw("</td>");
        }
        h.raw("</tr>");
    }
    h.raw("</tbody></table></div>");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Kernel;

    #[test]
    fn differences_come_first_and_a_missing_setting_is_one() {
        let set = |name: &str, value: &str| Setting { name: name.into(), value: value.into(), ..Setting::default() };
        let c = Comparison { kernels: vec![Kernel::named("a"), Kernel::named("b")], ..Comparison::default() };
        let settings = vec![vec![set("x", "1"), set("y", "2")], vec![set("y", "3"), set("x", "1"), set("z", "4")]];
        let input = Input { settings, ..Input::new("t", &c) };
        assert_eq!(differing(&input), ["y", "z"]);
        let text = render(&input, &Glossary::default()).into_string();
        assert!(text.find("What differs").unwrap() < text.find("The same for all").unwrap());
        assert_eq!(text.matches("class=\"changed\"").count(), 2, "y and z of b");
    }
}
