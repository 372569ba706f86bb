//! Files of notes: sentences, written by hand, that say why figures are apart. Whose they are says what a note is about.

use crate::failure::Failure;
use crate::options;
use numalab_model::spec::{Doc, SpecError, Table};
use std::path::Path;

/// Characters of a note that are enough to find it.
const SHOWN: usize = 60;

/// Reads the notes of a file, each by `note`.
///
/// # Errors
/// The file cannot be read, or those of [`parse`].
pub fn read<N>(path: &Path, note: impl Fn(&Table<'_>) -> Result<N, SpecError>) -> Result<Vec<N>, Failure> {
    Ok(parse(&path.display().to_string(), &options::read(path)?, note)?)
}

/// Reads notes from a text, each by `note`.
///
/// # Errors
/// Syntax, a missing or unknown key, a value of the wrong kind.
pub fn parse<N>(
    file: &str,
    text: &str,
    note: impl Fn(&Table<'_>) -> Result<N, SpecError>,
) -> Result<Vec<N>, SpecError> {
    let doc = Doc::parse(file, text)?;
    let root = doc.root();
    let one = |table: Table<'_>| {
        let note = note(&table)?;
        table.finish()?;
        Ok(note)
    };
    let notes = root.tables("note")?.into_iter().map(one).collect::<Result<_, SpecError>>()?;
    root.finish()?;
    Ok(notes)
}

/// The sentences of a note, in one line.
///
/// # Errors
/// `why` is missing or no text.
pub fn why(table: &Table<'_>) -> Result<String, SpecError> {
    Ok(table.str("why")?.value.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// Texts of an optional list; empty if it is absent.
///
/// # Errors
/// It is no list of texts.
pub fn words(table: &Table<'_>, key: &str) -> Result<Vec<String>, SpecError> {
    let listed = if table.has(key) { table.strs(key)? } else { Vec::new() };
    Ok(listed.into_iter().map(|word| word.value).collect())
}

/// What a note is about and how it begins, for lists of notes that nothing needs.
pub fn beginning(about: &str, why: &str) -> String {
    format!("{about}: {}", why.chars().take(SHOWN).collect::<String>())
}
