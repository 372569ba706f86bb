//! A machine file and the files it extends, read as one.
//!
//! Problem: a variant (`extends = "naples-2s"`) should say only what differs, and an error must still name the file,
//! line and column of the text that is wrong.
//! Approach: every file stays a document of its own. [`Layers`] asks all of them for a key and takes the answer of the
//! nearest file, so no position is lost. Tables combine key by key. Lists (`[[node]]`, `[[llc]]`, `[[link]]`) are taken
//! whole from the nearest file that has them.
//! Invariant: a key asked of one layer is asked of all, so [`Layers::finish`] refuses exactly the keys that no machine
//! file may have.

use super::size;
use super::text::read_text;
use crate::catalog::is_path;
use crate::spec::{clip, shown, Doc, SpecError, Spot, Table};
use std::ops::RangeInclusive;
use std::path::Path;

/// Finds file name and text of a catalog machine (`milan-2s-nps1`) or cost class (`classes/modern`).
pub type Find<'a> = dyn Fn(&str) -> Option<(String, String)> + 'a;

/// Longest chain of `extends`.
const MAX_CHAIN: usize = 8;

/// Parses `text` and, one after the other, the files it extends; the nearest file is first. `names` are the machines
/// that `find` knows, for the suggestion in an error.
///
/// # Errors
/// A syntax error, a name that `find` does not know, or a chain of more than eight files, as a cycle is.
pub(super) fn chain(file: &str, text: &str, find: &Find, names: &[&str]) -> Result<Vec<Doc>, SpecError> {
    let mut docs = vec![Doc::parse(file, text)?];
    loop {
        let parent = docs[docs.len() - 1].root().opt_str("extends")?;
        let Some(parent) = parent else { return Ok(docs) };
        if docs.len() == MAX_CHAIN {
            return Err(
                parent.error(format!("more than {MAX_CHAIN} files extend each other"), "a chain without a cycle")
            );
        }
        let name = clip(&parent.value);
        // A record keeps its sources by name, so no two files of a chain may share one.
        for doc in &docs {
            if doc.root().opt_str("name")?.is_some_and(|own| own.value == file_name(&parent.value)) {
                let what = format!("`extends` names {name}, as this machine or one that it extends is called");
                return Err(parent.error(what, "a `name` of its own for each"));
            }
        }
        let Some((file, text)) = find(&parent.value) else {
            if is_path(&parent.value) {
                let why = read_text(Path::new(&parent.value)).err();
                let what =
                    why.map_or_else(|| format!("no machine `{name}` to extend"), |e| format!("{}: {}", e.file, e.what));
                return Err(parent.error(what, "a catalog machine or the path of a TOML file"));
            }
            let e = parent.error(
                format!("no machine `{name}` to extend"),
                "the name of a catalog machine or the path of a TOML file",
            );
            return Err(e.near(&parent.value, names.iter().copied()));
        };
        docs.push(Doc::parse(&file, &text)?);
    }
}

/// The name under which a record keeps a file: that of a catalog machine, or the file name of a path without `.toml`.
pub fn file_name(machine: &str) -> String {
    if is_path(machine) {
        Path::new(machine).file_stem().unwrap_or_default().to_string_lossy().into_owned()
    } else {
        machine.to_string()
    }
}

/// The tables of one name in a chain of files, nearest first; empty if no file has such a table.
pub(super) struct Layers<'a> {
    tables: Vec<Table<'a>>,
}

