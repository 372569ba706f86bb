//! Expressions over named numbers: `+ - * /`, parentheses, numbers, names.
//!
//! Bounded on purpose: no functions, no comparisons, at most [`LIMIT`] parts, so that a file from elsewhere is harmless.
//! Division by zero gives no finite number; the caller decides what that means.

/// Most numbers, names and operators in one expression.
const LIMIT: usize = 200;

/// A parsed expression.
#[derive(Clone, Debug, PartialEq)]
pub struct Expr(Node);

#[derive(Clone, Debug, PartialEq)]
enum Node {
    Number(f64),
    Name(String),
    Negative(Box<Node>),
    Binary(char, Box<Node>, Box<Node>),
}

/// Why a text is no expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExprError {
    /// Column from 1 inside the text.
    pub column: usize,
    /// What is wrong.
    pub what: String,
    /// What was expected.
    pub expected: String,
}

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Number(f64),
    Name(String),
    Sign(char),
}

impl Expr {
    /// Parses `text`.
    ///
    /// # Errors
    /// An [`ExprError`] with the column of the first mistake.
    pub fn parse(text: &str) -> Result<Self, ExprError> {
        let tokens = tokens(text)?;
        let mut p = Parser { tokens: &tokens, at: 0, end: text.chars().count() + 1 };
        let node = p.sum()?;
        match p.peek() {
            None => Ok(Self(node)),
            Some(t) => Err(p.error(format!("unexpected {}", show(t)), "an operator or the end")),
        }
    }

    /// Value with `lookup` giving the value of a name; not finite after a division by zero.
    pub fn eval(&self, lookup: &impl Fn(&str) -> f64) -> f64 {
        eval(&self.0, lookup)
    }

    /// Names used, in order of appearance, each once.
    pub fn names(&self) -> Vec<&str> {
        let mut out = Vec::new();
        collect(&self.0, &mut out);
        out
    }
}

fn eval(node: &Node, lookup: &impl Fn(&str) -> f64) -> f64 {
    match node {
        Node::Number(x) => *x,
        Node::Name(name) => lookup(name),
        Node::Negative(x) => -eval(x, lookup),
        Node::Binary(op, a, b) => {
            let (a, b) = (eval(a, lookup), eval(b, lookup));
            match op {
                '+' => a + b,
                '-' => a - b,
                '*' => a * b,
                _ => a / b,
            }
        }
    }
}

fn collect<'a>(node: &'a Node, out: &mut Vec<&'a str>) {
    match node {
        Node::Number(_) => {}
        Node::Name(name) => {
            if !out.contains(&name.as_str()) {
                out.push(name);
            }
        }
        Node::Negative(x) => collect(x, out),
        Node::Binary(_, a, b) => {
            collect(a, out);
            collect(b, out);
        }
    }
}

fn show(token: &Token) -> String {
    match token {
        Token::Number(x) => format!("`{x}`"),
        Token::Name(n) => format!("`{n}`"),
        Token::Sign(c) => format!("`{c}`"),
    }
}

/// Tokens with their columns.
fn tokens(text: &str) -> Result<Vec<(usize, Token)>, ExprError> {
    let chars: Vec<char> = text.chars().collect();
    let mut out = Vec::new();
    let mut i = 0;
    while i < chars.len() {
        let c = chars[i];
        let start = i;
        i += 1;
        let token = match c {
            ' ' | '\t' => continue,
            '+' | '-' | '*' | '/' | '(' | ')' => Token::Sign(c),
            '0'..='9' | '.' => {
                while i < chars.len() && (chars[i].is_ascii_digit() || matches!(chars[i], '.' | '_')) {
                    i += 1;
                }
                let digits: String = chars[start..i].iter().filter(|c| **c != '_').collect();
                match digits.parse::<f64>() {
                    Ok(x) => Token::Number(x),
                    Err(_) => return Err(at(start, format!("`{digits}` is no number"), "a number like 512 or 0.5")),
                }
            }
            'a'..='z' | 'A'..='Z' | '_' => {
                while i < chars.len() && (chars[i].is_ascii_alphanumeric() || matches!(chars[i], '_' | '.')) {
                    i += 1;
                }
                Token::Name(chars[start..i].iter().collect())
            }
            other => {
                return Err(at(start, format!("unexpected `{other}`"), "a number, a name, + - * / or a parenthesis"))
            }
        };
        out.push((start + 1, token));
        if out.len() > LIMIT {
            return Err(at(start, "the expression is too long".into(), &format!("at most {LIMIT} parts")));
        }
    }
    Ok(out)
}

