//! The cache directory for downloads, builds and runs, and checksums of files.
//!
//! Everything that is kept is under one directory (`NUMALAB_CACHE`, else `XDG_CACHE_HOME/numalab`, else
//! `HOME/.cache/numalab`). Files appear under their final name only when they are complete. A directory for one run or
//! one build is locked by its owner; an unlocked one is removed at the next start. Process ids cannot replace the lock:
//! the owner may be in another container or on another host.

use numalab_model::files::{input, output};
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
/// Subdirectory of kernel images, and the lock that former releases hold while they prepare one.
pub const IMAGES: &str = "images";
/// Subdirectory of the locks, each of one image.
const LOCKS: &str = "locks";
/// Subdirectory of files that are not complete yet, each in a locked directory.
pub const UNFINISHED: &str = "unfinished";
/// Subdirectory of the compiled plugin.
pub const PLUGIN: &str = "plugin";
/// First part of the name of a directory for one run or one build. The process id follows, for people who look there.
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
        Self::create(&Self::of_user().ok_or_else(unset)?)
    }

    /// [`Cache::at`] with an error that names the directory and the variable that chooses it.
    fn create(root: &Path) -> io::Result<Self> {
        Self::at(root).map_err(|e| {
            let expected = "a folder that can be made and written to (NUMALAB_CACHE names another)";
            io::Error::new(e.kind(), format!("{}: {e}; expected {expected}", root.display()))
        })
    }

    /// The user's cache if it exists already; nothing is created.
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

    /// A cache at a directory, which is created if absent.
    ///
    /// # Errors
    /// It cannot be created.
    pub fn at(root: &Path) -> io::Result<Self> {
        fs::create_dir_all(root)?;
        Ok(Self { root: root.canonicalize()? })
    }

    /// Path of a subdirectory, which need not exist.
    pub fn path_of(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// Path of a subdirectory, which is created if absent.
    ///
    /// # Errors
    /// It cannot be created.
    pub fn directory(&self, name: &str) -> io::Result<PathBuf> {
        let path = self.root.join(name);
        fs::create_dir_all(&path)?;
        Ok(path)
    }

    /// Takes a lock of this cache. If another process with the same cache holds it, `wait` is called once before the
    /// call blocks.
    ///
    /// # Errors
    /// The lock file cannot be made.
    pub fn lock(&self, name: &str, wait: &mut dyn FnMut()) -> io::Result<Lock> {
        let file = lock_file(&self.directory(LOCKS)?.join(name))?;
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

    /// A new directory for one run; dropping the value removes it.
    ///
    /// # Errors
    /// It cannot be created.
    pub fn run_directory(&self) -> io::Result<WorkDirectory> {
        self.work_directory(RUNS)
    }

    /// A new directory below the subdirectory `name`, for files that are moved away when they are complete. Dropping
    /// the value removes it, and [`Cache::sweep`] removes it after a crash.
    ///
    /// # Errors
    /// It cannot be created.
    pub fn work_directory(&self, name: &str) -> io::Result<WorkDirectory> {
        let prefix = format!("{WORK}{}-", std::process::id());
        let parent = self.directory(name)?;
        loop {
            let directory = tempfile::Builder::new().prefix(&prefix).tempdir_in(&parent)?;
            if let Some(lock) = lock_new(directory.path())? {
                return Ok(WorkDirectory { directory, _lock: lock });
            }
        }
    }

    /// Removes the directories of runs and builds whose lock is free; returns how many.
    ///
    /// # Errors
    /// A directory cannot be listed.
    pub fn sweep(&self) -> io::Result<usize> {
        let mut removed = 0;
        for name in [RUNS, KERNELS, PLUGIN, UNFINISHED] {
            for entry in fs::read_dir(self.directory(name)?)? {
                let entry = entry?;
                if !entry.file_name().to_string_lossy().starts_with(WORK) {
                    continue;
                }
                let path = entry.path();
                let Ok(file) = File::open(&path) else { continue };
                // On a file system without locks nothing is removed, because the owner cannot be known. The lock is
                // held while the directory is removed.
                if flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok() && fs::remove_dir_all(&path).is_ok() {
                    removed += 1;
                }
            }
        }
        Ok(removed)
    }

    /// Writes a file of the cache atomically: under its name it is either as before or complete.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn write_whole(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let work = self.work_directory(UNFINISHED)?;
        let unfinished = work.path().join("file");
        output::create(&unfinished, bytes)?;
        fs::rename(&unfinished, path)
    }

    /// Removes unfinished files from among the images, where former releases leave them when they are killed. Such a
    /// release holds the lock of all images while it writes, and then nothing is removed.
    pub fn remove_former_leftovers(&self) {
        let lock = lock_file(&self.root.join(format!("{IMAGES}.lock")));
        let Ok(lock) = lock else { return };
        if flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err() {
            return;
        }
        let entries = |d: &Path| fs::read_dir(d).into_iter().flatten().flatten().map(|e| e.path()).collect::<Vec<_>>();
        let mut folders = vec![self.path_of(IMAGES)];
        folders.extend(entries(&folders[0]).into_iter().filter(|p| p.is_dir()));
        for path in folders.iter().flat_map(|f| entries(f)) {
            if path.file_name().is_some_and(|n| is_temporary(&n.to_string_lossy())) {
                // After an error the next call tries again.
                let _ = fs::remove_file(path);
            }
        }
    }
}

