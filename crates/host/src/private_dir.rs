//! A folder in which nobody else decides what is read and written: runtime state of a program.
//!
//! Problem: in a folder that others may write, they can put a link where a file is to be written (CWE-59). Where one is
//! read, they can put a file of theirs (CWE-377).
//! Approach: the folder is opened once, its owner and mode are checked, and every file is opened relative to it,
//! without following links. What was opened must be a regular file of this user.
//! Invariants: nothing is read from or written to a file of another user. No read waits: pipes and devices are refused.

use rustix::fs::{FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use rustix::process::geteuid;
use std::ffi::OsString;
use std::fs::{DirBuilder, File};
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// Why a folder or a file is not used.
#[derive(Debug, thiserror::Error)]
pub enum Refused {
    /// The system refuses.
    #[error("{path}: {error}; expected a folder, and a file in it, that this user may use")]
    System {
        /// What was used.
        path: String,
        /// The system's error.
        error: io::Error,
    },
    /// It is a symbolic link.
    #[error("{0}: is a symbolic link; expected the path that it stands for")]
    Link(String),
    /// It belongs to another user.
    #[error("{path}: belongs to user {owner}; expected user {own}, since its owner could change it at any time")]
    Owner {
        /// What was opened.
        path: String,
        /// Its owner.
        owner: u32,
        /// This user.
        own: u32,
    },
    /// Others may put files there.
    #[error("{path}: other users may write to this folder (mode {mode:o}); expected one of your own (`chmod go-w`)")]
    Writable {
        /// The folder.
        path: String,
        /// Its mode.
        mode: u32,
    },
    /// It is no regular file.
    #[error("{0}: is no regular file; expected one, or a name that is free")]
    Kind(String),
    /// It is too large.
    #[error("{path}: has more than {limit_bytes} bytes; expected a smaller file")]
    Size {
        /// The file.
        path: String,
        /// Largest size, bytes.
        limit_bytes: u64,
    },
}

/// A folder that was checked.
#[derive(Debug)]
pub struct PrivateDir {
    path: PathBuf,
    dir: OwnedFd,
    /// It belongs to this user and nobody else may write to it.
    is_own: bool,
}

/// Files are opened so that nothing waits and no link is followed.
const CAREFUL: OFlags = OFlags::NOFOLLOW.union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC);
/// Mode of files that are made.
const OWN_ONLY: Mode = Mode::RUSR.union(Mode::WUSR);
/// Bits of a mode by which group and others may write.
const OTHERS_WRITE: u32 = 0o022;
/// Bit of a folder's mode by which nobody may remove or replace the files of others.
const STICKY: u32 = 0o1000;

impl PrivateDir {
    /// Opens the folder `path`, which must belong to this user or to root. If others may write to it, it must be
    /// sticky, as `/tmp` is. A link is followed only if it is root's, as those of systemd are for services with
    /// `DynamicUser`.
    ///
    /// # Errors
    /// There is none, or it is not such a folder.
    pub fn open(path: &Path) -> Result<Self, Refused> {
        let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        let shown = path.display().to_string();
        let system = |error: Errno| Refused::System { path: shown.clone(), error: error.into() };
        let dir = open_folder(path).map_err(system)?.ok_or_else(|| Refused::Link(shown.clone()))?;
        let stat = rustix::fs::fstat(&dir).map_err(system)?;
        let (own, mode) = (user(), stat.st_mode & 0o7777);
        if stat.st_uid != own && stat.st_uid != 0 {
            return Err(Refused::Owner { path: shown, owner: stat.st_uid, own });
        }
        let is_shared = mode & OTHERS_WRITE != 0;
        if is_shared && mode & STICKY == 0 {
            return Err(Refused::Writable { path: shown, mode });
        }
        Ok(Self { path: path.into(), dir, is_own: stat.st_uid == own && !is_shared })
    }

    /// Makes the folder, and those above it, for this user alone if there is none, and opens it.
    ///
    /// # Errors
    /// It cannot be made, or [`PrivateDir::open`] refuses it.
    pub fn create(path: &Path) -> Result<Self, Refused> {
        if !path.as_os_str().is_empty() {
            let made = DirBuilder::new().recursive(true).mode(0o700).create(path);
            made.map_err(|error| Refused::System { path: path.display().to_string(), error })?;
        }
        Self::open(path)
    }

    /// Whether it belongs to this user, and nobody else may write to it.
    pub fn is_own(&self) -> bool {
        self.is_own
    }

    /// The contents of a file; `None` if there is none.
    ///
    /// # Errors
    /// It is a link, no regular file, of another user, has more than `limit_bytes`, or cannot be read.
    pub fn read(&self, name: &str, limit_bytes: u64) -> Result<Option<Vec<u8>>, Refused> {
        let Some(file) = self.file(name, OFlags::RDONLY)? else { return Ok(None) };
        let mut bytes = Vec::new();
        file.take(limit_bytes + 1).read_to_end(&mut bytes).map_err(|error| self.system(name, error))?;
        if bytes.len() as u64 > limit_bytes {
            return Err(Refused::Size { path: self.shown(name), limit_bytes });
        }
        Ok(Some(bytes))
    }

    /// A file that exists, opened for reading, for a lock; `None` if there is none.
    ///
    /// # Errors
    /// As of [`PrivateDir::read`].
    pub fn existing(&self, name: &str) -> Result<Option<File>, Refused> {
        self.file(name, OFlags::RDONLY)
    }

