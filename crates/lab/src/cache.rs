//! Where downloads, builds and run directories live, and checksums.
//!
//! Everything kept is under one directory (`NUMALAB_CACHE`, else `XDG_CACHE_HOME/numalab`, else
//! `HOME/.cache/numalab`). Files appear under their final name only when complete. A directory for one run or one build
//! is locked by its owner; one that nobody holds is removed at the next start. Process ids would not do: the owner may
//! be in another container or on another host.

use numalab_model::plan::hex;
use rustix::fs::{flock, FlockOperation};
use rustix::io::Errno;
use sha2::{Digest, Sha256};
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Subdirectory of runs.
const RUNS: &str = "runs";
/// Subdirectory of kernel source trees.
pub const KERNELS: &str = "kernels";
/// Subdirectory of the compiled plugin.
pub const PLUGIN: &str = "plugin";
/// First part of the name of a directory for one run or one build; the process id follows, for who looks there.
const WORK: &str = "run-";

/// The cache directory.
#[derive(Clone, Debug)]
pub struct Cache {
    root: PathBuf,
}

impl Cache {
    /// The user's cache.
    ///
    /// # Errors
    /// No home directory, or it cannot be created.
    pub fn open() -> io::Result<Self> {
        let unset = || io::Error::other("neither NUMALAB_CACHE, XDG_CACHE_HOME nor HOME is set");
        Self::made(&Self::of_user().ok_or_else(unset)?)
    }

    /// [`Cache::at`] with an error that says where, and what chose that place.
    fn made(root: &Path) -> io::Result<Self> {
        Self::at(root).map_err(|e| {
            let expected = "a folder that can be made and written to (NUMALAB_CACHE names another)";
            io::Error::new(e.kind(), format!("{}: {e}; expected {expected}", root.display()))
        })
    }

    /// The user's cache if it is there already: for looking, which makes none.
    pub fn existing() -> Option<Self> {
        let root = Self::of_user()?.canonicalize().ok()?;
        Some(Self { root })
    }

    fn of_user() -> Option<PathBuf> {
        let set = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
        set("NUMALAB_CACHE")
            .or_else(|| set("XDG_CACHE_HOME").map(|d| d.join("numalab")))
            .or_else(|| set("HOME").map(|d| d.join(".cache/numalab")))
    }

    /// A cache at a directory, created if absent.
    ///
    /// # Errors
    /// It cannot be created.
    pub fn at(root: &Path) -> io::Result<Self> {
        fs::create_dir_all(root)?;
        Ok(Self { root: root.canonicalize()? })
    }

    /// Where a subdirectory is or would be.
    pub fn place(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// A subdirectory, created if absent.
    ///
    /// # Errors
    /// It cannot be created.
    pub fn directory(&self, name: &str) -> io::Result<PathBuf> {
        let path = self.root.join(name);
        fs::create_dir_all(&path)?;
        Ok(path)
    }

    /// Holds a lock of this cache; `wait` is called if another process with the same cache holds it, before it is
    /// waited for.
    ///
    /// # Errors
    /// The lock file cannot be made.
    pub fn lock(&self, name: &str, wait: &mut dyn FnMut()) -> io::Result<Lock> {
        let file =
            File::options().create(true).truncate(false).write(true).open(self.root.join(format!("{name}.lock")))?;
        let mut how = FlockOperation::NonBlockingLockExclusive;
        loop {
            match flock(&file, how) {
                Ok(()) => return Ok(Lock { _file: file }),
                Err(Errno::WOULDBLOCK) => {
                    wait();
                    how = FlockOperation::LockExclusive;
                }
                Err(Errno::INTR) => {}
                Err(e) => return Err(e.into()),
            }
        }
    }

    /// A fresh directory for one run, removed when the value is dropped.
    ///
    /// # Errors
    /// It cannot be created.
    pub fn run_directory(&self) -> io::Result<WorkDirectory> {
        self.work_directory(RUNS)
    }

    /// A fresh directory in a subdirectory, for what is moved out of it when it is complete; removed when the value is
    /// dropped, or by [`Cache::sweep`] after a crash.
    ///
    /// # Errors
    /// It cannot be created.
    pub fn work_directory(&self, name: &str) -> io::Result<WorkDirectory> {
        let prefix = format!("{WORK}{}-", std::process::id());
        let parent = self.directory(name)?;
        loop {
            let directory = tempfile::Builder::new().prefix(&prefix).tempdir_in(&parent)?;
            if let Some(lock) = own(directory.path())? {
                return Ok(WorkDirectory { directory, _lock: lock });
            }
        }
    }

    /// Removes the directories of runs and builds that nobody holds; returns how many.
    ///
    /// # Errors
    /// A directory cannot be listed.
    pub fn sweep(&self) -> io::Result<usize> {
        let mut removed = 0;
        for name in [RUNS, KERNELS, PLUGIN] {
            for entry in fs::read_dir(self.directory(name)?)? {
                let entry = entry?;
                if !entry.file_name().to_string_lossy().starts_with(WORK) {
                    continue;
                }
                let path = entry.path();
                let Ok(file) = File::open(&path) else { continue };
                // Where there are no locks, nothing is known of an owner. The lock is held while the directory goes.
                if flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok() && fs::remove_dir_all(&path).is_ok() {
                    removed += 1;
                }
            }
        }
        Ok(removed)
    }
}

/// A directory for one run or one build: its owner's alone, and removed when the value is dropped.
#[derive(Debug)]
pub struct WorkDirectory {
    // Removed before the lock is given back.
    directory: tempfile::TempDir,
    _lock: File,
}

impl WorkDirectory {
    /// Where it is.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }
}

/// Locks a directory just made; `None` if [`Cache::sweep`] of another process was faster. The lock is on the directory
/// itself, so that it leaves no file behind. A file system without locks gives none: nothing is swept there.
fn own(directory: &Path) -> io::Result<Option<File>> {
    let file = match File::open(directory) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened?,
    };
    let taken = flock(&file, FlockOperation::NonBlockingLockExclusive) == Err(Errno::WOULDBLOCK);
    // Its name is never used again: whoever could lock it before is done with removing it.
    Ok((!taken && directory.is_dir()).then_some(file))
}