/// Whether a file name is one that the library for temporary files makes: `.tmp` and six letters or digits.
fn is_temporary(name: &str) -> bool {
    name.strip_prefix(".tmp").is_some_and(|n| n.len() == 6 && n.bytes().all(|b| b.is_ascii_alphanumeric()))
}

/// A locked directory for one run or one build; dropping the value removes it.
#[derive(Debug)]
pub struct WorkDirectory {
    // Declared first: it is removed before the lock is released.
    directory: tempfile::TempDir,
    _lock: File,
}

impl WorkDirectory {
    /// Path of the directory.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }
}

/// Locks a directory that was just created; `None` if [`Cache::sweep`] of another process has locked or removed it. The
/// lock is on the directory itself, so it leaves no file behind. A file system without locks is tolerated, because
/// [`Cache::sweep`] removes nothing there.
fn lock_new(directory: &Path) -> io::Result<Option<File>> {
    let file = match File::open(directory) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened?,
    };
    let taken = flock(&file, FlockOperation::NonBlockingLockExclusive) == Err(Errno::WOULDBLOCK);
    // A sweep that locked it before has removed it by now, and its name is never used again.
    Ok((!taken && directory.is_dir()).then_some(file))
}

/// Opens a file for a lock, and makes it if it is not there.
fn lock_file(path: &Path) -> io::Result<File> {
    File::options().create(true).truncate(false).write(true).open(path)
}

/// A held lock; dropping it, or a crash, releases it.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

/// SHA-256 of a file, hexadecimal.
///
/// # Errors
/// It cannot be read.
pub fn sha256_file(path: &Path) -> io::Result<String> {
    sha256_of(input::open(path, u64::MAX)?)
}

/// SHA-256 of the rest of a file, hexadecimal.
///
/// # Errors
/// It cannot be read.
pub fn sha256_of(mut file: File) -> io::Result<String> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_are_the_standard_ones() {
        // FIPS 180-2, appendix B.1.
        assert_eq!(sha256(b"abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("x");
        Cache::at(&directory.path().join("c")).unwrap().write_whole(&path, b"abc").unwrap();
        assert_eq!(sha256_file(&path).unwrap(), sha256(b"abc"));
    }

    #[test]
    fn a_cache_that_cannot_be_created_is_named() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let e = Cache::create(file.path()).err().unwrap().to_string();
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
    fn waiting_for_a_lock_is_reported_once() {
        let directory = tempfile::tempdir().unwrap();
        let cache = Cache::at(directory.path()).unwrap();
        let held = std::sync::Mutex::new(Some(cache.lock("x", &mut || panic!("the lock is free")).unwrap()));
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
    fn only_unlocked_directories_are_swept() {
        let directory = tempfile::tempdir().unwrap();
        let cache = Cache::at(directory.path()).unwrap();
        let mine = cache.run_directory().unwrap();
        // Process ids end below 2^22 on Linux. Process 1 always runs, and has another meaning in another container.
        let left = [(RUNS, 999_999_999), (KERNELS, 1)].map(|(d, pid)| {
            let path = cache.directory(d).unwrap().join(format!("run-{pid}-x"));
            fs::create_dir_all(path.join("tree")).unwrap();
            path
        });
        // Locked by a process whose id is unknown here.
        let far = cache.directory(RUNS).unwrap().join("run-999999998-x");
        fs::create_dir(&far).unwrap();
        let held = lock_new(&far).unwrap().unwrap();
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
    fn unfinished_files_do_not_stay() {
        let directory = tempfile::tempdir().unwrap();
        let cache = Cache::at(directory.path()).unwrap();
        let images = cache.directory("images/by-sha256").unwrap();
        let [left, kept] = [".tmpAb3dE9", "0123.vmlinuz"].map(|name| images.join(name));
        for path in [&left, &kept] {
            fs::write(path, "x").unwrap();
        }
        let former = lock_file(&directory.path().join("images.lock")).unwrap();
        flock(&former, FlockOperation::LockExclusive).unwrap();
        cache.remove_former_leftovers();
        assert!(left.exists(), "a former release is writing it");
        drop(former);
        cache.remove_former_leftovers();
        assert!(!left.exists() && kept.exists());
        // What is written now lies in a locked folder until it is complete.
        let dead = cache.directory(UNFINISHED).unwrap().join("run-999999999-x");
        fs::create_dir(&dead).unwrap();
        fs::write(dead.join("vmlinuz"), "half").unwrap();
        let live = cache.work_directory(UNFINISHED).unwrap();
        assert_eq!(cache.sweep().unwrap(), 1);
        assert!(!dead.exists() && live.path().exists());
        cache.write_whole(&kept, b"new").unwrap();
        assert_eq!(fs::read(&kept).unwrap(), b"new");
        assert_eq!(fs::read_dir(cache.path_of(UNFINISHED)).unwrap().count(), 1, "only the live one");
    }

    #[test]
    fn a_directory_that_is_being_swept_is_not_taken() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("run-1-x");
        assert!(lock_new(&path).unwrap().is_none(), "gone already");
        fs::create_dir(&path).unwrap();
        let sweeper = lock_new(&path).unwrap();
        assert!(sweeper.is_some() && lock_new(&path).unwrap().is_none());
    }

    #[test]
    fn a_sweep_never_removes_a_locked_directory() {
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
                        // It may take a directory that is created but not yet locked.
                        cache.sweep().unwrap();
                    }
                });
            }
        });
    }
}
