//! An access pattern as a workload file asks for it.

use crate::access::{AccessPattern, Key, Pattern, Range, MAX_KEYS};
use crate::expr::{Env, Formula, Value};
use crate::spec::SpecError;
use std::fmt;

/// A pattern as a workload file asks for it: nothing is evaluated yet.
#[derive(Clone)]
pub(super) struct PatternSpec {
    of: &'static dyn AccessPattern,
    accesses: Option<Formula>,
    values: Vec<Formula>,
}

impl PatternSpec {
    /// The pattern `of` with the keys of a step; `need` gives the formula under a key.
    ///
    /// # Errors
    /// A missing key, or one that `need` refuses.
    pub fn read(
        of: &'static dyn AccessPattern,
        need: impl Fn(&str) -> Result<Formula, SpecError>,
    ) -> Result<Self, SpecError> {
        let accesses = of.most_accesses().map(|_| need("accesses")).transpose()?;
        let values = of.keys().iter().map(|key| need(key.name())).collect::<Result<_, _>>()?;
        Ok(Self { of, accesses, values })
    }
    /// Whether it is one call of `memset`.
    pub fn fills(&self) -> bool {
        self.of.fills()
    }
    /// The pattern on a span of `span_bytes`, and the number of lines or accesses.
    ///
    /// # Errors
    /// A value out of range.
    pub fn resolve(&self, env: &Env, span_bytes: u64) -> Result<(Pattern, u64), SpecError> {
        let mut args = [0.0; MAX_KEYS];
        for ((arg, key), formula) in args.iter_mut().zip(self.of.keys()).zip(&self.values) {
            *arg = value(key, formula, env)?;
        }
        let pattern = Pattern::new(self.of, self.of.fit(args, span_bytes));
        let accesses = match &self.accesses {
            Some(formula) => formula.whole(env, 0, self.of.most_accesses().unwrap_or(u64::MAX))?,
            None => pattern.walk().lines_of_pass(span_bytes).unwrap_or(0),
        };
        Ok((pattern, accesses))
    }
}

impl PartialEq for PatternSpec {
    fn eq(&self, other: &Self) -> bool {
        (self.of.word(), &self.accesses, &self.values) == (other.of.word(), &other.accesses, &other.values)
    }
}

impl fmt::Debug for PatternSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple(self.of.word()).field(&self.accesses).field(&self.values).finish()
    }
}

/// The value of `formula` for a key in `env`.
///
/// # Errors
/// A value of another unit or out of range.
fn value(key: &Key, formula: &Formula, env: &Env) -> Result<f64, SpecError> {
    match key.range() {
        Range::Bytes { least } => Ok(formula.bytes(env, least)?.0 as f64),
        Range::Whole { most } => Ok(formula.whole(env, 0, most)? as f64),
        Range::Number { least, most, expected } => within(formula, env, (least, most), expected),
    }
}

/// A plain number from `low` to `high`.
///
/// # Errors
/// A value with a unit, or out of range; `expected` says what was expected.
pub(super) fn within(formula: &Formula, env: &Env, (low, high): (f64, f64), expected: &str) -> Result<f64, SpecError> {
    let x = formula.plain(env)?;
    if (low..=high).contains(&x) {
        Ok(x)
    } else {
        Err(formula.refuse(Value::plain(x), expected))
    }
}
