//! Reading a file that may be anything: it must be a regular file, and no larger than its kind can be.

use rustix::fs::OFlags;
use std::fs::{File, FileType, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// A file that is not read.
#[derive(Debug, thiserror::Error)]
#[error("{}: {kind}", path.display())]
pub struct InputError {
    /// The file.
    pub path: PathBuf,
    /// Why it is not read.
    pub kind: InputErrorKind,
}

/// Why a file is not read.
#[derive(Debug, thiserror::Error)]
pub enum InputErrorKind {
    /// The file system refused.
    #[error("{}", reason(.0))]
    Io(io::Error),
    /// It is no regular file; what it is, in words.
    #[error("not a regular file ({0})")]
    NotRegular(&'static str),
    /// It is larger than its kind can be.
    #[error("{}", too_large(*.most_bytes, *.size_bytes))]
    TooLarge {
        /// Most bytes of the kind.
        most_bytes: u64,
        /// Size of the file, if it is known.
        size_bytes: Option<u64>,
    },
}

impl InputErrorKind {
    /// What was expected in place of such a file, in words: the next step of the user.
    pub fn expected(&self) -> &'static str {
        match self {
            Self::Io(_) => "a file that can be read",
            Self::NotRegular(_) => "a regular file (save what a pipe or a device gives in one first)",
            Self::TooLarge { .. } => "a smaller file of this kind (docs/reference/files.md has the limits)",
        }
    }
}

impl From<InputError> for io::Error {
    fn from(e: InputError) -> Self {
        match e.kind {
            InputErrorKind::Io(e) => e,
            kind => Self::other(format!("{kind}; expected {}", kind.expected())),
        }
    }
}

impl InputError {
    fn new(path: &Path, kind: InputErrorKind) -> Self {
        Self { path: path.into(), kind }
    }
    /// The error as one message: file, what it is, and what was expected.
    pub fn message(&self) -> String {
        format!("{self}; expected {}", self.kind.expected())
    }
}

/// An I/O error in words.
pub fn reason(e: &io::Error) -> String {
    match e.kind() {
        ErrorKind::NotFound => "no such file".into(),
        ErrorKind::PermissionDenied => "not readable (permission denied)".into(),
        _ => e.to_string(),
    }
}

/// A size limit in words, such as `64 MiB`.
pub fn limit(bytes: u64) -> String {
    match bytes {
        b if b >= 1 << 30 && b % (1 << 30) == 0 => format!("{} GiB", b >> 30),
        b if b >= 1 << 20 && b % (1 << 20) == 0 => format!("{} MiB", b >> 20),
        b => format!("{b} bytes"),
    }
}

fn too_large(most_bytes: u64, size_bytes: Option<u64>) -> String {
    match size_bytes {
        Some(size) => format!("{size} bytes, more than {}", limit(most_bytes)),
        None => format!("more than {}", limit(most_bytes)),
    }
}

/// What a file is that is not regular.
fn name_of(kind: FileType) -> &'static str {
    match kind {
        k if k.is_dir() => "a folder",
        k if k.is_fifo() => "a FIFO",
        k if k.is_socket() => "a socket",
        _ => "a device",
    }
}

/// Opens a regular file of at most `most` bytes for reading. It waits for nothing.
///
/// # Errors
/// The file is missing, unreadable, not regular, or larger.
pub fn open(path: &Path, most: u64) -> Result<File, InputError> {
    let fail = |kind| InputError::new(path, kind);
    let check = |meta: io::Result<std::fs::Metadata>| {
        let meta = meta.map_err(|e| fail(InputErrorKind::Io(e)))?;
        match meta.len() {
            _ if !meta.is_file() => Err(fail(InputErrorKind::NotRegular(name_of(meta.file_type())))),
            size if size > most => Err(fail(InputErrorKind::TooLarge { most_bytes: most, size_bytes: Some(size) })),
            _ => Ok(()),
        }
    };
    // Before it is opened, because opening does something to some devices. After it, because it may be another by then.
    check(std::fs::metadata(path))?;
    let flags = (OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY).bits();
    let opened = OpenOptions::new().read(true).custom_flags(flags.cast_signed()).open(path);
    let file = opened.map_err(|e| fail(InputErrorKind::Io(e)))?;
    check(file.metadata())?;
    Ok(file)
}

