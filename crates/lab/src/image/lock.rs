//! The lock of an image: one process prepares it at a time, and others may prepare other images meanwhile.

use crate::cache::{Cache, Lock};

/// Name of the lock of the packaged source of a series.
pub(super) fn of_source(series: &str) -> String {
    format!("source-{series}")
}

/// Takes a lock of the cache, and says so if that has to wait. `what` is what is prepared.
///
/// # Errors
/// The lock file cannot be made.
pub(super) fn take(name: &str, what: &str, cache: &Cache, say: &mut dyn FnMut(&str)) -> Result<Lock, String> {
    let mut wait = || say(&format!("waiting for another numalab that prepares {what} in the same cache"));
    cache.lock(name, &mut wait).map_err(|e| format!("cache: {e}"))
}
