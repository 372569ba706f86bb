//! The worker program: the one that is part of this program, or another that the user names.

use numalab_model::files::input;
use rustix::fs::{memfd_create, MemfdFlags};
use rustix::io::Errno;
use std::fmt;
use std::fs::File;
use std::io::Write;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

const NAME: &str = "numalab-worker";
/// Largest worker program that is read, bytes. It becomes a part of guests' memory.
const BYTES_MAX: u64 = 256 << 20;
/// What to do if this program was built without a worker.
const REMEDY: &str = "rustup target add x86_64-unknown-linux-musl, and build numalab again";

/// Environment variable with the path of another worker.
const VARIABLE: &str = "NUMALAB_WORKER";

/// The worker that was built with this program (`build.rs`), or nothing.
static BUILT_IN: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/worker"));
/// Why there is none.
const WHY_NONE: &str = include_str!(concat!(env!("OUT_DIR"), "/worker.why"));

/// A worker program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Worker {
    /// The one that was built with this program.
    BuiltIn,
    /// The one that `NUMALAB_WORKER` names.
    Named(PathBuf),
}

impl Worker {
    /// A static worker program for guests, which are x86-64.
    ///
    /// # Errors
    /// `NUMALAB_WORKER` does not name one, or it is unset and none was built with this program.
    pub fn for_guests() -> Result<Self, String> {
        match named() {
            Some(path) => checked(path, true),
            None => built_in(true),
        }
    }

    /// A worker program for this host, static or not.
    ///
    /// # Errors
    /// `NUMALAB_WORKER` does not name a file, or it is unset and none was built with this program.
    pub fn for_host() -> Result<Self, String> {
        match named() {
            Some(path) => checked(path, false),
            None => built_in(false),
        }
    }

    /// The program itself.
    ///
    /// # Errors
    /// A named one cannot be read.
    pub fn bytes(&self) -> Result<Vec<u8>, String> {
        match self {
            Self::BuiltIn => Ok(BUILT_IN.to_vec()),
            Self::Named(path) => input::bytes(path, BYTES_MAX).map_err(|e| e.message()),
        }
    }

    /// SHA-256 of the program, hexadecimal.
    ///
    /// # Errors
    /// A named one cannot be read.
    pub fn digest(&self) -> Result<String, String> {
        Ok(crate::cache::sha256(&self.bytes()?))
    }

    /// The program as a file that can be started. The one that is built in becomes a file in memory without a name, so
    /// that nothing is left behind and no folder needs to allow programs.
    ///
    /// # Errors
    /// The kernel refuses files in memory, or programs in them.
    pub fn executable(&self) -> Result<Executable, String> {
        match self {
            Self::Named(path) => Ok(Executable { path: path.clone(), _file: None }),
            Self::BuiltIn => {
                let file = in_memory(BUILT_IN).map_err(|e| {
                    format!("a file in memory for the worker: {e}; {VARIABLE} can name a worker on disk instead")
                })?;
                let path = format!("/proc/self/fd/{}", file.as_raw_fd()).into();
                Ok(Executable { path, _file: Some(file) })
            }
        }
    }
}

impl fmt::Display for Worker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BuiltIn => write!(f, "built in, {} KiB", BUILT_IN.len() / 1024),
            Self::Named(path) => write!(f, "{}", path.display()),
        }
    }
}

/// A worker program that can be started while this value lives.
#[derive(Debug)]
pub struct Executable {
    path: PathBuf,
    _file: Option<File>,
}

