//! A machine by whatever names it: a catalog name, a path or a shorthand.

use super::layers::Find;
use super::load::read;
use super::text::read_text;
use super::{import, shorthand, Machine};
use crate::catalog::is_path;
use crate::spec::{clip, SpecError};
use std::path::Path;

/// Loads a machine by catalog name (`milan-2s-nps1`), path (`lab/mine.toml`) or shorthand (`2x8x8x2`).
///
/// `find` returns file name and text of a catalog machine; `names` are the catalog's names, for the suggestion in an
/// error. A text with a `/`, or that ends in `.toml`, is a path; digits and `x` are a shorthand.
///
/// # Errors
/// An unknown name, with the nearest one; an unreadable file; anything wrong in the file.
pub fn load(spec: &str, find: &Find, names: &[&str]) -> Result<Machine, SpecError> {
    if shorthand::is_one(spec) {
        return shorthand::load(spec, find);
    }
    // Paths come before the catalog, whose `classes/NAME` is no machine.
    if is_path(spec) {
        let text = read_text(Path::new(spec))?;
        return read(spec, &text, find, names).map_err(|e| import::not_yet(spec, &text).unwrap_or(e));
    }
    if let Some((file, text)) = find(spec) {
        return read(&file, &text, find, names);
    }
    let expected = "a catalog machine, a path to a .toml file, or NODESxLLCSxCORESxTHREADS such as 2x8x8x2";
    let what = format!("no machine `{}`", clip(spec));
    Err(SpecError::plain("machine", what, expected).near(spec, names.iter().copied()))
}
