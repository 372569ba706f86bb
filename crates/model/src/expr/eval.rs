//! Evaluating the tree of an expression.

use super::error::{unknown, ExprError};
use super::tree::{Func, Node, Op};
use super::value::{Unit, Value};
use std::collections::BTreeMap;

/// The names an expression may use, with their values.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Env {
    values: BTreeMap<String, Value>,
}

impl Env {
    /// The value of `name`.
    pub fn get(&self, name: &str) -> Option<Value> {
        self.values.get(name).copied()
    }
    /// Gives `name` a value in place of an earlier one.
    pub fn set(&mut self, name: &str, value: Value) {
        match self.values.get_mut(name) {
            Some(v) => *v = value,
            None => {
                self.values.insert(name.to_string(), value);
            }
        }
    }
    /// Removes `name`.
    pub fn unset(&mut self, name: &str) {
        self.values.remove(name);
    }
    /// All names, in alphabetical order.
    pub fn names(&self) -> Vec<&str> {
        self.values.keys().map(String::as_str).collect()
    }
}

/// The value of a node in `env`.
pub(super) fn eval(node: &Node, env: &Env) -> Result<Value, ExprError> {
    match node {
        Node::Number(v, _) => Ok(*v),
        Node::Name(name, offset) => env.get(name).ok_or_else(|| unknown(name, *offset, &env.names())),
        Node::Negate(a) => eval(a, env).map(|v| Value { number: -v.number, ..v }),
        Node::Not(a, at) => Ok(Value::plain(f64::from(u8::from(!truth(eval(a, env)?, *at)?)))),
        // The right side is evaluated only if it decides.
        Node::Logic(or, a, b, at) => {
            let left = truth(eval(a, env)?, *at)?;
            let holds = if left == *or { left } else { truth(eval(b, env)?, *at)? };
            Ok(Value::plain(f64::from(u8::from(holds))))
        }
        Node::Binary(op, a, b, at) => binary(*op, eval(a, env)?, eval(b, env)?, *at),
        Node::Call(func, args, at) => call(*func, args, env, *at),
    }
}

/// The common unit of two values that are added or compared; a plain 0 fits every unit.
fn common(a: Value, b: Value, at: usize) -> Result<Unit, ExprError> {
    if a.unit == b.unit || b.is_plain_zero() {
        return Ok(a.unit);
    }
    if a.is_plain_zero() {
        return Ok(b.unit);
    }
    let what = format!("{} and {} do not go together", a.unit.describe(), b.unit.describe());
    Err(ExprError::new(at, what, "two values of the same unit"))
}

/// The truth of a condition: any plain number but 0 is true.
fn truth(v: Value, at: usize) -> Result<bool, ExprError> {
    if v.unit == Unit::NONE {
        return Ok(v.number != 0.0);
    }
    let what = format!("the condition is {}", v.unit.describe());
    Err(ExprError::new(at, what, "a comparison or a plain number"))
}

fn finite(number: f64, unit: Unit, at: usize) -> Result<Value, ExprError> {
    if number.is_finite() {
        Ok(Value { number, unit })
    } else {
        Err(ExprError::new(at, "the result is too large", "a finite number"))
    }
}

fn binary(op: Op, a: Value, b: Value, at: usize) -> Result<Value, ExprError> {
    let (x, y) = (a.number, b.number);
    let compared = |holds: bool| common(a, b, at).map(|_| Value::plain(f64::from(u8::from(holds))));
    match op {
        Op::Add => finite(x + y, common(a, b, at)?, at),
        Op::Sub => finite(x - y, common(a, b, at)?, at),
        Op::Mul | Op::Div | Op::FloorDiv => {
            let sign = if op == Op::Mul { 1 } else { -1 };
            let unit = a.unit.combine(b.unit, sign).ok_or_else(|| {
                ExprError::new(at, "the result has too high a power of bytes or time", "at most the fourth power")
            })?;
            match op {
                Op::Mul => finite(x * y, unit, at),
                _ if y == 0.0 => Err(zero_divisor(at)),
                Op::Div => finite(x / y, unit, at),
                _ => finite((x / y).floor(), unit, at),
            }
        }
        Op::Rem if y == 0.0 => Err(zero_divisor(at)),
        // The remainder has the sign of the divisor, so that `a == b * (a // b) + a % b` holds.
        Op::Rem => {
            let r = x % y;
            finite(if r != 0.0 && (r < 0.0) != (y < 0.0) { r + y } else { r }, common(a, b, at)?, at)
        }
        Op::Less => compared(x < y),
        Op::LessEq => compared(x <= y),
        Op::Greater => compared(x > y),
        Op::GreaterEq => compared(x >= y),
        Op::Equal => compared(x == y),
        Op::NotEqual => compared(x != y),
    }
}

fn zero_divisor(at: usize) -> ExprError {
    ExprError::new(at, "division by zero", "a divisor other than 0")
}

fn call(func: Func, args: &[Node], env: &Env, at: usize) -> Result<Value, ExprError> {
    // The parser has checked the number of arguments.
    let first = eval(&args[0], env)?;
    match func {
        Func::Min | Func::Max => args[1..].iter().try_fold(first, |best, arg| {
            let v = eval(arg, env)?;
            let unit = common(best, v, at)?;
            let number = if func == Func::Min { best.number.min(v.number) } else { best.number.max(v.number) };
            Ok(Value { number, unit })
        }),
        Func::Floor => Ok(Value { number: first.number.floor(), ..first }),
        Func::Ceil => Ok(Value { number: first.number.ceil(), ..first }),
        Func::Round => Ok(Value { number: first.number.round(), ..first }),
        Func::Log2 => {
            if first.unit != Unit::NONE {
                return Err(ExprError::new(at, format!("`log2` of {}", first.unit.describe()), "a plain number"));
            }
            if first.number <= 0.0 {
                return Err(ExprError::new(at, format!("`log2` of {}", first.number), "a number above 0"));
            }
            Ok(Value::plain(log2(first.number)))
        }
        // Only the chosen branch is evaluated, so `if(n > 0, 1 / n, 0)` is safe.
        Func::If => eval(&args[if truth(first, at)? { 1 } else { 2 }], env),
    }
}

/// Binary logarithm from basic operations only, because libraries differ in the last digit between platforms.
fn log2(x: f64) -> f64 {
    let mut mantissa = x;
    let mut exponent = 0.0;
    while mantissa >= 2.0 {
        mantissa /= 2.0;
        exponent += 1.0;
    }
    while mantissa < 1.0 {
        mantissa *= 2.0;
        exponent -= 1.0;
    }
    // ln m = 2 atanh((m - 1) / (m + 1)); |z| <= 1/3, so 20 terms are below the last digit.
    let z = (mantissa - 1.0) / (mantissa + 1.0);
    let (mut power, mut sum) = (z, 0.0);
    for k in 0..20 {
        sum += power / f64::from(2 * k + 1);
        power *= z * z;
    }
    exponent + 2.0 * sum * std::f64::consts::LOG2_E
}

#[cfg(test)]
mod tests {
    use super::log2;

    #[test]
    fn log2_is_exact_on_powers_and_close_between() {
        for k in -1074..1024 {
            let x = 2f64.powi(k.max(-1022)) / if k < -1022 { 2f64.powi(-1022 - k) } else { 1.0 };
            assert_eq!(log2(x), f64::from(k), "2^{k}");
        }
        for x in [3.0, 0.1, 1.999_999, 48.0, 1e300] {
            assert!((log2(x) - f64::log2(x)).abs() < 1e-13 * f64::log2(x).abs().max(1.0), "{x}");
        }
    }
}
