//! Parsing an expression: a recursive-descent parser that reads characters directly.

use super::error::ExprError;
use super::tree::{Func, Node, Op, MAX_BYTES, MAX_DEPTH, MAX_NODES};
use super::value::{Value, SIZES, TIMES};
use crate::spec::nearest;

/// What may begin an operand, for messages.
const OPERAND: &str = "a number, a name, a function or `(`";
/// Signs of comparisons; a sign stands before its own prefix.
const COMPARISONS: [(&str, Op); 6] = [
    ("<=", Op::LessEq),
    (">=", Op::GreaterEq),
    ("==", Op::Equal),
    ("!=", Op::NotEqual),
    ("<", Op::Less),
    (">", Op::Greater),
];

/// A text being parsed: the position, and the nodes and levels so far.
struct Parser<'a> {
    text: &'a str,
    at: usize,
    nodes: usize,
    depth: usize,
}

/// Parses a whole text.
///
/// # Errors
/// A syntax error, or a text beyond one of the limits.
pub(super) fn parse(text: &str) -> Result<Node, ExprError> {
    if text.len() > MAX_BYTES {
        return Err(ExprError::new(0, format!("{} bytes of expression", text.len()), format!("at most {MAX_BYTES}")));
    }
    let mut p = Parser { text, at: 0, nodes: 0, depth: 0 };
    let node = p.either()?;
    p.space();
    if p.at < text.len() {
        let what = format!("unexpected {}", p.shown());
        return Err(ExprError::new(p.at, what, "an operator or the end of the expression"));
    }
    Ok(node)
}

