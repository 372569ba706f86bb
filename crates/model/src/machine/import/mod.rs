//! Machines from other tools' descriptions: sysfs, hwloc XML, `numactl -H`.
//!
//! Problem: nobody should have to type in a machine that a tool can describe. But no tool reports latencies, bandwidths
//! and costs, and an assumed figure must not look like a measured one.
//! Approach: each source fills a `Found` with what it read. `emit` completes it from a generic modern machine and
//! writes a machine file in which every number says whether it was read or assumed. The file is loaded once before it
//! is returned.
//! Invariant: input is untrusted. Size, nesting and counts are limited before anything is built from them, and
//! everything wrong becomes one [`SpecError`].

mod emit;
mod found;
mod hwloc;
mod numactl;
#[cfg(feature = "store")]
mod sysfs;
mod xml;

use crate::spec::SpecError;
#[cfg(feature = "store")]
use std::path::Path;

/// The machine file of the host whose root folder is `root`, under a catalog name. `root` is `/`, or a copy that holds
/// `sys/devices/system` or `devices/system`.
///
/// # Errors
/// No CPUs are found, or the distances are impossible. What is merely missing is assumed, and the file says so.
#[cfg(feature = "store")]
pub fn sysfs(root: &Path, name: &str) -> Result<String, SpecError> {
    sysfs::read(root)?.into_toml(name)
}

/// The machine file of an hwloc XML export (version 2 or 3), under a catalog name. `file` is for messages.
///
/// # Errors
/// The text is not well-formed or not hwloc 2 or 3, declares entities, has nesting or counts beyond any machine, or has
/// no CPUs or memory nodes. The error has line and column.
pub fn hwloc_xml(file: &str, text: &str, name: &str) -> Result<String, SpecError> {
    hwloc::read(file, text)?.into_toml(name)
}

/// The machine file of the output of `numactl -H`, under a catalog name. `file` is for messages.
///
/// # Errors
/// Lines that are not of that output, or nodes and distances that contradict each other. The error has line and column.
pub fn numactl(file: &str, text: &str, name: &str) -> Result<String, SpecError> {
    numactl::read(file, text)?.into_toml(name)
}

/// The machine file of a text, which is read by [`hwloc_xml`] or [`numactl`] according to its beginning.
///
/// # Errors
/// Those of the two functions, or a text that is neither form.
pub fn text(file: &str, text: &str, name: &str) -> Result<String, SpecError> {
    let start = text.trim_start_matches('\u{feff}').trim_start();
    if start.starts_with('<') {
        return hwloc_xml(file, text, name);
    }
    if start.starts_with("available:") || start.starts_with("node ") {
        return numactl(file, text, name);
    }
    let what = "neither XML nor the output of `numactl -H`";
    Err(SpecError { line: 1, column: 1, ..SpecError::plain(file, what, "an hwloc XML export or `numactl -H` output") })
}
