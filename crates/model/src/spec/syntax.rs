//! Messages for text that is no TOML: the parser's own message says neither what was written nor what was meant.

/// What is wrong at a byte offset, and what was expected; `message` is the parser's own.
pub(super) fn wrong(text: &str, at: usize, message: &str) -> (String, String) {
    unquoted(text, at).or_else(|| too_long(text, at, message)).unwrap_or_else(|| said(message))
}

/// The message for a whole number beyond 64 bits. The key, and with it the legal range, is not known here.
fn too_long(text: &str, at: usize, message: &str) -> Option<(String, String)> {
    let inside = |c: char| c.is_ascii_alphanumeric() || "_+-".contains(c);
    let word = text.get(at..)?.split(|c| !inside(c)).next().filter(|w| !w.is_empty())?;
    let size = ["large", "small"].into_iter().find(|size| message.contains(&format!("number too {size}")))?;
    let expected = format!("a whole number from {} to {}", i64::MIN, i64::MAX);
    Some((format!("`{word}` is too {size}"), expected))
}

/// The message for text without quotes that begins like a number, of which the parser refuses only the rest.
fn unquoted(text: &str, at: usize) -> Option<(String, String)> {
    let inside = |c: char| c.is_ascii_alphanumeric() || "._+-".contains(c);
    let (before, behind) = text.split_at_checked(at)?;
    let start = before.trim_end_matches(inside).len();
    let word = &text[start..at + behind.find(|c| !inside(c)).unwrap_or(behind.len())];
    let value = text[..start].trim_end().ends_with(['=', '[', ',']);
    let digit = word.starts_with(|c: char| c.is_ascii_digit());
    (value && digit && word.contains(char::is_alphabetic))
        .then(|| (format!("`{word}` is no number"), format!("text in quotes: \"{word}\"")))
}

/// What is wrong and what was expected, from the parser's message, whose later lines may have the reason.
fn said(message: &str) -> (String, String) {
    let mut lines = message.lines().map(str::trim).filter(|l| !l.is_empty());
    let (mut what, mut expected) = (lines.next().unwrap_or("syntax error").to_string(), "valid TOML".to_string());
    for line in lines {
        match line.strip_prefix("expected ") {
            Some(wanted) => expected = format!("{expected}: {wanted}"),
            None => what = format!("{what}: {line}"),
        }
    }
    (what, expected)
}
