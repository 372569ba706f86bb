//! What to say of text that is no TOML: the parser's own words say neither what was written nor what was meant.

/// What is wrong at a byte offset, and what was expected, where the parser says `message`.
pub(super) fn wrong(text: &str, at: usize, message: &str) -> (String, String) {
    unquoted(text, at).or_else(|| too_long(text, at, message)).unwrap_or_else(|| said(message))
}

/// What to say of a whole number with more digits than TOML has; which key it is for, and so its range, is not known yet.
fn too_long(text: &str, at: usize, message: &str) -> Option<(String, String)> {
    let inside = |c: char| c.is_ascii_alphanumeric() || "_+-".contains(c);
    let word = text.get(at..)?.split(|c| !inside(c)).next().filter(|w| !w.is_empty())?;
    let size = ["large", "small"].into_iter().find(|size| message.contains(&format!("number too {size}")))?;
    let expected = format!("a whole number from {} to {}", i64::MIN, i64::MAX);
    Some((format!("`{word}` is too {size}"), expected))
}

/// What to say of text without quotes that begins like a number: the parser complains of what follows the number.
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

/// Of a message of the parser: the reason may be in its later lines.
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