fn at(index: usize, what: String, expected: &str) -> ExprError {
    ExprError { column: index + 1, what, expected: expected.to_string() }
}

struct Parser<'a> {
    tokens: &'a [(usize, Token)],
    at: usize,
    end: usize,
}

impl Parser<'_> {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at).map(|(_, t)| t)
    }
    fn error(&self, what: String, expected: &str) -> ExprError {
        let column = self.tokens.get(self.at).map_or(self.end, |(c, _)| *c);
        ExprError { column, what, expected: expected.to_string() }
    }
    /// Takes one of the signs if it is next.
    fn sign(&mut self, signs: &str) -> Option<char> {
        match self.peek() {
            Some(Token::Sign(c)) if signs.contains(*c) => {
                let c = *c;
                self.at += 1;
                Some(c)
            }
            _ => None,
        }
    }
    fn sum(&mut self) -> Result<Node, ExprError> {
        let mut left = self.product()?;
        while let Some(op) = self.sign("+-") {
            left = Node::Binary(op, Box::new(left), Box::new(self.product()?));
        }
        Ok(left)
    }
    fn product(&mut self) -> Result<Node, ExprError> {
        let mut left = self.factor()?;
        while let Some(op) = self.sign("*/") {
            left = Node::Binary(op, Box::new(left), Box::new(self.factor()?));
        }
        Ok(left)
    }
    fn factor(&mut self) -> Result<Node, ExprError> {
        if self.sign("-").is_some() {
            return Ok(Node::Negative(Box::new(self.factor()?)));
        }
        if self.sign("(").is_some() {
            let inner = self.sum()?;
            return match self.sign(")") {
                Some(_) => Ok(inner),
                None => Err(self.error("a parenthesis is open".into(), "`)`")),
            };
        }
        let node = match self.peek() {
            Some(Token::Number(x)) => Node::Number(*x),
            Some(Token::Name(n)) => Node::Name(n.clone()),
            Some(t) => return Err(self.error(format!("unexpected {}", show(t)), "a number, a name or `(`")),
            None => return Err(self.error("the expression ends too early".into(), "a number, a name or `(`")),
        };
        self.at += 1;
        Ok(node)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> f64 {
        let lookup = |name: &str| match name {
            "a" => 6.0,
            "b" => 3.0,
            _ => 0.0,
        };
        Expr::parse(text).unwrap().eval(&lookup)
    }

    #[test]
    fn precedence_and_association() {
        assert_eq!(value("1 + 2 * 3"), 7.0);
        assert_eq!(value("(1 + 2) * 3"), 9.0);
        assert_eq!(value("8 - 2 - 1"), 5.0);
        assert_eq!(value("a / b * 100"), 200.0);
        assert_eq!(value("-a + -(b - 1)"), -8.0);
        assert_eq!(value("a / missing"), f64::INFINITY);
        assert_eq!(value("1_000 * 0.5"), 500.0);
    }

    #[test]
    fn names_once_in_order() {
        assert_eq!(Expr::parse("b / (a + b) * c.d").unwrap().names(), ["b", "a", "c.d"]);
    }

    #[test]
    fn errors_have_columns() {
        let column = |text: &str| Expr::parse(text).unwrap_err().column;
        assert_eq!(column(""), 1);
        assert_eq!(column("a +"), 4);
        assert_eq!(column("a b"), 3);
        assert_eq!(column("(a"), 3);
        assert_eq!(column("a ^ 2"), 3);
        assert_eq!(column("1.2.3"), 1);
        assert_eq!(column("a * )"), 5);
        assert!(Expr::parse(&"(".repeat(100_000)).is_err(), "deep nesting is refused before it is parsed");
    }

    #[test]
    fn any_text_is_parsed_or_refused_in_place() {
        let alphabet: Vec<char> = "ab1.5_+-*/() ^é".chars().collect();
        let mut rng = numalab_base::rng::SplitMix64::new(1);
        let mut parsed = 0;
        for _ in 0..20_000 {
            let length = rng.below(12);
            let text: String = (0..length).map(|_| alphabet[rng.below(alphabet.len() as u64) as usize]).collect();
            match Expr::parse(&text) {
                Ok(e) => {
                    parsed += 1;
                    e.eval(&|_| 1.0);
                }
                Err(e) => assert!((1..=text.chars().count() + 1).contains(&e.column), "{text}"),
            }
        }
        assert!(parsed > 100, "{parsed}");
    }
}
