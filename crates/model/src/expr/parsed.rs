//! A parsed expression.

use super::error::{unknown, ExprError};
use super::eval::{eval, Env};
use super::parse::parse;
use super::tree::Node;
use super::value::Value;

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
        fn walk<'a>(node: &'a Node, out: &mut Vec<(&'a str, usize)>) {
            match node {
                Node::Number(_) => {}
                Node::Name(name, offset) => out.push((name, *offset)),
                Node::Negate(a) | Node::Not(a, _) => walk(a, out),
                Node::Binary(_, a, b, _) | Node::Logic(_, a, b, _) => {
                    walk(a, out);
                    walk(b, out);
                }
                Node::Call(_, args, _) => args.iter().for_each(|a| walk(a, out)),
            }
        }
        let mut out = Vec::new();
        walk(&self.root, &mut out);
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
    /// The value in `env`.
    ///
    /// # Errors
    /// An unknown name, a division by zero, a result that is not finite, or units that do not go together.
    pub fn eval(&self, env: &Env) -> Result<Value, ExprError> {
        eval(&self.root, env)
    }
}
