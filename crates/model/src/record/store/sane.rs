//! What the texts and figures of a record may be, whoever wrote it.
//!
//! Problem: a record may come from anybody. A name can be a megabyte long, change the direction of the text around it
//! or control the terminal; a figure can be so large that a mean of two is infinite.
//! Approach: every text and number of the JSON files is looked at once, before anything is made of them. Nothing is
//! kept on the way, so a list of 100,000 runs costs no memory.

use super::error::RecordError;
use crate::spec::is_hidden;
use serde::de::{DeserializeSeed, Error, MapAccess, SeqAccess, Visitor};
use serde::Deserializer;
use std::fmt;
use std::path::Path;

/// Longest name, bytes, and longest free text: a warning, a title or the reason of a failure.
const NAME_BYTES_MAX: usize = 4 << 10;
const TEXT_BYTES_MAX: usize = 1 << 20;
/// Keys of free text. Their control characters are replaced when they are read, see [`clean`].
const FREE: [&str; 5] = ["warnings", "reason", "title", "about", "value"];
/// Largest figure: far above any, and far from where a sum of squares is infinite.
const FIGURE_MAX: f64 = 1e100;

/// Checks the names and figures of the JSON file with this text.
///
/// # Errors
/// No JSON, a name that is too long or has hidden characters, a text that is too long, a figure that is too large.
pub(super) fn check(file: &Path, text: &str) -> Result<(), RecordError> {
    let mut json = serde_json::Deserializer::from_str(text);
    let seen = Walk { free: false }.deserialize(&mut json).and_then(|()| json.end());
    seen.map_err(|e| RecordError::damaged(file, e.to_string()))
}

/// Looks at a value and at all in it. `free` says whether its texts are free.
#[derive(Clone, Copy)]
struct Walk {
    free: bool,
}

impl<'de> DeserializeSeed<'de> for Walk {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, d: D) -> Result<(), D::Error> {
        d.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Walk {
    type Value = ();
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }
    fn visit_unit<E: Error>(self) -> Result<(), E> {
        Ok(())
    }
    fn visit_bool<E: Error>(self, _: bool) -> Result<(), E> {
        Ok(())
    }
    // Whole numbers of 64 bits are far below the largest figure.
    fn visit_i64<E: Error>(self, _: i64) -> Result<(), E> {
        Ok(())
    }
    fn visit_u64<E: Error>(self, _: u64) -> Result<(), E> {
        Ok(())
    }
    fn visit_f64<E: Error>(self, x: f64) -> Result<(), E> {
        if x.abs() <= FIGURE_MAX {
            Ok(())
        } else {
            Err(E::custom(format!("{x:?} is no figure")))
        }
    }
    fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
        let seen = if self.free { limit(text, TEXT_BYTES_MAX) } else { name(text) };
        seen.map_err(E::custom)
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut all: A) -> Result<(), A::Error> {
        while all.next_element_seed(self)?.is_some() {}
        Ok(())
    }
    fn visit_map<A: MapAccess<'de>>(self, mut all: A) -> Result<(), A::Error> {
        while let Some(key) = all.next_key::<String>()? {
            name(&key).map_err(A::Error::custom)?;
            all.next_value_seed(Self { free: self.free || FREE.contains(&key.as_str()) })?;
        }
        Ok(())
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

/// Whether a text has no hidden characters other than line breaks and tabs.
pub(super) fn is_clean(text: &str) -> bool {
    !text.contains(hidden)
}

/// Whether free text may not have a character.
fn hidden(c: char) -> bool {
    is_hidden(c) && c != '\n' && c != '\t'
}

/// Free text with its hidden characters replaced, other than line breaks and tabs.
pub(super) fn clean(text: &mut String) {
    if text.contains(hidden) {
        *text = text.replace(hidden, "\u{fffd}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    fn refused(value: Value) -> String {
        check(Path::new("m.json"), &value.to_string()).unwrap_err().to_string()
    }

    #[test]
    fn names_are_short_and_visible() {
        assert!(check(
            Path::new("m.json"),
            &serde_json::json!({"name": "6.12", "x": [1, 2.5, -3, null, true], "warnings": ["a\u{1b}"]}).to_string()
        )
        .is_ok());
        assert!(refused(serde_json::json!({"name": "x".repeat(70_000)})).contains("of 70000 bytes, more than 4096"));
        assert!(refused(serde_json::json!({"runs": [{"kernel": "a\u{1b}[2J"}]})).contains("U+001B"));
        assert!(refused(serde_json::json!({"kernel": "6.1\u{202e}2"})).contains("U+202E"));
        assert!(refused(serde_json::json!({"a\nb": 1})).contains("U+000A"));
        assert!(refused(serde_json::json!({"reason": "x".repeat(2 << 20)})).contains("more than 1048576"));
        assert!(refused(serde_json::json!({"scalars": [1e308]})).contains("is no figure"));
        assert!(check(Path::new("m.json"), "{} x").is_err(), "more than one value");
    }

    #[test]
    fn free_text_is_cleaned() {
        let mut text = "a\u{1b}[31m\nb\u{202e}".to_string();
        clean(&mut text);
        assert_eq!(text, "a\u{fffd}[31m\nb\u{fffd}");
    }
}
