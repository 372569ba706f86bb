//! Keys that a pattern declares for workload files.

use crate::expr::{Env, Formula, Value};
use crate::spec::SpecError;

/// A key of a pattern. A step that names the pattern must have it.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    name: &'static str,
    range: Range,
}

#[derive(Clone, Copy, Debug)]
enum Range {
    Bytes { least: u64 },
    Number { least: f64, most: f64, expected: &'static str },
}

impl Key {
    /// A size of at least `least` bytes; fractions of a byte are cut off.
    pub const fn bytes(name: &'static str, least: u64) -> Self {
        Self { name, range: Range::Bytes { least } }
    }
    /// A plain number from `least` to `most`; `expected` says so in messages.
    pub const fn number(name: &'static str, least: f64, most: f64, expected: &'static str) -> Self {
        Self { name, range: Range::Number { least, most, expected } }
    }
    /// Its name in workload files.
    pub fn name(&self) -> &'static str {
        self.name
    }
    /// The value of `formula` in `env`.
    ///
    /// # Errors
    /// A value of another unit or out of range.
    pub(super) fn value(&self, formula: &Formula, env: &Env) -> Result<f64, SpecError> {
        match self.range {
            Range::Bytes { least } => Ok(formula.bytes(env, least)?.0 as f64),
            Range::Number { least, most, expected } => within(formula, env, (least, most), expected),
        }
    }
    /// Adds the value to the text of a pattern. Sizes end in `_bytes` and are whole numbers.
    pub(super) fn write(&self, out: &mut std::fmt::DebugStruct<'_, '_>, value: f64) {
        match self.range {
            Range::Bytes { .. } => out.field(&format!("{}_bytes", self.name), &(value as u64)),
            Range::Number { .. } => out.field(self.name, &value),
        };
    }
}

/// A plain number from `low` to `high`.
///
/// # Errors
/// A value with a unit, or out of range; `expected` says what was expected.
pub(crate) fn within(formula: &Formula, env: &Env, (low, high): (f64, f64), expected: &str) -> Result<f64, SpecError> {
    let x = formula.plain(env)?;
    if (low..=high).contains(&x) {
        Ok(x)
    } else {
        Err(formula.refuse(Value::plain(x), expected))
    }
}
