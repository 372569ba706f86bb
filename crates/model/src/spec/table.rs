//! A TOML text, and its tables with the keys that were asked for.

use super::error::{nearest, SpecError};
use super::places::Places;
use super::spot::Spot;
use super::syntax;
use super::text::{is_hidden, position};
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use toml_edit::{ImDocument, Item, TableLike, Value};

/// A parsed TOML text with its name.
#[derive(Debug)]
pub struct Doc {
    file: String,
    text: String,
    parsed: ImDocument<String>,
    places: Places,
}

thread_local! {
    /// Texts that this thread has parsed, and their bytes.
    static PARSED: Cell<(u64, u64)> = const { Cell::new((0, 0)) };
}

/// Number of TOML texts that this thread has parsed so far, and their bytes. Tests of what a command costs count with
/// it.
pub fn parsed_texts() -> (u64, u64) {
    PARSED.get()
}

impl Doc {
    /// Parses `text`; `file` is used in messages.
    ///
    /// # Errors
    /// A [`SpecError`] at the first syntax error.
    pub fn parse(file: &str, text: &str) -> Result<Self, SpecError> {
        let (texts, bytes) = PARSED.get();
        PARSED.set((texts + 1, bytes + text.len() as u64));
        let parsed = ImDocument::parse(text.to_string()).map_err(|e| {
            let at = e.span().map_or(0, |s| s.start);
            let (line, column) = position(text, at);
            let (what, expected) = syntax::wrong(text, at, e.message());
            SpecError { file: file.into(), line, column, what, expected, nearest: None }
        })?;
        Ok(Self { file: file.into(), text: text.into(), parsed, places: Places::of(text) })
    }
    /// The top-level table. A key that is missing in it is reported at the beginning of the file.
    pub fn root(&self) -> Table<'_> {
        let items = self.parsed.as_table();
        Table { doc: self, items, span: Some(0..0), path: String::new(), asked: RefCell::default() }
    }
    /// An error at a byte span of this text.
    pub fn error(&self, span: Option<std::ops::Range<usize>>, what: String, expected: String) -> SpecError {
        self.spot(span, ()).error(what, expected)
    }
    /// A value with the place where `span` starts; line and column are 0 without a span.
    fn spot<T>(&self, span: Option<std::ops::Range<usize>>, value: T) -> Spot<T> {
        let (line, column) = span.map_or((0, 0), |s| self.places.position(&self.text, s.start));
        Spot { value, file: self.file.clone(), line, column }
    }
}

/// A table being read. Every key that is asked for is legal; [`Table::finish`] refuses every other key.
pub struct Table<'a> {
    doc: &'a Doc,
    items: &'a dyn TableLike,
    span: Option<std::ops::Range<usize>>,
    path: String,
    asked: RefCell<BTreeSet<String>>,
}