impl Executable {
    /// Path to start it by, from this process only.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// A nameless file in memory that may be executed. It is closed when a program is started.
fn in_memory(bytes: &[u8]) -> std::io::Result<File> {
    // Kernels before 6.3 do not know EXEC and allow it always.
    let created = match memfd_create(NAME, MemfdFlags::CLOEXEC | MemfdFlags::EXEC) {
        Err(Errno::INVAL) => memfd_create(NAME, MemfdFlags::CLOEXEC),
        other => other,
    };
    let mut file = File::from(created?);
    file.write_all(bytes)?;
    Ok(file)
}

/// Path in the environment variable, if it is set.
fn named() -> Option<PathBuf> {
    std::env::var_os(VARIABLE).filter(|p| !p.is_empty()).map(PathBuf::from)
}

/// The worker that was built with this program.
fn built_in(must_be_static: bool) -> Result<Worker, String> {
    if BUILT_IN.is_empty() {
        return Err(format!(
            "this numalab has no worker program in it ({WHY_NONE}); {REMEDY}, or set {VARIABLE} to the path of one"
        ));
    }
    if must_be_static && !is_static(BUILT_IN) {
        return Err(format!("the worker program in this numalab is not for x86-64, as guests are; set {VARIABLE} to the path of one that is"));
    }
    Ok(Worker::BuiltIn)
}

/// Checks the path in the environment variable.
fn checked(path: PathBuf, must_be_static: bool) -> Result<Worker, String> {
    let wrong = |what: &str| {
        let kind = if must_be_static { "a static " } else { "a " };
        Err(format!(
            "{VARIABLE}={}: {what}; expected {kind}{NAME}, or unset it to use the one built in",
            path.display()
        ))
    };
    let bytes = match input::bytes(&path, BYTES_MAX) {
        Ok(bytes) => bytes,
        Err(e) => return wrong(&e.kind.to_string()),
    };
    if must_be_static && !is_static(&bytes) {
        return wrong("is not a static x86-64 ELF program");
    }
    Ok(Worker::Named(path))
}

/// Remedy for a missing worker.
pub fn remedy() -> String {
    match named() {
        Some(_) => format!("unset {VARIABLE}"),
        None => REMEDY.into(),
    }
}

/// Whether a program is for x86-64 and has no interpreter (dynamic loader).
fn is_static(bytes: &[u8]) -> bool {
    let half = |at: usize| bytes.get(at..at + 2).map(|b| u16::from_le_bytes([b[0], b[1]]));
    let word = |at: usize| bytes.get(at..at + 4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]));
    const X86_64: u16 = 62;
    const PT_INTERP: u32 = 3;
    if !bytes.starts_with(b"\x7fELF\x02\x01") || half(18) != Some(X86_64) {
        return false;
    }
    let (Some(table), Some(size), Some(count)) = (word(32), half(54), half(56)) else { return false };
    (0..usize::from(count)).all(|i| word(table as usize + i * usize::from(size)).is_some_and(|t| t != PT_INTERP))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn only_static_programs_are_accepted() {
        let directory = tempfile::tempdir().unwrap();
        let write = |name: &str, interp: bool| {
            let mut elf = vec![0u8; 64 + 56];
            elf[..6].copy_from_slice(b"\x7fELF\x02\x01");
            elf[18..20].copy_from_slice(&62u16.to_le_bytes());
            elf[32..40].copy_from_slice(&64u64.to_le_bytes());
            elf[54..56].copy_from_slice(&56u16.to_le_bytes());
            elf[56..58].copy_from_slice(&1u16.to_le_bytes());
            elf[64..68].copy_from_slice(&(if interp { 3u32 } else { 1 }).to_le_bytes());
            std::fs::write(directory.path().join(name), &elf).unwrap();
            elf
        };
        assert!(is_static(&write("a", false)));
        assert!(!is_static(&write("b", true)));
        assert!(!is_static(b"Linux"));
        let why = |path: &str, must| checked(path.into(), must).unwrap_err();
        assert!(why("/nope", true).starts_with("NUMALAB_WORKER=/nope: no such file; expected a static numalab-worker"));
        assert!(why("/nope", false).contains("/nope: no such file"));
        assert!(why("/proc/version", true).contains("/proc/version: is not a static x86-64 ELF program"));
        assert!(why("/", true).contains("not a regular file (a folder)"));
        assert_eq!(checked("/proc/version".into(), false), Ok(Worker::Named("/proc/version".into())));
        let good = directory.path().join("a");
        assert_eq!(checked(good.clone(), true), Ok(Worker::Named(good)));
    }

    #[test]
    fn the_worker_is_built_in_static_and_small() {
        assert!(!BUILT_IN.is_empty(), "{WHY_NONE}");
        assert!(BUILT_IN.len() < 2 << 20, "every guest unpacks it at its boot: {} bytes", BUILT_IN.len());
        if cfg!(target_arch = "x86_64") {
            assert!(is_static(BUILT_IN));
        }
    }

    /// The digest of the worker is part of what a run of a guest is known by.
    #[test]
    fn the_worker_does_not_depend_on_where_it_was_built() {
        let text = String::from_utf8_lossy(BUILT_IN);
        let home = std::env::var("CARGO_HOME").unwrap_or_else(|_| format!("{}/.cargo", env!("HOME")));
        for place in [home.as_str(), env!("CARGO_MANIFEST_DIR"), env!("OUT_DIR")] {
            assert!(!text.contains(place), "{place}");
        }
        assert!(text.contains("cargo/registry/src/"), "paths in messages of panics are cut");
        assert!(!text.contains("extends = "), "the catalog is no part of it");
    }

    #[test]
    fn the_built_in_worker_starts_from_memory() {
        let worker = Worker::BuiltIn.executable().unwrap();
        let mut command = Command::new(worker.path());
        let ended = command.env_clear().current_dir("/").stdin(Stdio::null()).output().unwrap();
        let said = String::from_utf8_lossy(&ended.stderr).into_owned();
        assert_eq!((ended.status.code(), said.starts_with("usage: numalab-worker run")), (Some(2), true), "{said}");
    }
}
