//! Options that several verbs share.

use crate::failure::Failure;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

/// How many runs at a time: as asked, else one per CPU of this host.
pub fn jobs(asked: Option<NonZeroUsize>) -> usize {
    asked.or_else(|| std::thread::available_parallelism().ok()).map_or(1, NonZeroUsize::get)
}

/// Where records go: as asked, else `out/NAME`.
pub fn directory(asked: Option<&Path>, name: &str) -> PathBuf {
    asked.map_or_else(|| Path::new("out").join(name), Path::to_path_buf)
}

/// Reads a positive count.
///
/// # Errors
/// Not a whole number, or out of range; what was expected.
pub fn iterations(text: &str) -> Result<u32, String> {
    let max = numalab_model::experiment::ITERATIONS_MAX;
    match text.parse::<u32>() {
        Ok(n) if (1..=max).contains(&n) => Ok(n),
        _ => Err(format!("a whole number from 1 to {max}")),
    }
}

/// Reads a number of jobs.
///
/// # Errors
/// Not a whole number, or out of range; what was expected.
pub fn job_count(text: &str) -> Result<NonZeroUsize, String> {
    match text.parse::<NonZeroUsize>() {
        Ok(n) if n.get() <= 1024 => Ok(n),
        _ => Err("a whole number from 1 to 1024".into()),
    }
}

/// Reads a seed.
///
/// # Errors
/// Not a whole number that fits 63 bits; what was expected.
pub fn seed(text: &str) -> Result<u64, String> {
    text.parse::<u64>()
        .ok()
        .filter(|s| *s <= i64::MAX as u64)
        .ok_or_else(|| format!("a whole number from 0 to {}", i64::MAX))
}

/// Reads a text file given on the command line.
///
/// # Errors
/// It cannot be read.
pub fn read(path: &Path) -> Result<String, Failure> {
    Ok(numalab_model::machine::read_text(path)?)
}

/// Writes a text file given on the command line, beside its place and renamed: a reader never sees half of it.
///
/// # Errors
/// The file system refuses.
pub fn write(path: &Path, text: &str) -> Result<(), Failure> {
    let mut partial = path.as_os_str().to_owned();
    partial.push(format!(".partial-{}", std::process::id()));
    std::fs::write(&partial, text).and_then(|()| std::fs::rename(&partial, path)).map_err(|e| {
        // What was half written helps nobody; the error that matters is the first one.
        let _ = std::fs::remove_file(&partial);
        Failure::environment(format!("{}: {e}", path.display()))
    })
}
