//! The effective configuration: first the settings that differ between the kernels, then the others.
//!
//! Problem: a comparison is worth no more than what is known about the kernels compared. Approach: settings are lined
//! up by name, with what they mean in words. A setting that a kernel does not have is a dash, which differs from every
//! value. Where all kernels that read a setting have one value, the difference has no effect and is folded away.

use super::glossary::Glossary;
use super::input::{Input, Setting};
use super::markup::Html;
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
    /// Whether the values differ among the kernels that read the setting.
    fn matters(&self) -> bool {
        let read: Vec<Option<&str>> = self
            .values
            .iter()
            .filter(|s| s.is_none_or(|s| s.unread.is_empty()))
            .map(|s| s.map(|s| s.value.as_str()))
            .collect();
        read.windows(2).any(|pair| pair[0] != pair[1])
    }
}

/// All settings, the system's switches first, else in order of first appearance.
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
    // The switches of the whole system come first, as others are read only where these are on.
    out.sort_by_key(|l| !l.first.name.starts_with("system."));
    out
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
    let (matter, idle): (Vec<Line<'_>>, Vec<Line<'_>>) = differ.into_iter().partition(Line::matters);
    if c.kernels.len() > 1 {
        h.raw("<h3>What differs between the kernels</h3>");
        if matter.is_empty() {
            h.raw("<p>Nothing: every kernel ran with the same policies and the same values.</p>");
        } else {
            table(&mut h, c, glossary, &matter, "What differs");
        }
    }
    folded(&mut h, c, glossary, &idle, "Different, but one side never reads it");
    folded(&mut h, c, glossary, &same, "The same for all kernels");
    h.raw("</section>");
    h
}

fn folded(h: &mut Html, c: &Comparison, glossary: &Glossary, lines: &[Line<'_>], title: &'static str) {
    if lines.is_empty() {
        return;
    }
    h.raw("<details class=\"block\"><summary>").raw(title).raw(" <span class=\"count\">");
    h.count(lines.len(), "setting").raw("</span></summary>");
    table(h, c, glossary, lines, title);
    h.raw("</details>");
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
        if !line.first.doc.is_empty() {
            h.element("span", &[("class", "words")], &line.first.doc).raw(" ");
        }
        h.raw("<small>");
        glossary.term(h, &line.first.name);
        if !line.first.kernel_name.is_empty() && line.first.kernel_name != "model" {
            h.raw(" · ").text(&line.first.kernel_name);
        }
        h.raw("</small></th>");
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
            if !s.meaning.is_empty() {
                h.raw(" ").element("span", &[("class", "words")], &s.meaning);
            }
            if !s.origin.is_empty() {
                h.raw(" <small>from ").text(&s.origin).raw("</small>");
            }
            if !s.unread.is_empty() {
                h.raw(" <small>not read here: ").text(&s.unread).raw("</small>");
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
        let text = render(&input, &Glossary::default()).into_string();
        assert!(text.find("What differs").unwrap() < text.find("The same for all").unwrap());
        assert_eq!(text.matches("class=\"changed\"").count(), 2, "y and z of b");
    }

    #[test]
    fn settings_are_in_words_and_what_a_kernel_never_reads_is_folded() {
        let set = |value: &str, unread: &str| Setting {
            name: "numa.rate".into(),
            value: value.into(),
            doc: "How fast pages move.".into(),
            meaning: format!("means {value}"),
            unread: unread.into(),
            ..Setting::default()
        };
        let c = Comparison { kernels: ["off", "b", "c"].map(Kernel::named).to_vec(), ..Comparison::default() };
        let page = |values: [Setting; 3]| {
            let settings = values.into_iter().map(|s| vec![s]).collect();
            render(&Input { settings, ..Input::new("t", &c) }, &Glossary::default()).into_string()
        };
        let idle = page([set("1", "it is off"), set("2", ""), set("2", "")]);
        assert!(idle.contains("<p>Nothing: every kernel"), "{idle}");
        assert!(idle.contains("Different, but one side never reads it <span class=\"count\">1 setting"), "{idle}");
        assert!(idle.contains("<small>not read here: it is off</small>"), "{idle}");
        let real = page([set("1", "it is off"), set("2", ""), set("3", "")]);
        assert!(!real.contains("never reads it"), "{real}");
        assert!(real.contains("<span class=\"words\">How fast pages move.</span>"), "{real}");
        assert!(real.contains("<code>3</code> <span class=\"words\">means 3</span>"), "{real}");
    }
}
