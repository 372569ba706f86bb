//! An override of a kernel.

use crate::spec::{SpecError, Spot};

/// An override from the command line or an experiment: a tunable (`group.key`) or a role (no dot).
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// What to set, with its place for messages.
    pub name: Spot<String>,
    /// Value as text.
    pub value: String,
}

impl Setting {
    /// A setting given on the command line as `name=value`.
    ///
    /// # Errors
    /// No `=`, or nothing before it.
    pub fn from_argument(option: &str, text: &str) -> Result<Self, SpecError> {
        let file = format!("{option} {text}");
        match text.split_once('=') {
            Some((name, value)) if !name.trim().is_empty() && !value.trim().is_empty() => Ok(Self {
                name: Spot { value: name.trim().to_string(), file, line: 0, column: 0 },
                value: value.trim().to_string(),
            }),
            Some((name, _)) if !name.trim().is_empty() => {
                Err(SpecError::plain(&file, format!("no value for `{}`", name.trim()), "name=value"))
            }
            Some((_, value)) if !value.trim().is_empty() => {
                Err(SpecError::plain(&file, format!("no name for `{}`", value.trim()), "name=value"))
            }
            _ => Err(SpecError::plain(&file, "no name and value", "name=value")),
        }
    }
}
