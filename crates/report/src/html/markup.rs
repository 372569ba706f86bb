//! HTML whose markup no name can break.
//!
//! Problem: names of kernels, workloads and settings come from files of other people. Approach: markup is always a
//! `&'static str` of this program. Everything else goes in escaped, through [`Html::text`] or as an attribute; no
//! function takes foreign text as markup. Invariant: what [`Html::open`] opened is closed by name.

use numalab_base::visible_text::is_invisible;
use std::fmt::{Display, Write as _};

/// A piece of HTML.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Html {
    out: String,
}

impl Html {
    /// An empty piece.
    pub fn new() -> Self {
        Self::default()
    }
    /// Adds markup of this program.
    pub fn raw(&mut self, markup: &'static str) -> &mut Self {
        self.out.push_str(markup);
        self
    }
    /// Adds text, escaped.
    pub fn text(&mut self, text: &str) -> &mut Self {
        escape(text, &mut self.out);
        self
    }
    /// Adds a value as text, escaped.
    pub fn show(&mut self, value: impl Display) -> &mut Self {
        self.text(&value.to_string())
    }
    /// Adds a number of things; the word gets an "s" unless the number is 1.
    pub fn count(&mut self, n: usize, thing: &'static str) -> &mut Self {
        self.show(n).raw(" ").raw(thing).raw(if n == 1 { "" } else { "s" })
    }
    /// Adds an opening tag with attributes. Values are escaped; an empty value is written as `name=""`.
    pub fn open(&mut self, tag: &'static str, attributes: &[(&'static str, &str)]) -> &mut Self {
        let _ = write!(self.out, "<{tag}");
        for (name, value) in attributes {
            let _ = write!(self.out, " {name}=\"");
            escape(value, &mut self.out);
            self.out.push('"');
        }
        self.out.push('>');
        self
    }
    /// Adds a closing tag.
    pub fn close(&mut self, tag: &'static str) -> &mut Self {
        let _ = write!(self.out, "</{tag}>");
        self
    }
    /// Adds an element with text.
    pub fn element(&mut self, tag: &'static str, attributes: &[(&'static str, &str)], text: &str) -> &mut Self {
        self.open(tag, attributes).text(text).close(tag)
    }
    /// Adds another piece.
    pub fn push(&mut self, other: &Html) -> &mut Self {
        self.out.push_str(&other.out);
        self
    }
    /// Adds JSON for a `script` element: no `<`, `>` or `&` remains in it.
    pub(super) fn json(&mut self, json: &str) -> &mut Self {
        for c in json.chars() {
            match c {
                '<' => self.out.push_str("\\u003c"),
                '>' => self.out.push_str("\\u003e"),
                '&' => self.out.push_str("\\u0026"),
                c => self.out.push(c),
            }
        }
        self
    }
    /// The markup as text.
    pub fn into_string(self) -> String {
        self.out
    }
}

/// Escapes for text and for quoted attributes. Characters that are not seen become a visible mark: with those that
/// change the direction of writing, for one, a name could look like another one.
fn escape(text: &str, out: &mut String) {
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' | '\t' => out.push(' '),
            c if is_invisible(c) => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
}

/// A name as part of an `id` or of a link to it: any character but a letter, a digit, `-` and `_` becomes `_` and its
/// code.
pub fn slug(name: &str) -> String {
    let mut out = String::new();
    for c in name.chars() {
        if c.is_ascii_alphanumeric() || c == '-' || c == '_' {
            out.push(c);
        } else {
            let _ = write!(out, "_{:x}", u32::from(c));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_text_never_becomes_markup() {
        let mut h = Html::new();
        h.open("b", &[("title", "\"><script>")]).text("</b><img src=x onerror='a'>&amp;\u{202e}\0").close("b");
        let want = "<b title=\"&quot;&gt;&lt;script&gt;\">&lt;/b&gt;&lt;img src=x onerror=&#39;a&#39;&gt;&amp;amp;\u{fffd}\u{fffd}</b>";
        assert_eq!(h.into_string(), want);
    }

    #[test]
    fn json_cannot_end_its_script() {
        let mut h = Html::new();
        h.json("{\"a\":\"</script><!--&\"}");
        let text = h.into_string();
        assert_eq!(text, "{\"a\":\"\\u003c/script\\u003e\\u003c!--\\u0026\"}");
        let back: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(back["a"], "</script><!--&");
    }

    #[test]
    fn one_thing_is_not_a_plural() {
        let said = [0, 1, 2].map(|n| Html::new().count(n, "row").clone().into_string());
        assert_eq!(said, ["0 rows", "1 row", "2 rows"]);
    }

    #[test]
    fn slugs_are_distinct_and_harmless() {
        assert_eq!(slug("numa_hit"), "numa_hit");
        assert_eq!(slug("a b\"<"), "a_20b_22_3c");
        assert_ne!(slug("NUMA local %"), slug("NUMA local"));
    }
}
