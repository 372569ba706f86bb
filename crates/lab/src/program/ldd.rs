//! The libraries of programs, as the loader of this machine finds them (`ldd`).

use super::error::ProgramError;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Loader and libraries of a program or a library; none for one that is linked statically.
///
/// # Errors
/// A library is missing, or there is no `ldd`.
pub fn libraries(file: &Path) -> Result<Vec<PathBuf>, ProgramError> {
    let output = Command::new("ldd").arg(file).env("LC_ALL", "C").output();
    let output =
        output.map_err(|e| ProgramError::Unreadable(format!("ldd: {e}; expected it from package libc-bin")))?;
    parse(file, &String::from_utf8_lossy(&output.stdout))
}

/// Reads the output of `ldd`: `name => /path (address)`, `/path (address)`, `name => not found`.
fn parse(file: &Path, text: &str) -> Result<Vec<PathBuf>, ProgramError> {
    let mut out = Vec::new();
    for line in text.lines() {
        let line = line.trim();
        let (name, place) = line.split_once(" => ").unwrap_or((line, line));
        if place == "not found" {
            return Err(ProgramError::Library { program: file.display().to_string(), library: name.into() });
        }
        let path = place.rsplit_once(" (0x").map_or(place, |p| p.0);
        if path.starts_with('/') && line.contains(" (0x") {
            out.push(PathBuf::from(path));
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_ldd() {
        let text = "\tlinux-vdso.so.1 (0x00007ffe1)\n\tlibc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f1)\n\
                    \t/lib64/ld-linux-x86-64.so.2 (0x00007f2)\n";
        let want = ["/lib/x86_64-linux-gnu/libc.so.6", "/lib64/ld-linux-x86-64.so.2"].map(PathBuf::from);
        assert_eq!(parse(Path::new("/p"), text), Ok(want.to_vec()));
        assert_eq!(parse(Path::new("/p"), "\tstatically linked\n"), Ok(vec![]));
        let missing = parse(Path::new("/p"), "\tlibno.so.1 => not found\n").unwrap_err().to_string();
        assert!(missing.contains("/p needs the library libno.so.1"), "{missing}");
    }
}
