//! Places in a text, and how messages show numbers and text.

/// Line and column of a byte offset, both from 1.
pub fn position(text: &str, offset: usize) -> (usize, usize) {
    let offset = (0..=offset.min(text.len())).rev().find(|&o| text.is_char_boundary(o)).unwrap_or(0);
    let before = &text[..offset];
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().map_or(0, |l| l.chars().count()) + 1;
    (line, column)
}

/// A number as a message shows it: with an exponent if it would have many digits without.
pub(crate) fn shown(x: f64) -> String {
    match x.abs() {
        size if size != 0.0 && !(1e-6..1e16).contains(&size) => format!("{x:e}"),
        _ => x.to_string(),
    }
}

/// Whether a character is not shown but changes how text around it is: a control character, or one that sets the
/// direction of text (Unicode UAX 9), by which a name could look like another.
pub fn is_hidden(c: char) -> bool {
    let direction =
        matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    c.is_control() || direction || matches!(c, '\u{2028}' | '\u{2029}')
}

/// Shortens user text for a message: at most 60 characters, those that are hidden replaced.
pub(crate) fn clip(text: &str) -> String {
    let mut out: String = text.chars().take(60).map(|c| if is_hidden(c) { ' ' } else { c }).collect();
    if text.chars().nth(60).is_some() {
        out.push_str("...");
    }
    out
}
