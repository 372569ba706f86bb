//! A parsed expression.

use super::error::{unknown, ExprError};
use super::eval::{eval, Env};
use super::parse::parse;
use super::tree::Node;
use super::value::{Unit, Value};

/// A parsed expression.
#[derive(Clone, Debug, PartialEq)]
pub struct Expr {
    root: Node,
}

impl Expr {
    /// Parses `text`.
    ///
    /// # Errors
    /// A syntax error, an unknown unit or function, a wrong number of arguments, or an expression beyond one of
    /// [`MAX_BYTES`](super::MAX_BYTES), [`MAX_NODES`](super::MAX_NODES) and [`MAX_DEPTH`](super::MAX_DEPTH).
    pub fn parse(text: &str) -> Result<Self, ExprError> {
        parse(text).map(|root| Self { root })
    }
    /// The names that the expression uses, with their byte offsets, in the order of the text.
    pub fn names(&self) -> Vec<(&str, usize)> {
        let mut out = Vec::new();
        self.root.walk(&mut |node| {
            if let Node::Name(name, offset) = node {
                out.push((name.as_str(), *offset));
            }
        });
        out
    }
    /// Whether the expression uses `name`.
    pub fn uses(&self, name: &str) -> bool {
        self.names().iter().any(|(n, _)| *n == name)
    }
    /// Refuses names that are not among `known`.
    ///
    /// # Errors
    /// The first unknown name, with the nearest known name.
    pub fn check(&self, known: &[&str]) -> Result<(), ExprError> {
        for (name, offset) in self.names() {
            if !known.contains(&name) {
                return Err(unknown(name, offset, known));
            }
        }
        Ok(())
    }
    /// Refuses numbers with a unit, such as `4KiB`: for expressions whose names are all plain numbers.
    ///
    /// # Errors
    /// The first number with a unit.
    pub fn check_plain(&self) -> Result<(), ExprError> {
        let mut first = Ok(());
        self.root.walk(&mut |node| match node {
            Node::Number(value, offset) if value.unit != Unit::NONE && first.is_ok() => {
                let what = format!("`{value}` is {}", value.unit.describe());
                first = Err(ExprError::new(*offset, what, "a number without a unit"));
            }
            _ => {}
        });
        first
    }
    /// The value as a plain number, with `lookup` giving the plain number behind each name.
    ///
    /// # Errors
    /// As [`Expr::eval`]; a name without a number is unknown, and a value with a unit is refused.
    pub fn eval_plain(&self, lookup: impl Fn(&str) -> Option<f64>) -> Result<f64, ExprError> {
        let mut env = Env::default();
        for (name, _) in self.names() {
            if let Some(number) = lookup(name) {
                env.set(name, Value::plain(number));
            }
        }
        let value = self.eval(&env)?;
        if value.unit != Unit::NONE {
            return Err(ExprError::new(0, format!("the value is {}", value.unit.describe()), "a plain number"));
        }
        Ok(value.number)
    }
    /// The value in `env`.
    ///
    /// # Errors
    /// An unknown name, a division by zero, a result that is not finite, or units that do not go together.
    pub fn eval(&self, env: &Env) -> Result<Value, ExprError> {
        eval(&self.root, env)
    }
}