impl<'a> Table<'a> {
    /// The item of a key, which is marked as legal.
    fn item(&self, key: &str) -> Option<&'a Item> {
        if !self.asked.borrow().contains(key) {
            self.asked.borrow_mut().insert(key.to_string());
        }
        self.items.get(key).filter(|i| !i.is_none())
    }
    /// The key with the path of this table: `a.b[0].key`.
    fn full(&self, key: &str) -> String {
        if self.path.is_empty() {
            key.to_string()
        } else {
            format!("{}.{key}", self.path)
        }
    }
    /// The error for a value of the wrong kind.
    fn wrong(&self, key: &str, item: &Item, expected: &str) -> SpecError {
        let what = format!("`{}` is {}", self.full(key), kind(item));
        // A table that is only implied by the headers of its sub-tables has no span, but its key has one.
        let span = item.span().or_else(|| self.items.key(key).and_then(toml_edit::Key::span));
        self.doc.error(span, what, expected.to_string())
    }
    fn spot<T>(&self, item: &Item, value: T) -> Spot<T> {
        self.doc.spot(item.span(), value)
    }
    /// The error for a key whose value is an empty list.
    pub fn empty(&self, key: &str, expected: &str) -> SpecError {
        let span = self.items.get(key).and_then(Item::span);
        self.doc.error(span, format!("`{}` is empty", self.full(key)), expected.to_string())
    }
    /// The error for a missing key. It names a key of the table that looks like a slip for it, if there is one.
    pub fn missing(&self, key: &str, expected: &str) -> SpecError {
        let others = self.items.iter().filter(|(k, _)| !self.asked.borrow().contains(*k)).map(|(k, _)| k);
        // Other keys include legal ones that are not asked for yet, so only a key of one or two wrong letters is named.
        let digits = |t: &str| t.chars().filter(char::is_ascii_digit).collect::<String>();
        let letters = if key.len() < 6 { 1 } else { 2 };
        let slip = |k: &String| strsim::damerau_levenshtein(key, k) <= letters && digits(key) == digits(k);
        let hint = nearest(key, others).filter(slip).map(|k| format!(" (there is `{k}`)")).unwrap_or_default();
        self.doc.error(self.span.clone(), format!("`{}` is missing{hint}", self.full(key)), expected.to_string())
    }
    /// An error at the table itself.
    pub fn error(&self, what: impl Into<String>, expected: impl Into<String>) -> SpecError {
        self.doc.error(self.span.clone(), what.into(), expected.into())
    }
    /// A string, if present.
    ///
    /// # Errors
    /// The value is no string, or has control characters. A `name`, which is printed in tables, may have no line breaks
    /// either.
    pub fn opt_str(&self, key: &str) -> Result<Option<Spot<String>>, SpecError> {
        let refused = |c: char| if key == "name" { is_hidden(c) } else { unprintable(c) };
        match self.item(key) {
            None => Ok(None),
            Some(i) => match i.as_str() {
                Some(s) if s.contains(refused) => {
                    let what = format!("`{}` has a control character in it", self.full(key));
                    let lines = if key == "name" { "one line of " } else { "" };
                    Err(self.doc.error(i.span(), what, format!("{lines}text that can be printed")))
                }
                Some(s) => Ok(Some(self.spot(i, s.to_string()))),
                None => Err(self.wrong(key, i, "a string")),
            },
        }
    }
    /// The string `title`, which tables and pages print as a heading.
    ///
    /// # Errors
    /// The title is absent, not a string, empty, or not one line of at most 200 characters.
    pub fn title(&self) -> Result<String, SpecError> {
        let title = self.str("title")?;
        check_title(&title)?;
        Ok(title.value.trim().to_string())
    }
    /// A string.
    ///
    /// # Errors
    /// The value is absent or not a string.
    pub fn str(&self, key: &str) -> Result<Spot<String>, SpecError> {
        self.opt_str(key)?.ok_or_else(|| self.missing(key, "a string"))
    }
    /// A string or a number as the text of an expression (`8`, `1.5`, `"cpus/2"`), if present.
    ///
    /// # Errors
    /// The value is neither.
    pub fn opt_expr(&self, key: &str) -> Result<Option<Spot<String>>, SpecError> {
        self.text(key, false, "a number or an expression")
    }
    /// A string, number or switch as the text of a setting (`v414`, `8`, `true`), if present.
    ///
    /// # Errors
    /// The value is none of these.
    pub fn opt_setting(&self, key: &str) -> Result<Option<Spot<String>>, SpecError> {
        self.text(key, true, "a word, a number, true or false")
    }
    fn text(&self, key: &str, switches: bool, expected: &str) -> Result<Option<Spot<String>>, SpecError> {
        match self.item(key) {
            None => Ok(None),
            Some(i) => match i.as_value() {
                Some(Value::String(s)) => Ok(Some(self.spot(i, s.value().clone()))),
                Some(Value::Integer(n)) => Ok(Some(self.spot(i, n.value().to_string()))),
                Some(Value::Float(x)) => Ok(Some(self.spot(i, x.value().to_string()))),
                Some(Value::Boolean(b)) if switches => Ok(Some(self.spot(i, b.value().to_string()))),
                _ => Err(self.wrong(key, i, expected)),
            },
        }
    }
    /// A number, which may be an integer, if present.
    ///
    /// # Errors
    /// The value is not a finite number.
    pub fn opt_f64(&self, key: &str) -> Result<Option<Spot<f64>>, SpecError> {
        match self.item(key) {
            None => Ok(None),
            Some(i) => match number(i) {
                Some(x) => Ok(Some(self.spot(i, x))),
                None => Err(self.wrong(key, i, "a finite number")),
            },
        }
    }
    /// A number.
    ///
    /// # Errors
    /// The value is absent or not a finite number.
    pub fn f64(&self, key: &str) -> Result<Spot<f64>, SpecError> {
        self.opt_f64(key)?.ok_or_else(|| self.missing(key, "a number"))
    }
    /// An integer in a range, if present.
    ///
    /// # Errors
    /// The value is not an integer of `range`.
    pub fn opt_int(&self, key: &str, range: std::ops::RangeInclusive<i64>) -> Result<Option<Spot<i64>>, SpecError> {
        let expected = format!("a whole number from {} to {}", range.start(), range.end());
        match self.item(key) {
            None => Ok(None),
            Some(i) => match i.as_integer() {
                Some(n) if range.contains(&n) => Ok(Some(self.spot(i, n))),
                Some(n) => Err(self.doc.error(i.span(), format!("`{}` is {n}", self.full(key)), expected)),
                None => Err(self.wrong(key, i, &expected)),
            },
        }
    }
    /// An integer in a range.
    ///
    /// # Errors
    /// The value is absent or not an integer of `range`.
    pub fn int(&self, key: &str, range: std::ops::RangeInclusive<i64>) -> Result<Spot<i64>, SpecError> {
        let expected = format!("a whole number from {} to {}", range.start(), range.end());
        self.opt_int(key, range)?.ok_or_else(|| self.missing(key, &expected))
    }
    /// A boolean, if present.
    ///
    /// # Errors
    /// The value is not a boolean.
    pub fn opt_bool(&self, key: &str) -> Result<Option<Spot<bool>>, SpecError> {
        match self.item(key) {
            None => Ok(None),
            Some(i) => match i.as_bool() {
                Some(b) => Ok(Some(self.spot(i, b))),
                None => Err(self.wrong(key, i, "true or false")),
            },
        }
    }
    /// A sub-table (ordinary or inline), if present.
    ///
    /// # Errors
    /// The value is not a table.
    pub fn opt_table(&self, key: &str) -> Result<Option<Table<'a>>, SpecError> {
        match self.item(key) {
            None => Ok(None),
            Some(i) => match i.as_table_like() {
                Some(t) => Ok(Some(Table {
                    doc: self.doc,
                    items: t,
                    span: i.span(),
                    path: self.full(key),
                    asked: RefCell::default(),
                })),
                None => Err(self.wrong(key, i, "a table")),
            },
        }
    }
    /// A list of tables (`[[key]]` or inline); empty if absent.
    ///
    /// # Errors
    /// The value is not a list of tables.
    pub fn tables(&self, key: &str) -> Result<Vec<Table<'a>>, SpecError> {
        let Some(item) = self.item(key) else { return Ok(Vec::new()) };
        let make = |n: usize, t: &'a dyn TableLike, span| Table {
            doc: self.doc,
            items: t,
            span,
            path: format!("{}[{n}]", self.full(key)),
            asked: RefCell::default(),
        };
        if let Some(list) = item.as_array_of_tables() {
            return Ok(list.iter().enumerate().map(|(n, t)| make(n, t, t.span())).collect());
        }
        if let Some(list) = item.as_array() {
            let mut out = Vec::new();
            for (n, v) in list.iter().enumerate() {
                let t = v.as_inline_table().ok_or_else(|| self.wrong(key, item, "a list of tables"))?;
                out.push(make(n, t, v.span()));
            }
            return Ok(out);
        }
        Err(self.wrong(key, item, "a list of tables"))
    }
    /// A list of strings; empty if absent.
    ///
    /// # Errors
    /// The value is not a list of strings.
    pub fn strs(&self, key: &str) -> Result<Vec<Spot<String>>, SpecError> {
        let Some(item) = self.item(key) else { return Ok(Vec::new()) };
        let list = item.as_array().ok_or_else(|| self.wrong(key, item, "a list of strings"))?;
        list.iter()
            .map(|v| {
                let s = v.as_str().ok_or_else(|| {
                    let what = format!("`{}` has {} in it", self.full(key), value_kind(v));
                    self.doc.error(v.span(), what, "a list of strings".to_string())
                })?;
                Ok(self.doc.spot(v.span(), s.to_string()))
            })
            .collect()
    }
    /// A list of numbers, if present.
    ///
    /// # Errors
    /// The value is not a list of finite numbers.
    pub fn opt_f64s(&self, key: &str) -> Result<Option<Spot<Vec<f64>>>, SpecError> {
        let Some(item) = self.item(key) else { return Ok(None) };
        let wrong = || self.wrong(key, item, "a list of finite numbers");
        let list = item.as_array().ok_or_else(wrong)?;
        let out: Option<Vec<f64>> = list.iter().map(value_number).collect();
        Ok(Some(self.spot(item, out.ok_or_else(wrong)?)))
    }
    /// A list of lists of numbers, if present.
    ///
    /// # Errors
    /// The value is not a list of lists of finite numbers.
    pub fn opt_matrix(&self, key: &str) -> Result<Option<Spot<Vec<Vec<f64>>>>, SpecError> {
        let Some(item) = self.item(key) else { return Ok(None) };
        let wrong = || self.wrong(key, item, "a list of lists of finite numbers");
        let list = item.as_array().ok_or_else(wrong)?;
        let mut out = Vec::new();
        for row in list.iter() {
            let row = row.as_array().ok_or_else(wrong)?;
            out.push(row.iter().map(value_number).collect::<Option<Vec<f64>>>().ok_or_else(wrong)?);
        }
        Ok(Some(self.spot(item, out)))
    }
    /// Whether `key` is present. The key is marked as legal.
    pub fn has(&self, key: &str) -> bool {
        self.item(key).is_some()
    }
    /// The text of a string or number with the place of its first character, inside the quotes; `None` for other
    /// values.
    fn text_spot(&self, v: &Value) -> Option<Spot<String>> {
        let text = match v {
            Value::String(s) => s.value().clone(),
            Value::Integer(n) => n.value().to_string(),
            Value::Float(x) => x.value().to_string(),
            _ => return None,
        };
        let span = v.span();
        let raw = span.clone().and_then(|s| self.doc.text.get(s)).unwrap_or("");
        let quotes = ["\"\"\"\n", "'''\n", "\"\"\"", "'''", "\"", "'"];
        // With escapes the source is longer than the text; then the place is that of the opening quote.
        let inside = quotes.iter().find(|q| raw.starts_with(**q) && raw[q.len()..].starts_with(text.as_str()));
        let start = span.map(|s| s.start + inside.map_or(0, |q| q.len()));
        Some(self.doc.spot(start.map(|s| s..s), text))
    }
    /// A string, if present, with the place of its first character, for texts that are parsed further.
    ///
    /// # Errors
    /// The value is not a string.
    pub fn opt_text(&self, key: &str) -> Result<Option<Spot<String>>, SpecError> {
        match self.item(key) {
            None => Ok(None),
            Some(i) => match i.as_value().filter(|v| v.is_str()).and_then(|v| self.text_spot(v)) {
                Some(text) => Ok(Some(text)),
                None => Err(self.wrong(key, i, "a string")),
            },
        }
    }
    /// As [`Table::opt_expr`], with the place of the text's first character.
    ///
    /// # Errors
    /// The value is neither a string nor a number.
    pub fn opt_formula(&self, key: &str) -> Result<Option<Spot<String>>, SpecError> {
        match self.item(key) {
            None => Ok(None),
            Some(i) => match i.as_value().and_then(|v| self.text_spot(v)) {
                Some(text) => Ok(Some(text)),
                None => Err(self.wrong(key, i, "a number or an expression")),
            },
        }
    }
    /// As [`Table::opt_formula`], for a condition or a share, where `true` stands for 1 and `false` for 0.
    ///
    /// # Errors
    /// The value is neither a string, a number, true nor false.
    pub fn opt_condition(&self, key: &str) -> Result<Option<Spot<String>>, SpecError> {
        match self.item(key).and_then(|i| i.as_bool().map(|b| self.spot(i, u8::from(b).to_string()))) {
            None => self.opt_formula(key),
            flag => Ok(flag),
        }
    }
    /// One expression or a list of them, if present, each with the place of its first character.
    ///
    /// # Errors
    /// The value is neither, or a list with another value in it.
    pub fn opt_formulas(&self, key: &str) -> Result<Option<Vec<Spot<String>>>, SpecError> {
        let Some(item) = self.item(key) else { return Ok(None) };
        let wrong = || self.wrong(key, item, "an expression or a list of expressions");
        match item.as_array() {
            None => Ok(self.opt_formula(key).map_err(|_| wrong())?.map(|one| vec![one])),
            Some(list) if list.is_empty() => {
                let what = format!("`{}` is an empty list", self.full(key));
                Err(self.doc.error(item.span(), what, "at least one expression".into()))
            }
            Some(list) => list.iter().map(|v| self.text_spot(v).ok_or_else(wrong)).collect::<Result<_, _>>().map(Some),
        }
    }
    /// All keys with their places, for tables whose keys are names (parameters, roles). The keys are marked as legal.
    pub fn keys(&self) -> Vec<Spot<String>> {
        let mut out = Vec::new();
        for (k, item) in self.items.iter() {
            self.item(k);
            let span = self.items.key(k).and_then(toml_edit::Key::span).or_else(|| item.span());
            out.push(self.doc.spot(span, k.to_string()));
        }
        out
    }
    /// Refuses every key that was not asked for.
    ///
    /// # Errors
    /// The first unknown key, with the nearest legal one.
    pub fn finish(self) -> Result<(), SpecError> {
        let asked = self.asked.borrow();
        for (k, item) in self.items.iter() {
            if item.is_none() || asked.contains(k) {
                continue;
            }
            let span = self.items.key(k).and_then(toml_edit::Key::span).or_else(|| item.span());
            let names: Vec<&str> = asked.iter().map(String::as_str).collect();
            let expected = format!("one of {}", names.join(", "));
            let e = self.doc.error(span, format!("unknown key `{}`", self.full(k)), expected);
            return Err(e.near(k, names));
        }
        Ok(())
    }
}

