//! Expressions: sizes, times and counts written in terms of the machine.
//!
//! Problem: a workload must fit any machine (`cpus // 2`, `8 * llc_total`, `3GiB / threads`), and a
//! wrong one must be refused with its place, never panic, never silently mean something else.
//! Approach: a small grammar read into a tree; every number carries a unit of bytes or time, so that
//! `10s` cannot be used as a size and a plain `10` cannot be used as a time.
//! Units: bytes and nanoseconds inside. Invariants: a value is finite; a tree has at most
//! [`MAX_NODES`] nodes and nests at most [`MAX_DEPTH`] deep; only IEEE basic operations are used, so a
//! value is the same everywhere.
//!
//! ```text
//! expression = both { "or" both }                                        0 is false, all else true
//! both       = inverse { "and" inverse }
//! inverse    = "not" inverse | comparison
//! comparison = sum [ ("<" | "<=" | ">" | ">=" | "==" | "!=") sum ]        1 if it holds, else 0
//! sum        = term { ("+" | "-") term }
//! term       = unary { ("*" | "/" | "//" | "%") unary }                  // and % round down
//! unary      = "-" unary | number [unit] | name | function "(" … ")" | "(" expression ")"
//! name       = word { "." word }
//! unit       = B KiB MiB GiB TiB KB MB GB TB | ns us ms s
//! function   = min max floor ceil round log2 if
//! ```

mod eval;
mod formula;
mod parse;
mod value;

pub use eval::Env;
pub use formula::Formula;
pub use value::{Unit, Value};

use crate::spec::{nearest, SpecError, Spot};

/// Deepest nesting of parentheses, functions and signs.
pub const MAX_DEPTH: usize = 64;
/// Most numbers, names and operators in one expression.
pub const MAX_NODES: usize = 1000;
/// Longest expression, bytes.
pub const MAX_BYTES: usize = 8192;

/// What is wrong with an expression, and where in its text.
#[derive(Clone, Debug, PartialEq, Eq)]
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
    fn new(offset: usize, what: impl Into<String>, expected: impl Into<String>) -> Self {
        Self { offset, what: what.into(), expected: expected.into(), nearest: None }
    }
    /// The same error in the file the text stands in; `text` is the place of its first character.
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

impl std::fmt::Display for ExprError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "column {}: {}; expected {}", self.offset + 1, self.what, self.expected)?;
        if let Some(n) = &self.nearest {
            write!(f, "; did you mean `{n}`?")?;
        }
        Ok(())
    }
}

impl std::error::Error for ExprError {}

/// The place `offset` bytes into a text whose first character is at `text`.
pub fn shift(text: &Spot<String>, offset: usize) -> Spot<String> {
    let (line, column) = crate::spec::position(&text.value, offset);
    let cut = (0..=offset.min(text.value.len())).rev().find(|&o| text.value.is_char_boundary(o)).unwrap_or(0);
    Spot {
        value: text.value[cut..].to_string(),
        file: text.file.clone(),
        line: text.line + line - 1,
        column: if line == 1 { text.column + column - 1 } else { column },
    }
}

/// A binary operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Op {
    Add,
    Sub,
    Mul,
    Div,
    FloorDiv,
    Rem,
    Less,
    LessEq,
    Greater,
    GreaterEq,
    Equal,
    NotEqual,
}

/// A function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Func {
    Min,
    Max,
    Floor,
    Ceil,
    Round,
    Log2,
    If,
}

impl Func {
    const ALL: [(&'static str, Func); 7] = [
        ("min", Func::Min),
        ("max", Func::Max),
        ("floor", Func::Floor),
        ("ceil", Func::Ceil),
        ("round", Func::Round),
        ("log2", Func::Log2),
        ("if", Func::If),
    ];
}

/// A node of the tree, with the byte offset errors of it are reported at.
#[derive(Clone, Debug, PartialEq)]
enum Node {
    Number(Value, usize),
    Name(String, usize),
    Negate(Box<Node>),
    Not(Box<Node>, usize),
    /// `or` (true) or `and` (false).
    Logic(bool, Box<Node>, Box<Node>, usize),
    Binary(Op, Box<Node>, Box<Node>, usize),
    Call(Func, Vec<Node>, usize),
}

impl Node {
    /// Visits the nodes in the order of the text, a parent before its parts.
    fn walk<'a>(&'a self, visit: &mut impl FnMut(&'a Node)) {
        visit(self);
        match self {
            Node::Number(..) | Node::Name(..) => {}
            Node::Negate(a) | Node::Not(a, _) => a.walk(visit),
            Node::Binary(_, a, b, _) | Node::Logic(_, a, b, _) => {
                a.walk(visit);
                b.walk(visit);
            }
            Node::Call(_, args, _) => args.iter().for_each(|a| a.walk(visit)),
        }
    }
}

/// A parsed expression.
#[derive(Clone, Debug, PartialEq)]
pub struct Expr {
    root: Node,
}

impl Expr {
    /// Parses `text`.
    ///
    /// # Errors
    /// A syntax error, an unknown unit or function, a wrong number of arguments, or a text beyond
    /// [`MAX_BYTES`], [`MAX_NODES`] or [`MAX_DEPTH`].
    pub fn parse(text: &str) -> Result<Self, ExprError> {
        parse::parse(text).map(|root| Self { root })
    }
    /// The names the expression uses, with their byte offsets, in order of the text.
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
    /// The first unknown name, with the nearest known one.
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
    /// An unknown name, division by zero, a result that is not finite, units that do not go together.
    pub fn eval(&self, env: &Env) -> Result<Value, ExprError> {
        eval::eval(&self.root, env)
    }
}

fn unknown(name: &str, offset: usize, known: &[&str]) -> ExprError {
    let expected = if known.is_empty() { "a number".to_string() } else { format!("one of {}", known.join(", ")) };
    let mut e = ExprError::new(offset, format!("`{name}` is not known here"), expected);
    e.nearest = nearest(name, known.iter().copied());
    e
}
