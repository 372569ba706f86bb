//! The switch of the kernel, and putting it back.

use super::{file_error, guardian::Guardian, Error, Way};
use std::path::{Path, PathBuf};
use std::process::Command;

/// `kernel.numa_balancing` with its value before the session.
#[derive(Debug)]
pub struct Switch {
    file: PathBuf,
    before: String,
    guardian: Guardian,
}

/// File of the switch below `root`.
pub fn file(root: &Path) -> PathBuf {
    root.join("proc/sys/kernel/numa_balancing")
}

/// The state of the switch: on if any mode is.
///
/// # Errors
/// The kernel has no such switch, or it cannot be read.
pub fn state(root: &Path) -> Result<Way, Error> {
    let file = file(root);
    let text = std::fs::read_to_string(&file).map_err(|e| file_error(&file, e))?;
    Ok(if text.trim() == "0" { Way::Off } else { Way::On })
}

impl Switch {
    /// Takes charge of the switch below `root`, with a guardian that puts it back when this process ends.
    ///
    /// # Errors
    /// There is no switch, this user may not write it, or the guardian does not start.
    pub fn take(root: &Path, mut guardian: Guardian) -> Result<Self, Error> {
        let file = file(root);
        let before = std::fs::read_to_string(&file).map_err(|e| file_error(&file, e))?.trim().to_string();
        let writable = std::fs::OpenOptions::new().write(true).open(&file);
        writable.map_err(|e| file_error(&file, e))?;
        guardian.restore_at_end(&file, &before)?;
        Ok(Self { file, before, guardian })
    }

    /// Sets it for a way: on or off as the way says, and for other ways as it was before.
    ///
    /// # Errors
    /// The kernel refuses, or the guardian is gone.
    pub fn set(&mut self, way: &Way) -> Result<(), Error> {
        let value = match way {
            Way::Off => "0",
            // A mode beside 1 is memory tiering, and stays what it was.
            Way::On if self.before == "0" => "1",
            _ => &self.before,
        };
        self.guardian.is_there()?;
        let now = std::fs::read_to_string(&self.file).map_err(|e| file_error(&self.file, e))?;
        if now.trim() == value {
            return Ok(());
        }
        std::fs::write(&self.file, value).map_err(|e| file_error(&self.file, e))
    }

    /// See [`Guardian::ends_with_session`].
    ///
    /// # Errors
    /// The guardian is gone.
    pub fn ends_with_session(&self, command: &mut Command) -> Result<(), Error> {
        self.guardian.ends_with_session(command)
    }

    /// The guardian.
    pub fn guardian(&mut self) -> &mut Guardian {
        &mut self.guardian
    }
}

impl Drop for Switch {
    /// Puts the switch back. The guardian does the same a moment later, and finds it done.
    fn drop(&mut self) {
        let _ = std::fs::write(&self.file, &self.before);
    }
}
