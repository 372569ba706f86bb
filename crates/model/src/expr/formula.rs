//! An expression with its place in a file and its key.

use super::eval::Env;
use super::parsed::Expr;
use super::value::{Unit, Value};
use crate::spec::{SpecError, Spot};

/// Largest whole number that an expression may give, 2^53; beyond it `f64` skips integers.
const MAX_WHOLE: f64 = 9_007_199_254_740_992.0;

/// A parsed expression with its key and its place in a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Formula(Box<Parts>);

/// The parts of a formula. They are boxed, because specs have many optional formulas, most of which are absent.
#[derive(Clone, Debug, PartialEq)]
struct Parts {
    expr: Expr,
    key: String,
    text: Spot<String>,
}

impl Formula {
    /// Parses `text`, the value of `key`, with the place of its first character.
    ///
    /// # Errors
    /// Those of [`Expr::parse`], with file, line and column.
    pub fn parse(key: &str, text: Spot<String>) -> Result<Self, SpecError> {
        let expr = Expr::parse(&text.value).map_err(|e| e.at(&text))?;
        Ok(Self(Box::new(Parts { expr, key: key.to_string(), text })))
    }
    /// The text as written.
    pub fn text(&self) -> &str {
        &self.0.text.value
    }
    /// The text with its place.
    pub fn spot(&self) -> &Spot<String> {
        &self.0.text
    }
    /// Whether the expression uses `name`.
    pub fn uses(&self, name: &str) -> bool {
        self.0.expr.uses(name)
    }
    /// The names that the expression uses.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.expr.names().into_iter().map(|(n, _)| n)
    }
    /// Refuses names that are not `known`; `all` lists those that are.
    ///
    /// # Errors
    /// The first unknown name, with its place and the nearest known name.
    pub fn check<'a>(&self, known: impl Fn(&str) -> bool, all: impl Fn() -> Vec<&'a str>) -> Result<(), SpecError> {
        match self.names().all(known) {
            true => Ok(()),
            false => self.0.expr.check(&all()).map_err(|e| e.at(&self.0.text)),
        }
    }
    /// The error for a value of this expression that cannot be used.
    pub fn refuse(&self, value: Value, expected: impl Into<String>) -> SpecError {
        let text = value.to_string();
        // The digits of a number such as 1e300 would hide the rest of the message.
        let text = match text.len() {
            ..=40 => text,
            _ if value.unit == Unit::NONE => format!("{:e}", value.number),
            _ => format!("{:e} ({})", value.number, value.unit.describe()),
        };
        self.0.text.error(format!("`{}` is {text}{}", self.0.key, worked_out(&self.0.text.value, value)), expected)
    }
    /// The value in `env`.
    ///
    /// # Errors
    /// Those of [`Expr::eval`], with file, line and column.
    pub fn eval(&self, env: &Env) -> Result<Value, SpecError> {
        self.0.expr.eval(env).map_err(|e| e.at(&self.0.text))
    }
    /// The value in `env`, which must have `unit`.
    fn of_unit(&self, env: &Env, unit: Unit, expected: &str) -> Result<Value, SpecError> {
        let value = self.eval(env)?;
        if value.unit == unit || value.is_plain_zero() {
            return Ok(value);
        }
        let what = format!("`{}` is {} ({})", self.0.key, value.unit.describe(), value);
        Err(self.0.text.error(what, expected))
    }
    /// A plain number.
    ///
    /// # Errors
    /// A value with a unit.
    pub fn plain(&self, env: &Env) -> Result<f64, SpecError> {
        Ok(self.of_unit(env, Unit::NONE, "a plain number")?.number)
    }
    /// A plain number from 0 to 2^53. The bound keeps sums of a run's amounts finite.
    ///
    /// # Errors
    /// A value with a unit, a negative value, or one beyond 2^53.
    pub fn amount(&self, env: &Env) -> Result<f64, SpecError> {
        let n = self.plain(env)?;
        if (0.0..=MAX_WHOLE).contains(&n) {
            return Ok(n);
        }
        Err(self.refuse(Value::plain(n), format!("a number from 0 to {MAX_WHOLE}")))
    }
    /// A whole plain number from `low` to `high` (at most 2^53).
    ///
    /// # Errors
    /// A value with a unit, with a fraction, or outside the range.
    pub fn whole(&self, env: &Env, low: u64, high: u64) -> Result<u64, SpecError> {
        let n = settled(self.plain(env)?);
        let expected = || match high {
            u64::MAX if n <= MAX_WHOLE => format!("a whole number, at least {low}"),
            _ => format!("a whole number from {low} to {}", high.min(MAX_WHOLE as u64)),
        };
        if n.fract() != 0.0 {
            let hint = format!("{} (`//` and floor() round down)", expected());
            return Err(self.refuse(Value::plain(n), hint));
        }
        if n < low as f64 || n > (high as f64).min(MAX_WHOLE) {
            return Err(self.refuse(Value::plain(n), expected()));
        }
        Ok(n as u64)
    }
    /// A size in bytes, at least `low`, and whether a fraction of a byte was cut off.
    ///
    /// # Errors
    /// A value that is no size, is below `low`, or is beyond 2^53.
    pub fn bytes(&self, env: &Env, low: u64) -> Result<(u64, bool), SpecError> {
        let n = settled(self.of_unit(env, Unit::BYTES, "a size such as `4KiB` or `3GiB / threads`")?.number);
        if n.floor() < low as f64 || n > MAX_WHOLE {
            let expected = match low {
                0 => "a size from 0 to 8 PiB".to_string(),
                1 => "a size above 0, up to 8 PiB".to_string(),
                _ => format!("a size from {low}B to 8 PiB"),
            };
            return Err(self.refuse(Value::bytes(n), expected));
        }
        Ok((n as u64, n.fract() != 0.0))
    }
    /// A time in ns, 0 or more, not rounded.
    ///
    /// # Errors
    /// A value that is no time, is negative, or is beyond 2^53 ns (104 days).
    pub fn time_ns(&self, env: &Env) -> Result<f64, SpecError> {
        let v = self.of_unit(env, Unit::TIME, "a time such as `10s` or `500us`")?;
        if v.number < 0.0 || v.number > MAX_WHOLE {
            return Err(self.refuse(Value::time_ns(v.number), "a time from 0 to 104 days"));
        }
        Ok(settled(v.number))
    }
    /// The truth of a condition: every plain number but 0 is true.
    ///
    /// # Errors
    /// A value with a unit.
    pub fn holds(&self, env: &Env) -> Result<bool, SpecError> {
        Ok(self.plain(env)? != 0.0)
    }
}

/// `n`, or the whole number from which it differs only by the rounding of a few operations: `10s * (20000 / 1s)` is
/// 200000.00000000003. The tolerance is less than a hundredth of a byte in a terabyte.
fn settled(n: f64) -> f64 {
    let whole = n.round();
    if (n - whole).abs() <= whole.abs() * 4e-15 {
        whole
    } else {
        n
    }
}

/// The remark ` (from `3GiB - x`)` for a value that differs from its text.
fn worked_out(text: &str, value: Value) -> String {
    if text == value.to_string() {
        String::new()
    } else {
        format!(" (from `{text}`)")
    }
}