/// The bytes of a regular file of at most `most` bytes.
///
/// # Errors
/// As [`open`].
pub fn bytes(path: &Path, most: u64) -> Result<Vec<u8>, InputError> {
    // The file may grow while it is read.
    at_most(open(path, most)?, path, most)
}

/// The text of a regular file of at most `most` bytes.
///
/// # Errors
/// As [`open`], or it is not UTF-8.
pub fn text(path: &Path, most: u64) -> Result<String, InputError> {
    let no_text = |_| InputError::new(path, InputErrorKind::Io(io::Error::other("not UTF-8 text")));
    String::from_utf8(bytes(path, most)?).map_err(no_text)
}

/// The bytes of a file or pipe that the shell has opened for this process (`/dev/stdin`, `/dev/fd/N`), at most `most`.
/// A signal ends the wait for them as it ends the process.
///
/// # Errors
/// It cannot be read, or has more bytes.
pub fn stream(path: &Path, most: u64) -> Result<Vec<u8>, InputError> {
    at_most(File::open(path).map_err(|e| InputError::new(path, InputErrorKind::Io(e)))?, path, most)
}

/// The bytes of standard input, at most `most`.
///
/// # Errors
/// As [`stream`].
pub fn standard_input(most: u64) -> Result<Vec<u8>, InputError> {
    at_most(io::stdin().lock(), Path::new("standard input"), most)
}

/// All bytes of a stream, at most `most`.
fn at_most(from: impl Read, path: &Path, most: u64) -> Result<Vec<u8>, InputError> {
    let fail = |kind| InputError::new(path, kind);
    let mut bytes = Vec::new();
    from.take(most.saturating_add(1)).read_to_end(&mut bytes).map_err(|e| fail(InputErrorKind::Io(e)))?;
    if bytes.len() as u64 > most {
        return Err(fail(InputErrorKind::TooLarge { most_bytes: most, size_bytes: None }));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{mknodat, FileType as Kind, Mode, CWD};
    use std::os::unix::fs::symlink;

    #[test]
    fn only_a_regular_file_of_its_size_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        std::fs::write(at("file"), "12345678").unwrap();
        assert_eq!(bytes(&at("file"), 8).unwrap(), b"12345678");
        mknodat(CWD, at("pipe"), Kind::Fifo, Mode::RUSR, 0).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(at("socket")).unwrap();
        symlink("/dev/zero", at("zero")).unwrap();
        symlink("file", at("link")).unwrap();
        assert_eq!(text(&at("link"), 8).unwrap(), "12345678", "the user may keep files elsewhere");
        for (name, what) in [
            ("pipe", "not a regular file (a FIFO); expected a regular file"),
            ("socket", "not a regular file (a socket); expected"),
            ("zero", "not a regular file (a device); expected"),
            (".", "not a regular file (a folder); expected"),
            ("absent", "no such file; expected a file that can be read"),
            ("file", "8 bytes, more than 7 bytes; expected a smaller file"),
        ] {
            let e = bytes(&at(name), 7).unwrap_err().message();
            assert!(e.contains(&format!("{}: {what}", at(name).display())), "{e}");
        }
    }

    #[test]
    fn a_stream_is_cut_off_with_an_error() {
        assert_eq!(at_most(&b"1234"[..], Path::new("x"), 4).unwrap(), b"1234");
        let e = at_most(io::repeat(1), Path::new("x"), 1 << 20).unwrap_err();
        assert_eq!(e.to_string(), "x: more than 1 MiB");
        assert_eq!(stream(Path::new("/dev/zero"), 1 << 20).unwrap_err().to_string(), "/dev/zero: more than 1 MiB");
        assert_eq!(limit(2 << 30), "2 GiB");
    }
}
