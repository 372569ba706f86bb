//! The tree of an expression, and the limits on its size.

use super::value::Value;

/// Deepest nesting of parentheses, functions and signs.
pub const MAX_DEPTH: usize = 64;
/// Most numbers, names and operators in one expression.
pub const MAX_NODES: usize = 1000;
/// Longest expression, bytes.
pub const MAX_BYTES: usize = 8192;

/// A binary operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Op {
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
pub(super) enum Func {
    Min,
    Max,
    Floor,
    Ceil,
    Round,
    Log2,
    If,
}

impl Func {
    pub(super) const ALL: [(&'static str, Func); 7] = [
        ("min", Func::Min),
        ("max", Func::Max),
        ("floor", Func::Floor),
        ("ceil", Func::Ceil),
        ("round", Func::Round),
        ("log2", Func::Log2),
        ("if", Func::If),
    ];
}

/// A node of the tree, with the byte offset at which its errors are reported.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Node {
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
    pub(super) fn walk<'a>(&'a self, visit: &mut impl FnMut(&'a Node)) {
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
