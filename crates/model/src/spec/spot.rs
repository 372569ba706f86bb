//! A value with the place where it is written.

use super::error::SpecError;

/// A value with its place, for errors that are found later, such as an unknown name.
#[derive(Clone, Debug, PartialEq)]
pub struct Spot<T> {
    /// The value.
    pub value: T,
    /// File.
    pub file: String,
    /// Line from 1.
    pub line: usize,
    /// Column from 1.
    pub column: usize,
}

impl<T> Spot<T> {
    /// An error at this place.
    pub fn error(&self, what: impl Into<String>, expected: impl Into<String>) -> SpecError {
        SpecError {
            file: self.file.clone(),
            line: self.line,
            column: self.column,
            what: what.into(),
            expected: expected.into(),
            nearest: None,
        }
    }
    /// Another value at the same place.
    pub fn map<U>(self, f: impl FnOnce(T) -> U) -> Spot<U> {
        Spot { value: f(self.value), file: self.file, line: self.line, column: self.column }
    }
}
