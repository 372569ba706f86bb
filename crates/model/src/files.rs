//! Reading text files (feature `store`).

use crate::spec::{position, SpecError};
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::path::Path;

/// Place and text of a regular file of at most `most` bytes; `expected` is for messages.
///
/// # Errors
/// The file is missing, unreadable, not regular, too large, or not UTF-8.
pub(crate) fn regular_text(path: &Path, expected: &str, most: u64) -> Result<(String, String), SpecError> {
    let label = path.display().to_string();
    let bad = |what: String| SpecError::plain(&label, what, expected);
    let meta = fs::metadata(path).map_err(|e| bad(reason(&e)))?;
    if !meta.is_file() {
        return Err(bad("not a file".into()));
    }
    if meta.len() > most {
        return Err(bad(format!("{} bytes, more than {most}", meta.len())));
    }
    let bytes = fs::read(path).map_err(|e| bad(reason(&e)))?;
    let text = String::from_utf8(bytes).map_err(|e| {
        let good = String::from_utf8_lossy(&e.as_bytes()[..e.utf8_error().valid_up_to()]);
        let (line, column) = position(&good, good.len());
        SpecError { line, column, ..bad("not UTF-8 text".into()) }
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

/// Bytes of a regular file of at most `most` bytes, which the message gives in MiB. What a shell passes as `/dev/stdin`
/// or `/dev/fd/N` may be a pipe; another pipe could keep the command waiting for ever.
///
/// # Errors
/// The file is missing, unreadable, too large, or not regular.
pub(crate) fn stream_bytes(path: &Path, most: u64) -> Result<Vec<u8>, SpecError> {
    let file = path.display().to_string();
    let fail = |e: io::Error| SpecError::plain(&file, format!("cannot be read: {e}"), "a readable text file");
    let given = ["/dev/stdin", "/dev/fd", "/proc/self/fd"].iter().any(|p| path.starts_with(p));
    let meta = fs::metadata(path).map_err(fail)?;
    if meta.is_dir() {
        return Err(SpecError::plain(&file, "cannot be read: it is a folder", "a file"));
    }
    if !meta.is_file() && !given {
        return Err(SpecError::plain(&file, "not a regular file", "a file; a pipe can be given as /dev/stdin"));
    }
    let mut bytes = Vec::new();
    File::open(path).map_err(fail)?.take(most + 1).read_to_end(&mut bytes).map_err(fail)?;
    if bytes.len() as u64 > most {
        return Err(SpecError::plain(&file, format!("more than {} MiB", most >> 20), "a machine description"));
    }
    Ok(bytes)
}

/// An I/O error in words.
pub(crate) fn reason(e: &io::Error) -> String {
    match e.kind() {
        ErrorKind::NotFound => "no such file".into(),
        ErrorKind::PermissionDenied => "not readable (permission denied)".into(),
        _ => e.to_string(),
    }
}