    /// A file for a lock, which is made if there is none.
    ///
    /// # Errors
    /// As of [`PrivateDir::read`].
    pub fn lock_file(&self, name: &str) -> Result<File, Refused> {
        let file = self.file(name, OFlags::RDWR | OFlags::CREATE)?;
        file.ok_or_else(|| self.system(name, Errno::NOENT.into()))
    }

    /// Replaces a file. It is complete at every moment, and on disk when this returns.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn replace(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let partial = format!("{name}.{}.partial", std::process::id());
        // One of an earlier process with this id can be left.
        self.remove(&partial)?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | CAREFUL;
        let mut file = File::from(rustix::fs::openat(&self.dir, &partial, flags, OWN_ONLY)?);
        let written = file.write_all(bytes).and_then(|()| file.sync_all());
        let done = written.and_then(|()| Ok(rustix::fs::renameat(&self.dir, &partial, &self.dir, name)?));
        if done.is_err() {
            let _ = self.remove(&partial);
        }
        done
    }

    /// Removes a file. That there is none is no error.
    ///
    /// # Errors
    /// It cannot be removed.
    pub fn remove(&self, name: &str) -> io::Result<()> {
        match rustix::fs::unlinkat(&self.dir, name, rustix::fs::AtFlags::empty()) {
            Err(e) if e != Errno::NOENT => Err(e.into()),
            _ => Ok(()),
        }
    }

    /// Opens a regular file of this user; `None` if there is none and `flags` do not make it.
    fn file(&self, name: &str, flags: OFlags) -> Result<Option<File>, Refused> {
        // A look before: to open a device can do something already.
        match rustix::fs::statat(&self.dir, name, rustix::fs::AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => self.check(name, &stat)?,
            Err(Errno::NOENT) if !flags.contains(OFlags::CREATE) => return Ok(None),
            Err(Errno::NOENT) => {}
            Err(e) => return Err(self.system(name, e.into())),
        }
        let file = match rustix::fs::openat(&self.dir, name, flags | CAREFUL, OWN_ONLY) {
            Ok(file) => File::from(file),
            Err(Errno::LOOP) => return Err(Refused::Link(self.shown(name))),
            Err(e) => return Err(self.system(name, e.into())),
        };
        let stat = rustix::fs::fstat(&file).map_err(|e| self.system(name, e.into()))?;
        self.check(name, &stat)?;
        Ok(Some(file))
    }

    fn check(&self, name: &str, stat: &Stat) -> Result<(), Refused> {
        let own = user();
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::Symlink => Err(Refused::Link(self.shown(name))),
            FileType::RegularFile if stat.st_uid == own => Ok(()),
            FileType::RegularFile => Err(Refused::Owner { path: self.shown(name), owner: stat.st_uid, own }),
            _ => Err(Refused::Kind(self.shown(name))),
        }
    }

    fn shown(&self, name: &str) -> String {
        self.path.join(name).display().to_string()
    }

    fn system(&self, name: &str, error: io::Error) -> Refused {
        Refused::System { path: self.shown(name), error }
    }
}

/// Opens a folder, or what a link of root's stands for; `None` for a link of somebody else.
fn open_folder(path: &Path) -> rustix::io::Result<Option<OwnedFd>> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let look = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let found = rustix::fs::open(path, look, Mode::empty())?;
    let stat = rustix::fs::fstat(&found)?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::Symlink {
        return rustix::fs::open(path, flags, Mode::empty()).map(Some);
    }
    if stat.st_uid != 0 {
        return Ok(None);
    }
    // The link that was looked at is read, not one that stands there now.
    let target = OsString::from_vec(rustix::fs::readlinkat(&found, "", Vec::new())?.into_bytes());
    let target = path.parent().unwrap_or(Path::new("")).join(target);
    rustix::fs::open(target, flags, Mode::empty()).map(Some)
}

/// The user whose rights this process has.
pub fn user() -> u32 {
    geteuid().as_raw()
}

/// Folder for the runtime state of numalab, which a reboot empties. `run` is `/run`.
///
/// It is `$RUNTIME_DIRECTORY` of a service of systemd, and `numalab` in `run` for root. Other users have `numalab` in
/// `$XDG_RUNTIME_DIR`, or in `user/UID` of `run`, if that is theirs alone. `None` if there is no such folder.
pub fn runtime_folder(env: impl Fn(&str) -> Option<OsString>, uid: u32, run: &Path) -> Option<PathBuf> {
    // With several folders, systemd separates them by colons.
    let of_service = env("RUNTIME_DIRECTORY").and_then(|dirs| {
        let dirs = dirs.into_string().ok()?;
        dirs.split(':').next().filter(|d| d.starts_with('/')).map(PathBuf::from)
    });
    if of_service.is_some() {
        return of_service;
    }
    if uid == 0 {
        return Some(run.join("numalab"));
    }
    let of_session = env("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|d| d.is_absolute());
    let own = |d: &PathBuf| PrivateDir::open(d).is_ok_and(|d| d.is_own());
    let found = of_session.into_iter().chain([run.join(format!("user/{uid}"))]).find(own);
    found.map(|d| d.join("numalab"))
}

#[cfg(test)]
mod tests;
