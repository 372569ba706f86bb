//! Machines from other tools' descriptions: sysfs, hwloc XML, `numactl -H`.
//!
//! Problem: nobody should have to type in a machine that a tool can describe; but no tool tells latencies,
//! bandwidths and costs, and a figure that was made up must not look like one that was measured.
//! Approach: each source fills a `Found` with what it read; `emit` completes it from a generic
//! modern machine and writes a machine file in which every number says whether it was read or assumed.
//! The file is loaded once before it is returned.
//! Invariant: input is untrusted; size, nesting and counts are limited before anything is built from them,
//! and whatever is wrong ends as one [`SpecError`].

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

/// The machine file of the host whose root folder is `root` (`/`, or a copy holding `sys/devices/system` or
/// `devices/system`), under a catalog name.
///
/// # Errors
/// No CPUs to be found, or distances the machine cannot have. What is merely missing is assumed, and said so.
#[cfg(feature = "store")]
pub fn sysfs(root: &Path, name: &str) -> Result<String, SpecError> {
    sysfs::read(root)?.into_toml(name)
}

/// The machine file of an hwloc XML export (version 2 or 3), under a catalog name. `file` is for messages.
///
/// # Errors
/// Not well-formed, not hwloc 2 or 3, entity declarations, nesting or counts beyond any machine, no CPUs or
/// memory nodes: with line and column.
pub fn hwloc_xml(file: &str, text: &str, name: &str) -> Result<String, SpecError> {
    hwloc::read(file, text)?.into_toml(name)
}

/// The machine file of the output of `numactl -H`, under a catalog name. `file` is for messages.
///
/// # Errors
/// Lines that are not of that output, nodes or distances that contradict each other: with line and column.
pub fn numactl(file: &str, text: &str, name: &str) -> Result<String, SpecError> {
    numactl::read(file, text)?.into_toml(name)
}

/// [`hwloc_xml`] or [`numactl`], by what the text looks like.
///
/// # Errors
/// Theirs; or a text that is neither.
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
