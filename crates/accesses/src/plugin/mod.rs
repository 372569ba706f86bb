//! The plugin for `qemu-x86_64` and `qemu-system-x86_64`: its sources, which are built into numalab and compiled once
//! into the cache.

use numalab_lab::cache::Cache;
use std::path::PathBuf;

/// File name and text of every source.
pub const SOURCES: [(&str, &str); 19] = [
    ("api.h", include_str!("api.h")),
    ("recorder.h", include_str!("recorder.h")),
    ("kernel.h", include_str!("kernel.h")),
    ("access.c", include_str!("access.c")),
    ("caches.c", include_str!("caches.c")),
    ("calls.c", include_str!("calls.c")),
    ("cells.c", include_str!("cells.c")),
    ("decode.c", include_str!("decode.c")),
    ("exec.c", include_str!("exec.c")),
    ("file.c", include_str!("file.c")),
    ("guest.c", include_str!("guest.c")),
    ("kernel.c", include_str!("kernel.c")),
    ("operand.c", include_str!("operand.c")),
    ("plugin.c", include_str!("plugin.c")),
    ("sampling.c", include_str!("sampling.c")),
    ("shared.c", include_str!("shared.c")),
    ("unix.c", include_str!("unix.c")),
    ("user.c", include_str!("user.c")),
    ("work.c", include_str!("work.c")),
];

/// The library that is loaded into recorded programs and notes who asks for memory.
const SITES: [(&str, &str); 1] = [("sites.c", include_str!("sites.c"))];

/// Path of that library, which is compiled unless the cache has it.
///
/// # Errors
/// As [`library`].
pub fn sites(cache: &Cache) -> Result<PathBuf, String> {
    numalab_lab::plugin::compiled(cache, "sites", &SITES, &[])
}

/// Every access passes through several files of the plugin, so they are compiled as one.
const FASTER: [&str; 2] = ["-O3", "-flto"];

/// Path of the shared library, which is compiled unless the cache has it.
///
/// # Errors
/// There is no C compiler, or its message.
pub fn library(cache: &Cache) -> Result<PathBuf, String> {
    numalab_lab::plugin::compiled(cache, "accesses", &SOURCES, &FASTER)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use numalab_lab::plugin::{compiler, FLAGS};
    use std::process::Command;

    #[test]
    fn the_sources_compile_without_warnings() {
        if Command::new(compiler()).arg("--version").output().is_err() {
            eprintln!("skipped: no C compiler");
            return;
        }
        let directory = tempfile::tempdir().unwrap();
        for (name, text) in SOURCES.into_iter().chain(SITES) {
            std::fs::write(directory.path().join(name), text).unwrap();
        }
        for (name, _) in SOURCES.iter().chain(&SITES).filter(|s| s.0.ends_with(".c")) {
            let mut command = Command::new(compiler());
            command.args(FLAGS).args(["-Wextra", "-Werror", "-c", name]).current_dir(directory.path());
            let output = command.output().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        }
    }
}
