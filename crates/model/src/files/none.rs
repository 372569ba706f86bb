//! In place of `files/mod.rs` in a build without the feature `store`: no file can be read.

use crate::spec::SpecError;
use std::path::Path;

/// Refuses every path.
pub(crate) fn regular_text(path: &Path, _expected: &str, _most: u64) -> Result<(String, String), SpecError> {
    Err(refused(path))
}

/// Refuses every path.
pub(crate) fn stream_text(path: &Path, _most: u64) -> Result<String, SpecError> {
    Err(refused(path))
}

fn refused(path: &Path) -> SpecError {
    SpecError::plain(&path.display().to_string(), "this build reads no files", "a name of the built-in catalog")
}
