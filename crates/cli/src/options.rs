//! Options that several verbs share.

use crate::failure::Failure;
use numalab_model::experiment::SEED_MAX;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

/// Number of runs at a time: `asked`, or one per CPU of this host.
pub fn jobs(asked: Option<NonZeroUsize>) -> usize {
    asked.or_else(|| std::thread::available_parallelism().ok()).map_or(1, NonZeroUsize::get)
}

/// Directory of the records: `asked`, or `out/NAME`.
pub fn directory(asked: Option<&Path>, name: &str) -> PathBuf {
    asked.map_or_else(|| Path::new("out").join(name), Path::to_path_buf)
}

/// Reads the value of `--iterations`: 1 to [`numalab_model::experiment::ITERATIONS_MAX`].
///
/// # Errors
/// What was expected, if the text is no whole number of the range.
pub fn iterations(text: &str) -> Result<u32, String> {
    let max = numalab_model::experiment::ITERATIONS_MAX;
    match text.parse::<u32>() {
        Ok(n) if (1..=max).contains(&n) => Ok(n),
        _ => Err(format!("a whole number from 1 to {max}")),
    }
}

/// Reads the value of `--jobs`: 1 to 1024.
///
/// # Errors
/// What was expected, if the text is no whole number of the range.
pub fn job_count(text: &str) -> Result<NonZeroUsize, String> {
    match text.parse::<NonZeroUsize>() {
        Ok(n) if n.get() <= 1024 => Ok(n),
        _ => Err("a whole number from 1 to 1024".into()),
    }
}

/// Reads the value of `--seed`: 0 to [`SEED_MAX`].
///
/// # Errors
/// What was expected, if the text is no whole number of the range.
pub fn seed(text: &str) -> Result<u64, String> {
    text.parse::<u64>().ok().filter(|s| *s <= SEED_MAX).ok_or_else(|| format!("a whole number from 0 to {SEED_MAX}"))
}

/// Reads a text file given on the command line.
///
/// # Errors
/// The file cannot be read.
pub fn read(path: &Path) -> Result<String, Failure> {
    Ok(numalab_model::machine::read_text(path)?)
}
