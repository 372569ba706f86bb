//! The programs that kernel builds need.

use crate::probe;
use std::path::Path;

/// Programs that kernel builds need, each with its package.
const BUILD_TOOLS: [(&str, &str); 9] = [
    ("make", "make"),
    ("gcc", "gcc"),
    ("flex", "flex"),
    ("bison", "bison"),
    ("bc", "bc"),
    ("rsync", "rsync"),
    ("patch", "patch"),
    ("xz", "xz-utils"),
    ("tar", "tar"),
];

/// Missing programs of a kernel build, and the command that installs them.
pub struct MissingTools {
    /// Programs and headers.
    pub names: Vec<&'static str>,
    /// Command that installs them.
    pub remedy: String,
}

/// The programs that this host lacks, if any.
pub fn missing() -> Option<MissingTools> {
    let missing: Vec<&(&str, &str)> =
        BUILD_TOOLS.iter().filter(|t| probe::find_program(Path::new(t.0)).is_none()).collect();
    // The kernel's own build programs read ELF files.
    let header = Path::new("/usr/include/libelf.h").exists();
    if missing.is_empty() && header {
        return None;
    }
    let mut names: Vec<&str> = missing.iter().map(|t| t.0).collect();
    let mut packages: Vec<&str> = missing.iter().map(|t| t.1).collect();
    if !header {
        names.push("libelf.h");
        packages.push("libelf-dev");
    }
    Some(MissingTools { names, remedy: apt_get_install(&packages.join(" ")) })
}

/// Checks that a kernel can be built on this host. Callers check before they fetch sources.
///
/// # Errors
/// The missing programs, and the command that installs them.
pub fn check() -> Result<(), String> {
    match missing() {
        None => Ok(()),
        Some(tools) => Err(format!("building a kernel needs {}; `{}`", tools.names.join(", "), tools.remedy)),
    }
}

/// Command that installs Debian packages.
pub(crate) fn apt_get_install(packages: &str) -> String {
    format!("apt-get install --no-install-recommends {packages}")
}