impl Parser<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }
    fn space(&mut self) {
        self.at += self.rest().len() - self.rest().trim_start().len();
    }
    /// The next character, for messages.
    fn shown(&self) -> String {
        self.rest().chars().next().map_or("end".to_string(), |c| format!("`{c}`"))
    }
    /// Takes `token` if it comes next.
    fn take(&mut self, token: &str) -> bool {
        self.space();
        let found = self.rest().starts_with(token);
        if found {
            self.at += token.len();
        }
        found
    }
    fn need(&mut self, token: &str) -> Result<(), ExprError> {
        if self.take(token) {
            return Ok(());
        }
        Err(ExprError::new(self.at, format!("unexpected {}", self.shown()), format!("`{token}`")))
    }
    fn count(&mut self) -> Result<(), ExprError> {
        self.nodes += 1;
        if self.nodes > MAX_NODES {
            return Err(ExprError::new(self.at, "the expression is too long", format!("at most {MAX_NODES} parts")));
        }
        Ok(())
    }
    /// Runs `read` one level deeper.
    fn deeper<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T, ExprError>) -> Result<T, ExprError> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            let what = "the expression nests too deeply";
            return Err(ExprError::new(self.at, what, format!("at most {MAX_DEPTH} levels")));
        }
        let out = read(self)?;
        self.depth -= 1;
        Ok(out)
    }
    fn binary(&mut self, op: Op, left: Node, right: Node, at: usize) -> Result<Node, ExprError> {
        self.count()?;
        Ok(Node::Binary(op, Box::new(left), Box::new(right), at))
    }
    /// Takes `word` if it comes next as a whole word.
    fn take_word(&mut self, word: &str) -> bool {
        self.space();
        let found = self.word(self.at) == word;
        if found {
            self.at += word.len();
        }
        found
    }
    fn either(&mut self) -> Result<Node, ExprError> {
        let mut left = self.both()?;
        loop {
            self.space();
            let at = self.at;
            if !self.take_word("or") {
                return Ok(left);
            }
            let right = self.both()?;
            self.count()?;
            left = Node::Logic(true, Box::new(left), Box::new(right), at);
        }
    }
    fn both(&mut self) -> Result<Node, ExprError> {
        let mut left = self.negation()?;
        loop {
            self.space();
            let at = self.at;
            if !self.take_word("and") {
                return Ok(left);
            }
            let right = self.negation()?;
            self.count()?;
            left = Node::Logic(false, Box::new(left), Box::new(right), at);
        }
    }
    fn negation(&mut self) -> Result<Node, ExprError> {
        self.space();
        let at = self.at;
        if self.take_word("not") {
            self.count()?;
            return self.deeper(|p| Ok(Node::Not(Box::new(p.negation()?), at)));
        }
        self.comparison()
    }
    fn comparison(&mut self) -> Result<Node, ExprError> {
        let left = self.sum()?;
        let Some((op, at)) = self.comparison_sign() else {
            if self.take("=") {
                return Err(ExprError::new(self.at - 1, "`=` is not an operator", "`==` to compare"));
            }
            return Ok(left);
        };
        let right = self.sum()?;
        let node = self.binary(op, left, right, at)?;
        match self.comparison_sign() {
            Some((_, at)) => Err(ExprError::new(at, "comparisons do not chain", "parentheses around one of them")),
            None => Ok(node),
        }
    }
    fn comparison_sign(&mut self) -> Option<(Op, usize)> {
        self.space();
        let at = self.at;
        COMPARISONS.iter().find(|(sign, _)| self.take(sign)).map(|(_, op)| (*op, at))
    }
    fn sum(&mut self) -> Result<Node, ExprError> {
        let mut left = self.term()?;
        loop {
            self.space();
            let at = self.at;
            let op = if self.take("+") {
                Op::Add
            } else if self.take("-") {
                Op::Sub
            } else {
                return Ok(left);
            };
            let right = self.term()?;
            left = self.binary(op, left, right, at)?;
        }
    }
    fn term(&mut self) -> Result<Node, ExprError> {
        let mut left = self.unary()?;
        loop {
            self.space();
            let at = self.at;
            let op = if self.take("*") {
                Op::Mul
            } else if self.take("//") {
                Op::FloorDiv
            } else if self.take("/") {
                Op::Div
            } else if self.take("%") {
                Op::Rem
            } else {
                return Ok(left);
            };
            let right = self.unary()?;
            left = self.binary(op, left, right, at)?;
        }
    }
    fn unary(&mut self) -> Result<Node, ExprError> {
        self.count()?;
        if self.take("-") {
            return self.deeper(|p| Ok(Node::Negate(Box::new(p.unary()?))));
        }
        if self.take("(") {
            return self.deeper(|p| {
                let node = p.either()?;
                p.need(")")?;
                Ok(node)
            });
        }
        match self.rest().chars().next() {
            Some(c) if c.is_ascii_digit() => self.number(),
            Some(c) if c.is_ascii_alphabetic() || c == '_' => self.name(),
            _ => Err(ExprError::new(self.at, format!("unexpected {}", self.shown()), OPERAND)),
        }
    }
    /// The word that starts at `from`; empty if there is none.
    fn word(&self, from: usize) -> &str {
        let rest = &self.text[from..];
        &rest[..rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len())]
    }
    fn digits(&self, from: usize) -> usize {
        self.text[from..].bytes().take_while(|b| b.is_ascii_digit() || *b == b'_').count()
    }
    fn number(&mut self) -> Result<Node, ExprError> {
        let start = self.at;
        let mut end = start + self.digits(start);
        if self.text[end..].starts_with('.') && self.digits(end + 1) > 0 {
            end += 1 + self.digits(end + 1);
        }
        if self.text[end..].starts_with(['e', 'E']) {
            let signed = end + 1 + usize::from(self.text[end + 1..].starts_with(['+', '-']));
            if self.digits(signed) > 0 {
                end = signed + self.digits(signed);
            }
        }
        let number: f64 = self.text[start..end].replace('_', "").parse().unwrap_or(f64::INFINITY);
        let mut suffix_at = end;
        let mut suffix = self.word(end).to_string();
        if suffix.is_empty() {
            // `3 GiB` means `3GiB`. Another word after a space is refused by the caller.
            let spaced = end + self.text[end..].len() - self.text[end..].trim_start().len();
            let word = self.word(spaced);
            if unit_of(word).is_some() {
                (suffix_at, suffix) = (spaced, word.to_string());
            }
        }
        let value = match suffix.as_str() {
            "" => Value::plain(number),
            s => unit_of(s).map(|one| Value { number: number * one.number, ..one }).ok_or_else(|| {
                let known = SIZES.iter().chain(&TIMES).map(|(n, _)| *n);
                let expected = format!("one of {}", known.clone().collect::<Vec<_>>().join(", "));
                let mut e = ExprError::new(suffix_at, format!("unknown unit `{s}`"), expected);
                // A unit that differs in the case of letters alone is what was meant, however short it is.
                let same = known.clone().find(|n| n.eq_ignore_ascii_case(s)).map(str::to_string);
                e.nearest = same.or_else(|| nearest(s, known));
                e
            })?,
        };
        if !value.number.is_finite() {
            return Err(ExprError::new(start, format!("`{}` is too large", &self.text[start..end]), "a finite number"));
        }
        self.at = suffix_at.max(end) + suffix.len();
        if suffix.is_empty() {
            self.at = end;
        }
        Ok(Node::Number(value, start))
    }
    fn name(&mut self) -> Result<Node, ExprError> {
        let start = self.at;
        self.at += self.word(start).len();
        // Dots join words only: in `a..b` and `a.5` they are no part of the name.
        while self.rest().starts_with('.') && self.word(self.at + 1).starts_with(|c: char| !c.is_ascii_digit()) {
            self.at += 1 + self.word(self.at + 1).len();
        }
        let name = self.text[start..self.at].to_string();
        if !self.take("(") {
            return Ok(Node::Name(name, start));
        }
        let Some((_, func)) = Func::ALL.iter().find(|(n, _)| *n == name) else {
            let names = Func::ALL.map(|(n, _)| n);
            let mut e =
                ExprError::new(start, format!("unknown function `{name}`"), format!("one of {}", names.join(", ")));
            e.nearest = nearest(&name, names);
            return Err(e);
        };
        let args = self.deeper(Self::arguments)?;
        let (low, high) = match func {
            Func::Min | Func::Max => (1, MAX_NODES),
            Func::If => (3, 3),
            Func::Floor | Func::Ceil | Func::Round | Func::Log2 => (1, 1),
        };
        if !(low..=high).contains(&args.len()) {
            let expected = if low == high { format!("{low}") } else { format!("{low} or more") };
            return Err(ExprError::new(start, format!("`{name}` has {} arguments", args.len()), expected));
        }
        Ok(Node::Call(*func, args, start))
    }
    fn arguments(&mut self) -> Result<Vec<Node>, ExprError> {
        let mut args = Vec::new();
        if self.take(")") {
            return Ok(args);
        }
        loop {
            args.push(self.either()?);
            if !self.take(",") {
                self.need(")")?;
                return Ok(args);
            }
        }
    }
}

/// One of the unit of that suffix, `None` if there is no such unit.
fn unit_of(word: &str) -> Option<Value> {
    let size = SIZES.iter().find(|(n, _)| *n == word).map(|(_, f)| Value::bytes(*f));
    size.or_else(|| TIMES.iter().find(|(n, _)| *n == word).map(|(_, f)| Value::time_ns(*f)))
}
