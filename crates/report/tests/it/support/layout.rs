//! Texts of examples and of reports, made comparable.
#![allow(dead_code, clippy::unwrap_used)]

/// The text without the line break at its start, which keeps the first line of an example in its place.
pub fn lines(text: &str) -> &str {
    text.strip_prefix('\n').unwrap()
}

/// A line with single blanks between its words.
pub fn squeezed(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}
