//! What Linux shows below `/proc` and `/sys` of processes, threads, mappings and memory nodes.
//!
//! Every reader takes [`Roots`], so that tests replace both trees by their own. A file that is absent, forbidden or of
//! another form gives `None` or an error, never a figure. Names and texts of other programs are data: nothing in them
//! stops a reader. The texts of single tasks in the scheduler, of `vmstat` and of tracepoints have their parsers in
//! [`numalab_worker::sample`], which the worker and this crate share.

pub mod cgroup;
pub mod limits;
pub mod maps;
pub mod node;
pub mod numa_balancing;
pub mod numa_maps;
pub mod pagemap;
pub mod process;
pub mod resctrl;
pub mod scope;
pub mod stat;
pub mod status;

use std::io::Read;
use std::path::{Path, PathBuf};

/// Where the kernel's files are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Roots {
    /// `/proc`.
    pub proc: PathBuf,
    /// `/sys`.
    pub sys: PathBuf,
}

impl Default for Roots {
    fn default() -> Self {
        Self { proc: "/proc".into(), sys: "/sys".into() }
    }
}

impl Roots {
    /// The directory of a process.
    pub fn process(&self, pid: u32) -> PathBuf {
        self.proc.join(pid.to_string())
    }
    /// The directory of a thread.
    pub fn task(&self, pid: u32, tid: u32) -> PathBuf {
        self.process(pid).join("task").join(tid.to_string())
    }
}

/// Most bytes that are read of a file of the kernel's. Maps of a program with a million mappings have about 100 MiB.
const READ_BYTES_MAX: u64 = 1 << 28;

/// Reads a file of the kernel's as text; bytes that are no UTF-8 are replaced.
///
/// # Errors
/// The file cannot be read, or has more than 256 MiB. Its size is not known before, because the kernel says 0.
pub fn read(path: &Path) -> std::io::Result<String> {
    let mut bytes = Vec::new();
    std::fs::File::open(path)?.take(READ_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > READ_BYTES_MAX {
        return Err(std::io::Error::other("more than 256 MiB; expected a file of the kernel's"));
    }
    match String::from_utf8(bytes) {
        Ok(text) => Ok(text),
        Err(e) => Ok(String::from_utf8_lossy(e.as_bytes()).into_owned()),
    }
}

/// The numbers that name the entries of a directory, ascending. Empty if it cannot be read.
pub fn numbers_in(dir: &Path) -> Vec<u32> {
    let names = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let mut out: Vec<u32> = names.filter_map(|e| e.file_name().to_str()?.parse().ok()).collect();
    out.sort_unstable();
    out
}

/// Numbers of a list such as `0-3,8`. `None` if it is no such list.
pub fn list(text: &str) -> Option<Vec<u32>> {
    numalab_model::machine::cpulist::parse(text).ok()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn lists_of_numbers() {
        assert_eq!(list("0-3,8\n"), Some(vec![0, 1, 2, 3, 8]));
        assert_eq!(list("\n"), Some(vec![]));
        for bad in ["a", "1-", "3-1", "0-4294967295", "-1"] {
            assert_eq!(list(bad), None, "{bad}");
        }
    }

    #[test]
    fn texts_need_not_be_utf8() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("x"), [b'a', 0xff]).unwrap();
        assert_eq!(read(&dir.path().join("x")).unwrap(), "a\u{fffd}");
        std::fs::create_dir(dir.path().join("17")).unwrap();
        assert_eq!(numbers_in(dir.path()), [17]);
        assert!(numbers_in(&dir.path().join("none")).is_empty());
    }
}
