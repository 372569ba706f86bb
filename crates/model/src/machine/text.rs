//! The text of a machine file, which is bounded before anything is read from it.

use crate::files::stream_text;
use crate::spec::SpecError;
use std::path::Path;

/// Largest machine or import file read, bytes.
pub const MAX_FILE_BYTES: u64 = 64 << 20;

/// Reads a text file of at most [`MAX_FILE_BYTES`].
///
/// # Errors
/// The file is missing, unreadable, too large or not UTF-8.
pub fn read_text(path: &Path) -> Result<String, SpecError> {
    stream_text(path, MAX_FILE_BYTES)
}
