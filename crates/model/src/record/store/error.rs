//! Why a record, a log or an experiment's directory was refused.

use super::names::EXPERIMENT;
use std::path::{Path, PathBuf};

/// A refused record, log or directory.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The file system refused an operation.
    #[error("{}: {why}", path.display())]
    Io {
        /// Path of the refusal.
        path: PathBuf,
        /// What failed, and for some paths what to do.
        why: String,
    },
    /// The path holds something that this program did not write.
    #[error("{}: {what}; expected {expected}", path.display())]
    Foreign {
        /// Path of the refusal.
        path: PathBuf,
        /// What the path holds.
        what: String,
        /// What was expected instead.
        expected: String,
    },
    /// Another process runs plans in the directory.
    #[error("{}: another numalab writes its runs there; expected that one to have ended, or another directory", path.display())]
    Busy {
        /// Path of the refusal.
        path: PathBuf,
    },
    /// A file of another format version.
    #[error("{}: format version {found}; expected {supported}", path.display())]
    Version {
        /// Path of the refusal.
        path: PathBuf,
        /// Version found.
        found: u64,
        /// Version this program reads.
        supported: u64,
    },
    /// A file of this program that differs from what was written.
    #[error("{}: {what}; expected {expected}", path.display())]
    Damaged {
        /// Path of the refusal.
        path: PathBuf,
        /// What is wrong.
        what: String,
        /// What was expected, and how to restore it.
        expected: String,
    },
    /// An outcome that cannot be written; an error of the backend.
    #[error("an outcome that cannot be kept: {0}")]
    Outcome(String),
}

impl RecordError {
    /// An I/O error at a path.
    pub(crate) fn io(path: &Path, e: &std::io::Error) -> Self {
        Self::Io { path: path.into(), why: why(e) }
    }
    /// An I/O error while `path` was examined or read.
    pub(super) fn unreadable(path: &Path, e: &std::io::Error) -> Self {
        let next = "expected to be allowed to read it (`ls -ld` on it and on its folder says who is)";
        Self::Io { path: path.into(), why: format!("{}; {next}", why(e)) }
    }
    /// An I/O error while a file was written into `dir`; the name of the file inside does not matter to the user.
    pub(super) fn unwritable(dir: &Path, e: &std::io::Error) -> Self {
        let next = "expected a directory to write records in (`ls -ld` says who may, `df` what room is left; \
                    --out names another)";
        Self::Io { path: dir.into(), why: format!("{}; {next}", why(e)) }
    }
    /// Damage found in a file, with how to restore it.
    ///
    /// The advice depends on the file: a record is a directory of its own, which may be removed. A log and the list of
    /// runs lie in the directory of all records, which may not.
    pub(crate) fn damaged(path: &Path, what: impl Into<String>) -> Self {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let log = |option: &str| {
            let again = format!("`numalab run` with the same arguments and {option} writes it again");
            format!("an unchanged log (remove the file; {again})")
        };
        let expected = match name.rsplit_once('.') {
            _ if name == EXPERIMENT => {
                let again = "the same command that ran them lists them again and repeats none";
                format!("an unchanged list of runs (remove this file, not the records beside it; {again})")
            }
            Some((_, "events")) => log("--trace"),
            Some((_, "decisions")) => log("--explain"),
            _ => "an unchanged record (remove its directory to run the plan again)".to_string(),
        };
        Self::Damaged { path: path.into(), what: what.into(), expected }
    }
}

/// An I/O error in words.
fn why(e: &std::io::Error) -> String {
    match e.kind() {
        std::io::ErrorKind::NotFound => "no such file or directory".to_string(),
        std::io::ErrorKind::PermissionDenied => "permission denied".to_string(),
        _ => e.to_string(),
    }
}