/// Refuses a title that is not one line of 1 to 200 characters.
///
/// # Errors
/// The title is empty or not such a line.
pub(crate) fn check_title(title: &Spot<String>) -> Result<(), SpecError> {
    if title.value.trim().is_empty() {
        return Err(title.error("`title` is empty", "a few words"));
    }
    if title.value.contains(['\n', '\r']) || title.value.chars().count() > 200 {
        return Err(title.error("the title is not one line", "at most 200 characters on one line"));
    }
    Ok(())
}

/// Whether a character is a hidden one other than those of plain text.
fn unprintable(c: char) -> bool {
    is_hidden(c) && !['\n', '\r', '\t'].contains(&c)
}

fn kind(item: &Item) -> &'static str {
    match item {
        Item::None => "absent",
        Item::Table(_) => "a table",
        Item::ArrayOfTables(_) => "a list of tables",
        Item::Value(v) => value_kind(v),
    }
}

fn value_kind(v: &Value) -> &'static str {
    match v {
        Value::String(_) => "a string",
        Value::Integer(_) => "a whole number",
        Value::Float(x) if !x.value().is_finite() => "nan or infinite",
        Value::Float(_) => "a number",
        Value::Boolean(_) => "true or false, not quoted",
        Value::Datetime(_) => "a date",
        Value::Array(_) => "a list",
        Value::InlineTable(_) => "a table",
    }
}

fn number(item: &Item) -> Option<f64> {
    item.as_value().and_then(value_number)
}

fn value_number(v: &Value) -> Option<f64> {
    let x = match v {
        Value::Integer(n) => *n.value() as f64,
        Value::Float(x) => *x.value(),
        _ => return None,
    };
    x.is_finite().then_some(x)
}
