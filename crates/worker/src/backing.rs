//! Backing files of file regions.
//!
//! A file region needs the page cache of a file system. Memory of `memfd` or of a tmpfs is shared memory: the kernel's
//! NUMA scanner skips it, even if it is mapped privately, unless the object has a policy of its own (`vma_policy_mof`,
//! `shmem_get_policy`). A guest has a ramfs for the files ([`GUEST_DIR`]); on a host they are in a folder for temporary
//! files. A file has no name once it is open, and no data: its pages are allocated when they are read.

use std::ffi::CString;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// Folder for the files in a guest: a ramfs that process 1 mounts.
pub const GUEST_DIR: &str = "/files";

/// `TMPFS_MAGIC` of `linux/magic.h`.
const TMPFS_MAGIC: i64 = 0x0102_1994;

/// A nameless file of `bytes` zero bytes in the page cache of a file system.
///
/// # Errors
/// There is no suitable folder, or the kernel's error in the last one.
pub fn page_cache_file(bytes: u64) -> io::Result<File> {
    let mut last = io::Error::new(
        io::ErrorKind::NotFound,
        format!(
            "none of {GUEST_DIR}, /var/tmp and the folder of TMPDIR is on a file system other than tmpfs: set TMPDIR"
        ),
    );
    for dir in [PathBuf::from(GUEST_DIR), PathBuf::from("/var/tmp"), std::env::temp_dir()] {
        if !has_page_cache(&dir) {
            continue;
        }
        match nameless(&dir, bytes) {
            Ok(file) => return Ok(file),
            Err(e) => last = e,
        }
    }
    Err(last)
}

fn has_page_cache(dir: &Path) -> bool {
    let Ok(path) = CString::new(dir.as_os_str().as_encoded_bytes()) else { return false };
    // SAFETY: statfs is plain data, filled by the call, and `path` is a valid C string.
    unsafe {
        let mut info: libc::statfs = std::mem::zeroed();
        libc::statfs(path.as_ptr(), &mut info) == 0 && info.f_type as i64 != TMPFS_MAGIC
    }
}

/// Files whose names were tried.
static TRIED: AtomicU32 = AtomicU32::new(0);
/// Names that are tried for a file: in a folder that others share, they may have taken some.
const NAMES_MAX: u32 = 100;

fn name(number: u32) -> String {
    format!("numalab-{}-{number}", std::process::id())
}

/// Creates a file under a name that nobody has, for this user alone, and unlinks it at once. Not every file system
/// supports `O_TMPFILE`.
fn nameless(dir: &Path, bytes: u64) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true).mode(0o600);
    let mut last = io::Error::from(io::ErrorKind::AlreadyExists);
    for _ in 0..NAMES_MAX {
        let path = dir.join(name(TRIED.fetch_add(1, Ordering::Relaxed)));
        match options.open(&path) {
            Ok(file) => return unlinked(file, &path, bytes),
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => last = e,
            Err(e) => return Err(e),
        }
    }
    Err(last)
}

fn unlinked(file: File, path: &Path, bytes: u64) -> io::Result<File> {
    std::fs::remove_file(path)?;
    file.set_len(bytes)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsRawFd;

    #[test]
    fn the_file_is_not_shared_memory_and_has_no_name() {
        let file = page_cache_file(1 << 20).unwrap();
        assert_eq!(file.metadata().unwrap().len(), 1 << 20);
        // SAFETY: statfs is plain data, filled by the call; the descriptor is open.
        let kind = unsafe {
            let mut info: libc::statfs = std::mem::zeroed();
            assert_eq!(libc::fstatfs(file.as_raw_fd(), &mut info), 0);
            info.f_type as i64
        };
        assert_ne!(kind, TMPFS_MAGIC);
        let target = std::fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd())).unwrap();
        assert!(target.to_string_lossy().ends_with("(deleted)"), "{target:?}");
        // A second file can exist at the same time.
        assert!(page_cache_file(4096).is_ok());
    }

    #[test]
    fn a_name_that_somebody_has_taken_is_passed_over() {
        let dir = std::env::temp_dir().join(format!("numalab-backing-{}", std::process::id()));
        std::fs::create_dir(&dir).unwrap();
        // Tests at the same time take some numbers too.
        let next = TRIED.load(Ordering::Relaxed);
        (next..next + 20).for_each(|n| std::fs::write(dir.join(name(n)), "theirs").unwrap());
        let file = nameless(&dir, 4096).unwrap();
        assert_eq!(file.metadata().unwrap().len(), 4096);
        (next..next + 20).for_each(|n| assert_eq!(std::fs::read_to_string(dir.join(name(n))).unwrap(), "theirs"));
        std::fs::remove_dir_all(&dir).unwrap();
    }
}
