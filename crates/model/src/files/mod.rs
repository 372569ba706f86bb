//! Files of the user (feature `store`): every one is read through [`input`] and written through [`output`].
//!
//! Problem: a file may come from a stranger, in a folder with links, pipes and devices that look like files.
//! Approach: what is read is a regular file of at most a stated size. What is written replaces the name, so a link that
//! stands there is never followed.

pub mod input;
pub mod output;

use crate::spec::{position, SpecError};
use input::{InputError, InputErrorKind};
use std::path::Path;

/// Place and text of a regular file of at most `most` bytes; `expected` is for messages.
///
/// # Errors
/// The file is missing, unreadable, not regular, too large, or not UTF-8.
pub(crate) fn regular_text(path: &Path, expected: &str, most: u64) -> Result<(String, String), SpecError> {
    let label = path.display().to_string();
    let bytes = input::bytes(path, most).map_err(|e| SpecError::plain(&label, e.kind.to_string(), expected))?;
    let text = String::from_utf8(bytes).map_err(|e| {
        let good = String::from_utf8_lossy(&e.as_bytes()[..e.utf8_error().valid_up_to()]);
        let (line, column) = position(&good, good.len());
        SpecError { line, column, ..SpecError::plain(&label, "not UTF-8 text", expected) }
    })?;
    Ok((label, text))
}

/// Text of a file of at most `most` bytes, which the message gives in MiB.
///
/// # Errors
/// As [`stream_bytes`], or the file is not UTF-8.
pub(crate) fn stream_text(path: &Path, most: u64) -> Result<String, SpecError> {
    let bytes = stream_bytes(path, most)?;
    String::from_utf8(bytes).map_err(|_| {
        let what = "cannot be read: stream did not contain valid UTF-8";
        SpecError::plain(&path.display().to_string(), what, "a readable text file")
    })
}

/// Bytes of a regular file of at most `most` bytes, or of what a shell passes as `/dev/stdin` or `/dev/fd/N`, which may
/// be a pipe. Another pipe could keep the command waiting for ever.
///
/// # Errors
/// The file is missing, unreadable, too large, or not regular.
pub(crate) fn stream_bytes(path: &Path, most: u64) -> Result<Vec<u8>, SpecError> {
    let given = ["/dev/stdin", "/dev/fd", "/proc/self/fd"].iter().any(|p| path.starts_with(p));
    let bytes = if given { input::stream(path, most) } else { input::bytes(path, most) };
    bytes.map_err(of_machine)
}

/// Bytes of standard input, at most `most`.
///
/// # Errors
/// It cannot be read, or has more bytes.
pub(crate) fn standard_input(most: u64) -> Result<Vec<u8>, SpecError> {
    input::standard_input(most).map_err(of_machine)
}

/// The refusal of a file that was to describe a machine.
fn of_machine(e: InputError) -> SpecError {
    let (what, expected) = match &e.kind {
        InputErrorKind::Io(io) => (format!("cannot be read: {io}"), "a readable text file"),
        InputErrorKind::NotRegular("a folder") => ("cannot be read: it is a folder".into(), "a file"),
        InputErrorKind::NotRegular(_) => (e.kind.to_string(), "a file; a pipe can be given as /dev/stdin"),
        InputErrorKind::TooLarge { .. } => (e.kind.to_string(), "a machine description"),
    };
    SpecError::plain(&e.path.display().to_string(), what, expected)
}

pub(crate) use input::reason;
