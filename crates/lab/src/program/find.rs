//! Programs and files by the names that a user gives them.

use super::error::ProgramError;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// A program by its path, or by its name in the folders of `PATH`; the result is absolute.
///
/// # Errors
/// There is none that can be executed.
pub fn program(name: &str) -> Result<PathBuf, ProgramError> {
    let missing = || ProgramError::Missing(name.into());
    let found = match name.contains('/') {
        true => Some(PathBuf::from(name)).filter(|p| is_executable(p)),
        false => in_path(name),
    };
    std::path::absolute(found.ok_or_else(missing)?).map_err(|_| missing())
}

/// A file or directory by its path, or else a program by its name; and whether it is a program by its name.
///
/// # Errors
/// There is none.
pub fn named(name: &str) -> Result<(PathBuf, bool), ProgramError> {
    let missing = || ProgramError::NoFile(name.into());
    let path = Path::new(name);
    let by_name = !name.contains('/') && !path.exists();
    let found = match by_name {
        true => in_path(name),
        false => Some(path.to_path_buf()).filter(|p| p.exists()),
    };
    Ok((std::path::absolute(found.ok_or_else(missing)?).map_err(|_| missing())?, by_name))
}

fn in_path(name: &str) -> Option<PathBuf> {
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders).map(|f| f.join(name)).find(|p| is_executable(p))
}

fn is_executable(path: &Path) -> bool {
    path.metadata().is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
}
