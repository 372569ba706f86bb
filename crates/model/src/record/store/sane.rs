//! What the texts and figures of a record may be, whoever wrote it.
//!
//! Problem: a record may come from anybody. A name can be a megabyte long, change the direction of the text around it
//! or control the terminal; a figure can be so large that a mean of two is infinite.
//! Approach: every text and number of the JSON files is looked at once, before anything is made of them.

use super::error::RecordError;
use crate::spec::is_hidden;
use serde_json::Value;
use std::path::Path;

/// Longest name, bytes, and longest free text: a warning, a title or the reason of a failure.
const NAME_BYTES_MAX: usize = 4 << 10;
const TEXT_BYTES_MAX: usize = 1 << 20;
/// Keys of free text. Their control characters are replaced when they are read, see [`clean`].
const FREE: [&str; 5] = ["warnings", "reason", "title", "about", "value"];
/// Largest figure: far above any, and far from where a sum of squares is infinite.
const FIGURE_MAX: f64 = 1e100;

/// Checks the names and figures of a JSON file.
///
/// # Errors
/// A name that is too long or has hidden characters, a text that is too long, a figure that is too large.
pub(super) fn check(file: &Path, value: &Value) -> Result<(), RecordError> {
    walk(value, false).map_err(|what| RecordError::damaged(file, what))
}

fn walk(value: &Value, free: bool) -> Result<(), String> {
    match value {
        Value::String(text) if free => limit(text, TEXT_BYTES_MAX),
        Value::String(text) => name(text),
        Value::Number(n) => match n.as_f64() {
            Some(x) if x.abs() <= FIGURE_MAX => Ok(()),
            _ => Err(format!("{n} is no figure")),
        },
        Value::Array(all) => all.iter().try_for_each(|v| walk(v, free)),
        Value::Object(all) => all.iter().try_for_each(|(key, v)| {
            name(key)?;
            walk(v, free || FREE.contains(&key.as_str()))
        }),
        Value::Null | Value::Bool(_) => Ok(()),
    }
}

fn name(text: &str) -> Result<(), String> {
    limit(text, NAME_BYTES_MAX)?;
    match text.chars().find(|c| is_hidden(*c)) {
        Some(c) => Err(format!("a name with the character U+{:04X}", c as u32)),
        None => Ok(()),
    }
}

fn limit(text: &str, most: usize) -> Result<(), String> {
    if text.len() > most {
        return Err(format!("a name or text of {} bytes, more than {most}", text.len()));
    }
    Ok(())
}

/// Free text with its hidden characters replaced, other than line breaks and tabs.
pub(super) fn clean(text: &mut String) {
    let hidden = |c: char| is_hidden(c) && c != '\n' && c != '\t';
    if text.contains(hidden) {
        *text = text.replace(hidden, "\u{fffd}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(value: Value) -> String {
        check(Path::new("m.json"), &value).unwrap_err().to_string()
    }

    #[test]
    fn names_are_short_and_visible() {
        assert!(check(
            Path::new("m.json"),
            &serde_json::json!({"name": "6.12", "x": [1, 2.5], "warnings": ["a\u{1b}"]})
        )
        .is_ok());
        assert!(refused(serde_json::json!({"name": "x".repeat(70_000)})).contains("of 70000 bytes, more than 4096"));
        assert!(refused(serde_json::json!({"runs": [{"kernel": "a\u{1b}[2J"}]})).contains("U+001B"));
        assert!(refused(serde_json::json!({"kernel": "6.1\u{202e}2"})).contains("U+202E"));
        assert!(refused(serde_json::json!({"a\nb": 1})).contains("U+000A"));
        assert!(refused(serde_json::json!({"reason": "x".repeat(2 << 20)})).contains("more than 1048576"));
        assert!(refused(serde_json::json!({"scalars": [1e308]})).contains("is no figure"));
    }

    #[test]
    fn free_text_is_cleaned() {
        let mut text = "a\u{1b}[31m\nb\u{202e}".to_string();
        clean(&mut text);
        assert_eq!(text, "a\u{fffd}[31m\nb\u{fffd}");
    }
}
