//! The JSON form: `mail`, `cells`, `score`, `repeats`.

use super::cell::Cell;
use super::repeats::{self, Repeat};
use super::score::{score, Score};
use crate::json::{pretty, JsonError};
use serde::Serialize;

#[derive(Serialize)]
struct Json<'a> {
    mail: &'a str,
    cells: &'a [Cell],
    score: Score,
    repeats: Vec<repeats::Scores<'a>>,
}

/// The JSON form of a reproduction of `mail`.
///
/// # Errors
/// [`JsonError`]. It cannot happen with these types, but the serialiser's interface has it.
pub fn json(mail: &str, cells: &[Cell], repeats: &[Repeat]) -> Result<String, JsonError> {
    pretty(&Json { mail, cells, score: score(cells), repeats: repeats.iter().map(Into::into).collect() })
}
