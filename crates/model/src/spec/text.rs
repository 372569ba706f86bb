//! Text of a spec: places in it, and how a message shows what it says.

/// Line and column (from 1) of a byte offset.
pub fn position(text: &str, offset: usize) -> (usize, usize) {
    let offset = (0..=offset.min(text.len())).rev().find(|&o| text.is_char_boundary(o)).unwrap_or(0);
    let before = &text[..offset];
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().map_or(0, |l| l.chars().count()) + 1;
    (line, column)
}

/// A number as a message shows it: with an exponent where all of its digits would fill lines.
pub(crate) fn shown(x: f64) -> String {
    match x.abs() {
        size if size != 0.0 && !(1e-6..1e16).contains(&size) => format!("{x:e}"),
        _ => x.to_string(),
    }
}

/// Shortens user text for a message: at most 60 characters, control characters replaced.
pub(crate) fn clip(text: &str) -> String {
    let mut out: String = text.chars().take(60).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.chars().nth(60).is_some() {
        out.push_str("...");
    }
    out
}
