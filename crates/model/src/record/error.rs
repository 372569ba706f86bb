//! Why a record or its directory was refused.

use super::store::EXPERIMENT;
use std::path::{Path, PathBuf};

/// A refusal, with the path it is about.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The file system said no.
    #[error("{}: {why}", path.display())]
    Io {
        /// Path.
        path: PathBuf,
        /// What failed.
        why: String,
    },
    /// Nothing of ours is there.
    #[error("{}: {what}; expected {expected}", path.display())]
    Foreign {
        /// Path.
        path: PathBuf,
        /// What is there.
        what: String,
        /// What could be used.
        expected: String,
    },
    /// Another process carries out runs there.
    #[error("{}: another numalab writes its runs there; expected that one to have ended, or another directory", path.display())]
    Busy {
        /// Path.
        path: PathBuf,
    },
    /// Written by another version.
    #[error("{}: format version {found}; expected {supported}", path.display())]
    Version {
        /// Path.
        path: PathBuf,
        /// Version found.
        found: u64,
        /// Version this program reads.
        supported: u64,
    },
    /// Ours, and not as it was written.
    #[error("{}: {what}; expected {expected}", path.display())]
    Damaged {
        /// Path.
        path: PathBuf,
        /// What is wrong.
        what: String,
        /// What was there, and how it comes back.
        expected: String,
    },
    /// An outcome that cannot be kept: a backend's error.
    #[error("an outcome that cannot be kept: {0}")]
    Outcome(String),
}

impl RecordError {
    /// An I/O error at a path.
    pub(super) fn io(path: &Path, e: &std::io::Error) -> Self {
        Self::Io { path: path.into(), why: why(e) }
    }
    /// An I/O error while `path` was looked at or read.
    pub(super) fn unreadable(path: &Path, e: &std::io::Error) -> Self {
        let next = "expected to be allowed to read it (`ls -ld` on it and on its folder says who is)";
        Self::Io { path: path.into(), why: format!("{}; {next}", why(e)) }
    }
    /// An I/O error while something was written into `dir`: what it would have been called inside is nobody's business.
    pub(super) fn unwritable(dir: &Path, e: &std::io::Error) -> Self {
        let next = "expected a directory to write records in (`ls -ld` says who may, `df` what room is left; \
                    --out names another)";
        Self::Io { path: dir.into(), why: format!("{}; {next}", why(e)) }
    }
    /// Damage found in a file, with what brings it back: only a record is a directory of its own, and removing the one
    /// that a log or the list of runs is in would take every record with it.
    pub(super) fn damaged(path: &Path, what: impl Into<String>) -> Self {
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