/// A held lock; given back when dropped, also by a crash.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

/// SHA-256 of a file, hexadecimal.
///
/// # Errors
/// It cannot be read.
pub fn sha256_file(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        let n = file.read(&mut buffer)?;
        if n == 0 {
            return Ok(hex(&hash.finalize()));
        }
        hash.update(&buffer[..n]);
    }
}

/// SHA-256 of bytes, hexadecimal.
pub fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// Writes a file so that it is either absent or complete under its name.
///
/// # Errors
/// It cannot be written.
pub fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let directory = path.parent().unwrap_or(Path::new("."));
    let mut temporary = tempfile::NamedTempFile::new_in(directory)?;
    io::Write::write_all(&mut temporary, bytes)?;
    temporary.persist(path).map(|_| ()).map_err(|e| e.error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_are_the_standard_ones() {
        // FIPS 180-2, appendix B.1.
        assert_eq!(sha256(b"abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("x");
        write_whole(&path, b"abc").unwrap();
        assert_eq!(sha256_file(&path).unwrap(), sha256(b"abc"));
    }

    #[test]
    fn a_cache_that_cannot_be_made_says_where() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let e = Cache::made(file.path()).err().unwrap().to_string();
        assert!(e.starts_with(&format!("{}: ", file.path().display())) && e.contains("NUMALAB_CACHE"), "{e}");
    }

    #[test]
    fn a_lock_is_held_by_one_at_a_time() {
        let directory = tempfile::tempdir().unwrap();
        let cache = Cache::at(directory.path()).unwrap();
        let inside = std::sync::atomic::AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let _lock = cache.lock("x", &mut || {}).unwrap();
                    assert_eq!(inside.fetch_add(1, std::sync::atomic::Ordering::SeqCst), 0);
                    std::thread::sleep(std::time::Duration::from_millis(5));
                    inside.fetch_sub(1, std::sync::atomic::Ordering::SeqCst);
                });
            }
        });
    }

    #[test]
    fn whoever_has_to_wait_for_a_lock_is_told() {
        let directory = tempfile::tempdir().unwrap();
        let cache = Cache::at(directory.path()).unwrap();
        let held = std::sync::Mutex::new(Some(cache.lock("x", &mut || panic!("nobody holds it")).unwrap()));
        let mut told = 0;
        cache
            .lock("x", &mut || {
                told += 1;
                drop(held.lock().unwrap().take());
            })
            .unwrap();
        assert_eq!(told, 1);
    }

    #[test]
    fn only_leftovers_that_nobody_holds_are_swept() {
        let directory = tempfile::tempdir().unwrap();
        let cache = Cache::at(directory.path()).unwrap();
        let mine = cache.run_directory().unwrap();
        // Process ids end below 2^22 on Linux; 1 always runs, and may be another program's id in another container.
        let left = [(RUNS, 999_999_999), (KERNELS, 1)].map(|(d, pid)| {
            let path = cache.directory(d).unwrap().join(format!("run-{pid}-x"));
            fs::create_dir_all(path.join("tree")).unwrap();
            path
        });
        // Held by a process that is not seen from here.
        let far = cache.directory(RUNS).unwrap().join("run-999999998-x");
        fs::create_dir(&far).unwrap();
        let held = own(&far).unwrap().unwrap();
        let tree = cache.directory(KERNELS).unwrap().join("linux-source-6.12_6.12.9-1");
        fs::create_dir(&tree).unwrap();
        let build = cache.work_directory(KERNELS).unwrap();
        assert_eq!(cache.sweep().unwrap(), 2);
        assert!(mine.path().exists() && build.path().exists() && tree.exists() && far.exists());
        assert!(left.iter().all(|d| !d.exists()));
        drop(held);
        let kept = mine.path().to_path_buf();
        drop(mine);
        assert!(!kept.exists());
    }

    #[test]
    fn a_directory_that_is_being_swept_is_not_taken() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("run-1-x");
        assert!(own(&path).unwrap().is_none(), "gone already");
        fs::create_dir(&path).unwrap();
        let sweeper = own(&path).unwrap();
        assert!(sweeper.is_some() && own(&path).unwrap().is_none());
    }

    #[test]
    fn nobody_loses_a_directory_to_those_who_sweep() {
        let directory = tempfile::tempdir().unwrap();
        let cache = Cache::at(directory.path()).unwrap();
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    for _ in 0..200 {
                        let work = cache.run_directory().unwrap();
                        fs::write(work.path().join("x"), "").unwrap();
                    }
                });
                scope.spawn(|| {
                    for _ in 0..200 {
                        // At most it takes what is not its maker's yet.
                        cache.sweep().unwrap();
                    }
                });
            }
        });
    }
}
