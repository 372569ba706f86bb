//! Finding the worker program.

use std::path::{Path, PathBuf};

const NAME: &str = "numalab-worker";
/// Command that builds a static worker.
pub const BUILD_HINT: &str = "rustup target add x86_64-unknown-linux-musl && \
     cargo build -p numalab-worker --profile worker --target x86_64-unknown-linux-musl";

/// Environment variable with the path of a worker.
const VARIABLE: &str = "NUMALAB_WORKER";

/// Path in the environment variable, if it is set.
fn named() -> Option<PathBuf> {
    std::env::var_os(VARIABLE).filter(|p| !p.is_empty()).map(PathBuf::from)
}

/// Paths that are searched without the variable, best first: beside the running program, and where cargo puts a worker.
fn candidates() -> Vec<PathBuf> {
    let mut out = Vec::new();
    let Ok(program) = std::env::current_exe() else { return out };
    for directory in program.ancestors().skip(1).take(4) {
        out.push(directory.join("x86_64-unknown-linux-musl/worker").join(NAME));
        out.push(directory.join(NAME));
        out.push(directory.join("../libexec/numalab").join(NAME));
    }
    out
}

/// Path of a static worker program for guests.
///
/// # Errors
/// There is none, with the command that builds it, or `NUMALAB_WORKER` does not name a static program.
pub fn find_static() -> Result<PathBuf, String> {
    if let Some(path) = named() {
        return checked(path, true);
    }
    let found = candidates().into_iter().find(|p| is_static(p));
    found.ok_or_else(|| format!("no static {NAME} found; set {VARIABLE} to its path or build it: {BUILD_HINT}"))
}

/// Checks the path in the environment variable.
fn checked(path: PathBuf, must_be_static: bool) -> Result<PathBuf, String> {
    let wrong = |what: &str| {
        let kind = if must_be_static { "a static " } else { "a " };
        Err(format!("{VARIABLE}={}: {what}; expected {kind}{NAME}, or unset it to have one looked for", path.display()))
    };
    match std::fs::File::open(&path) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => wrong("no such file"),
        Err(e) => wrong(&e.to_string()),
        Ok(_) if path.is_dir() => wrong("is a directory"),
        Ok(_) if must_be_static && !is_static(&path) => wrong("is not a static x86-64 ELF program"),
        Ok(_) => Ok(path),
    }
}

/// Remedy for a missing worker.
pub fn remedy() -> String {
    match named() {
        Some(_) => format!("unset {VARIABLE}, or build what it should name: {BUILD_HINT}"),
        None => BUILD_HINT.into(),
    }
}

/// Path of a worker program for this host, static or not.
///
/// # Errors
/// There is none, with the command that builds it, or `NUMALAB_WORKER` does not name a file.
pub fn find_native() -> Result<PathBuf, String> {
    if let Some(path) = named() {
        return checked(path, false);
    }
    let found = candidates().into_iter().find(|p| p.is_file());
    found.ok_or_else(|| format!("no {NAME} found; set {VARIABLE} to its path or build it: {BUILD_HINT}"))
}

/// Whether a file is an x86-64 ELF program without an interpreter (dynamic loader).
pub fn is_static(path: &Path) -> bool {
    let Ok(bytes) = std::fs::read(path) else { return false };
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
            let path = directory.path().join(name);
            std::fs::write(&path, elf).unwrap();
            path
        };
        assert!(is_static(&write("a", false)));
        assert!(!is_static(&write("b", true)));
        assert!(!is_static(Path::new("/proc/version")));
        let why = |path: &str, must| checked(path.into(), must).unwrap_err();
        assert!(why("/nope", true).starts_with("NUMALAB_WORKER=/nope: no such file; expected a static numalab-worker"));
        assert!(why("/nope", false).contains("/nope: no such file"));
        assert!(why("/proc/version", true).contains("/proc/version: is not a static x86-64 ELF program"));
        assert!(why("/", true).contains("is a directory"));
        assert_eq!(checked("/proc/version".into(), false), Ok("/proc/version".into()));
        assert_eq!(checked(directory.path().join("a"), true), Ok(directory.path().join("a")));
    }
}
