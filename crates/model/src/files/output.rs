//! Writing a file in place of whatever has its name: completely or not at all, and never through a link.

use std::fs::{File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// First part of the name of an unfinished file. The id of its process is the last part.
pub const PARTIAL: &str = ".partial-";

/// Permissions of a new file, before the process's umask.
const NEW_FILE_MODE: u32 = 0o666;

/// A file that takes its name when it is complete. Until then it has another name in the same folder. Dropping the
/// value removes it.
#[derive(Debug)]
pub struct Replacement {
    unfinished: NamedTempFile,
    place: PathBuf,
}

impl Replacement {
    /// Begins the file that is to have the name `place`. Its own name is new: a link that was put there is an error.
    ///
    /// # Errors
    /// The folder is not there, or nothing can be written to it.
    pub fn new(place: &Path) -> io::Result<Self> {
        let folder = place.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let owner = format!("-{}", std::process::id());
        let mut name = tempfile::Builder::new();
        name.prefix(PARTIAL).suffix(&owner).permissions(Permissions::from_mode(NEW_FILE_MODE));
        Ok(Self { unfinished: name.tempfile_in(folder)?, place: place.into() })
    }

    /// The unfinished file.
    pub fn file(&self) -> &File {
        self.unfinished.as_file()
    }

    /// Waits until the file is on the device and gives it its name. A link of that name is replaced, and what it points
    /// to stays.
    ///
    /// # Errors
    /// The device is full, or the name is that of a folder.
    pub fn keep(self) -> io::Result<()> {
        // Some file systems report that they are full only when the file reaches the disk.
        self.unfinished.as_file().sync_all()?;
        self.unfinished.persist(&self.place).map(drop).map_err(|e| e.error)
    }
}

impl Write for Replacement {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file().write(bytes)
    }
    fn flush(&mut self) -> io::Result<()> {
        self.file().flush()
    }
}

/// Writes a file in place of whatever has its name: under that name is either what was there or all of `bytes`.
///
/// # Errors
/// As [`Replacement::new`] and [`Replacement::keep`].
pub fn replace(place: &Path, bytes: &[u8]) -> io::Result<()> {
    let new = Replacement::new(place)?;
    new.file().write_all(bytes)?;
    new.keep()
}

/// Writes a new file and waits until it is on the device.
///
/// # Errors
/// The name is taken, also by a link that points nowhere, or the file system refuses.
pub fn create(place: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = File::create_new(place)?;
    file.write_all(bytes)?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_link_is_replaced_and_never_followed() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        std::fs::write(at("victim"), "precious").unwrap();
        symlink(at("victim"), at("out")).unwrap();
        assert!(create(&at("out"), b"new").is_err(), "no new file");
        replace(&at("out"), b"new").unwrap();
        assert_eq!(std::fs::read(at("victim")).unwrap(), b"precious");
        assert!(std::fs::symlink_metadata(at("out")).unwrap().is_file());
        assert_eq!(std::fs::read(at("out")).unwrap(), b"new");
        // As every other program makes them, within the umask.
        std::fs::write(at("plain"), "").unwrap();
        let mode = |name: &str| std::fs::metadata(at(name)).unwrap().permissions().mode();
        assert_eq!(mode("out"), mode("plain"));
        // What is given up leaves nothing.
        drop(Replacement::new(&at("other")).unwrap());
        std::fs::create_dir(at("folder")).unwrap();
        assert!(replace(&at("folder"), b"x").is_err());
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 4);
    }
}
