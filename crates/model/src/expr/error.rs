//! A refused expression.

use crate::spec::{did_you_mean, nearest, position, SpecError, Spot};

/// What is wrong with an expression, and the place in its text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("column {}: {what}; expected {expected}{}", offset + 1, did_you_mean(nearest))]
pub struct ExprError {
    /// Byte offset into the expression's text.
    pub offset: usize,
    /// What is wrong.
    pub what: String,
    /// What was expected.
    pub expected: String,
    /// Nearest valid name.
    pub nearest: Option<String>,
}

impl ExprError {
    pub(super) fn new(offset: usize, what: impl Into<String>, expected: impl Into<String>) -> Self {
        Self { offset, what: what.into(), expected: expected.into(), nearest: None }
    }
    /// The error with its place in a file; `text` is the expression with the place of its first character.
    pub fn at(self, text: &Spot<String>) -> SpecError {
        let place = shift(text, self.offset);
        SpecError {
            file: place.file,
            line: place.line,
            column: place.column,
            what: self.what,
            expected: self.expected,
            nearest: self.nearest,
        }
    }
}

/// The error for a name that is not among `known`, with the nearest of these.
pub(super) fn unknown(name: &str, offset: usize, known: &[&str]) -> ExprError {
    let expected = if known.is_empty() { "a number".to_string() } else { format!("one of {}", known.join(", ")) };
    let mut e = ExprError::new(offset, format!("`{name}` is not known here"), expected);
    e.nearest = nearest(name, known.iter().copied());
    e
}

/// The rest of a text from the byte `offset` on, with its place.
pub fn shift(text: &Spot<String>, offset: usize) -> Spot<String> {
    let (line, column) = position(&text.value, offset);
    let cut = (0..=offset.min(text.value.len())).rev().find(|&o| text.value.is_char_boundary(o)).unwrap_or(0);
    Spot {
        value: text.value[cut..].to_string(),
        file: text.file.clone(),
        line: text.line + line - 1,
        column: if line == 1 { text.column + column - 1 } else { column },
    }
}