impl<'a> Layers<'a> {
    /// The top-level tables of a chain.
    pub(super) fn roots(docs: &'a [Doc]) -> Self {
        Self { tables: docs.iter().map(Doc::root).collect() }
    }
    /// Refuses every key that is none of `known`, in all files.
    pub(super) fn only(&self, known: &[&str]) -> Result<(), SpecError> {
        for key in self.tables.iter().flat_map(Table::keys) {
            if !known.contains(&key.value.as_str()) {
                let e = key.error(format!("unknown key `{}`", key.value), format!("one of {}", known.join(", ")));
                return Err(e.near(&key.value, known.iter().copied()));
            }
        }
        Ok(())
    }
    /// A sub-table; empty if no file has it.
    pub(super) fn sub(&self, key: &str) -> Result<Layers<'a>, SpecError> {
        let mut tables = Vec::new();
        for t in &self.tables {
            tables.extend(t.opt_table(key)?);
        }
        Ok(Layers { tables })
    }
    /// A sub-table that some file must have; `expected` is for the error.
    pub(super) fn need(&self, key: &str, expected: &str) -> Result<Layers<'a>, SpecError> {
        let sub = self.sub(key)?;
        if sub.tables.is_empty() {
            return Err(self.missing(key, expected));
        }
        Ok(sub)
    }
    /// Whether any file has this table.
    pub(super) fn is_empty(&self) -> bool {
        self.tables.is_empty()
    }
    /// A list of tables from the nearest file that has a non-empty one.
    pub(super) fn list(&self, key: &str) -> Result<Vec<Table<'a>>, SpecError> {
        let mut found = Vec::new();
        for t in &self.tables {
            let here = t.tables(key)?;
            if found.is_empty() {
                found = here;
            }
        }
        Ok(found)
    }
    /// The tables of the single files, nearest first, for keys that exclude each other within one file.
    pub(super) fn each(&self) -> &[Table<'a>] {
        &self.tables
    }
    /// The error for a key that no file has, at the nearest file's table.
    pub(super) fn missing(&self, key: &str, expected: &str) -> SpecError {
        match self.tables.first() {
            Some(t) => placed(t.missing(key, expected)),
            None => SpecError::plain("machine", format!("`{key}` is missing"), expected),
        }
    }
    /// An error at the nearest file's table.
    pub(super) fn error(&self, what: impl Into<String>, expected: &str) -> SpecError {
        match self.tables.first() {
            Some(t) => placed(t.error(what, expected)),
            None => SpecError::plain("machine", what, expected),
        }
    }
    /// Place of the nearest file's table.
    pub(super) fn place(&self) -> Spot<()> {
        let e = self.error("", "");
        Spot { value: (), file: e.file, line: e.line, column: e.column }
    }
    /// The answer of the nearest file that has one; all files are asked.
    fn nearest<T>(&self, ask: impl Fn(&Table<'a>) -> Result<Option<T>, SpecError>) -> Result<Option<T>, SpecError> {
        let mut found = None;
        for t in &self.tables {
            let here = ask(t)?;
            found = found.or(here);
        }
        Ok(found)
    }
    /// A string, if present.
    pub(super) fn opt_str(&self, key: &str) -> Result<Option<Spot<String>>, SpecError> {
        self.nearest(|t| t.opt_str(key))
    }
    /// A list of strings of the nearest file that has a non-empty one.
    pub(super) fn strs(&self, key: &str) -> Result<Vec<Spot<String>>, SpecError> {
        Ok(self.nearest(|t| t.strs(key).map(|l| (!l.is_empty()).then_some(l)))?.unwrap_or_default())
    }
    /// A list of lists of numbers, if present.
    pub(super) fn opt_matrix(&self, key: &str) -> Result<Option<Spot<Vec<Vec<f64>>>>, SpecError> {
        self.nearest(|t| t.opt_matrix(key))
    }
    /// A number of `range`, with its place, if present.
    pub(super) fn opt_spot(&self, key: &str, range: &RangeInclusive<f64>) -> Result<Option<Spot<f64>>, SpecError> {
        self.nearest(|t| opt_within(t, key, range))
    }
    /// A number of `range`, if present.
    pub(super) fn opt_within(&self, key: &str, range: &RangeInclusive<f64>) -> Result<Option<f64>, SpecError> {
        Ok(self.opt_spot(key, range)?.map(|x| x.value))
    }
    /// A number of `range`.
    pub(super) fn within(&self, key: &str, range: &RangeInclusive<f64>) -> Result<f64, SpecError> {
        self.opt_within(key, range)?.ok_or_else(|| self.missing(key, &a_number(range)))
    }
    /// A number from zero to `most`, if present.
    pub(super) fn opt_up_to(&self, key: &str, most: f64) -> Result<Option<f64>, SpecError> {
        self.nearest(|t| opt_up_to(t, key, most))
    }
    /// A whole number, if present.
    pub(super) fn opt_int(&self, key: &str, range: RangeInclusive<i64>) -> Result<Option<i64>, SpecError> {
        Ok(self.nearest(|t| t.opt_int(key, range.clone()))?.map(|s| s.value))
    }
    /// A whole number.
    pub(super) fn int(&self, key: &str, range: RangeInclusive<i64>) -> Result<i64, SpecError> {
        let expected = format!("a whole number from {} to {}", range.start(), range.end());
        self.opt_int(key, range)?.ok_or_else(|| self.missing(key, &expected))
    }
    /// A switch, if present.
    pub(super) fn opt_bool(&self, key: &str) -> Result<Option<bool>, SpecError> {
        Ok(self.nearest(|t| t.opt_bool(key))?.map(|s| s.value))
    }
    /// A size, bytes, if present.
    pub(super) fn opt_size(&self, key: &str) -> Result<Option<u64>, SpecError> {
        self.opt_str(key)?.map(|s| size::read(&s)).transpose()
    }
    /// A size, bytes.
    pub(super) fn size(&self, key: &str) -> Result<u64, SpecError> {
        self.opt_size(key)?.ok_or_else(|| self.missing(key, size::EXPECTED))
    }
    /// Refuses every key that was not asked for, in all files.
    pub(super) fn finish(self) -> Result<(), SpecError> {
        self.tables.into_iter().try_for_each(Table::finish)
    }
}

/// Moves an error without a line to the start of its file: a file as a whole has no span.
pub(super) fn placed(e: SpecError) -> SpecError {
    SpecError { line: e.line.max(1), column: e.column.max(1), ..e }
}

/// A number of `range` of one table, with its place, if present.
pub(super) fn opt_within(t: &Table, key: &str, range: &RangeInclusive<f64>) -> Result<Option<Spot<f64>>, SpecError> {
    let Some(x) = t.opt_f64(key)? else { return Ok(None) };
    if range.contains(&x.value) {
        return Ok(Some(x));
    }
    Err(x.error(format!("`{key}` is {}", shown(x.value)), a_number(range)))
}

/// `range` in words.
pub(super) fn a_number(range: &RangeInclusive<f64>) -> String {
    format!("a number from {} to {}", range.start(), range.end())
}

/// A number from zero to `most` of one table, if present.
pub(super) fn opt_up_to(t: &Table, key: &str, most: f64) -> Result<Option<f64>, SpecError> {
    let Some(x) = t.opt_f64(key)? else { return Ok(None) };
    if (0.0..=most).contains(&x.value) {
        return Ok(Some(x.value));
    }
    Err(x.error(format!("`{key}` is {}", shown(x.value)), a_number(&(0.0..=most))))
}
