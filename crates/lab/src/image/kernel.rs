//! A kernel image that is ready to boot, and its origin.

use std::path::PathBuf;

/// A kernel ready to boot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// File for QEMU's `-kernel`; later builds do not change it.
    pub path: PathBuf,
    /// SHA-256 of the file.
    pub sha256: String,
    /// Package, file or source of the kernel, for records.
    pub origin: String,
    /// Whether the kernel patches its own code while it runs (`CONFIG_JUMP_LABEL`), as packaged kernels do.
    pub patches_itself: bool,
    /// Source and configuration, if numalab built the kernel.
    pub built: Option<Built>,
}

/// Source and configuration of a kernel that was built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Built {
    /// Commit of the source, if it is a git repository.
    pub revision: Option<Revision>,
    /// SHA-256 of the configuration (`.config`).
    pub config_sha256: String,
}

/// Commit and state of a git repository whose tree was built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Revision {
    /// The commit, 40 or 64 hexadecimal digits.
    pub commit: String,
    /// `git describe --always` of the commit, followed by `-dirty` if [`Revision::dirty`].
    pub describe: String,
    /// Whether the tree differs from the commit: changed files, or new files that git does not ignore.
    pub dirty: bool,
}
