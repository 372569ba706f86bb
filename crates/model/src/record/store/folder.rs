//! The directory of an experiment in the file system: whether it is ours, what it holds, and who may write there.

use super::error::RecordError;
use super::names::{goes_with_records, is_partial, is_short_id, EXPERIMENT, MANIFEST, PARTIAL};
use rustix::fs::{flock, FlockOperation};
use rustix::io::Errno;
use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::thread;
use std::time::Duration;

/// The right to write into a directory. It ends with this value, and with the process however the process ends.
#[derive(Debug)]
pub(super) struct Lock(#[allow(dead_code)] File);

/// Takes the right to write into `dir`.
///
/// The lock is on the directory itself, so it leaves no file behind. On a file system without locks every caller gets
/// the right: there two commands can lose each other's list of runs, but never a record.
///
/// # Errors
/// Another process has the right, or `dir` cannot be opened.
pub(super) fn lock(dir: &Path) -> Result<Lock, RecordError> {
    let file = File::open(dir).map_err(|e| RecordError::unwritable(dir, &e))?;
    for _ in 0..TRIES {
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) => thread::sleep(BETWEEN_TRIES),
            _ => return Ok(Lock(file)),
        }
    }
    Err(RecordError::Busy { path: dir.into() })
}

/// How often the right is asked for. A process that this one has forked holds what this one has given back, until it
/// executes its program.
const TRIES: u32 = 20;
/// Time between two of them.
const BETWEEN_TRIES: Duration = Duration::from_millis(10);

/// Creates `dir`, or accepts it if it is empty or holds nothing but records and what belongs to them.
///
/// # Errors
/// `dir` is a file or holds other files, or the file system refuses.
pub(super) fn claim(dir: &Path) -> Result<(), RecordError> {
    check_free(dir)?;
    fs::create_dir_all(dir).map_err(|e| RecordError::unwritable(dir, &e))
}

/// As [`claim`], without creating anything.
///
/// # Errors
/// See [`claim`].
pub(super) fn check_free(dir: &Path) -> Result<(), RecordError> {
    if let Some(file) = dir.ancestors().find(|p| p.exists()).filter(|p| !p.is_dir()) {
        return Err(RecordError::Io { path: file.into(), why: "a file; expected a directory".into() });
    }
    if !dir.exists() {
        return Ok(());
    }
    let refused = |e: io::Error| RecordError::unwritable(dir, &e);
    let lost = holds_records(dir);
    let mut foreign: Vec<String> = Vec::new();
    for entry in fs::read_dir(dir).map_err(refused)? {
        let name = entry.map_err(refused)?.file_name().to_string_lossy().into_owned();
        let own = is_partial(&name) || lost && goes_with_records(&name);
        if !own {
            foreign.push(name);
        }
    }
    match foreign.iter().min() {
        None => Ok(()),
        Some(name) => {
            let what = format!("it holds other files, such as {name}");
            let expected = format!("a new or empty directory, or one with an {EXPERIMENT}");
            Err(RecordError::Foreign { path: dir.into(), what, expected })
        }
    }
}

/// Whether `dir` has a list of runs.
///
/// # Errors
/// The file system does not let the list be looked for.
pub(super) fn has_list(dir: &Path) -> Result<bool, RecordError> {
    match fs::metadata(dir.join(EXPERIMENT)) {
        Ok(meta) => Ok(meta.is_file()),
        Err(e) => is_absent(&e).then_some(false).ok_or_else(|| RecordError::unreadable(dir, &e)),
    }
}

/// The error for a directory that has no list of runs.
pub(super) fn without_list(dir: &Path) -> RecordError {
    let what = match fs::read_dir(dir) {
        Err(e) if e.kind() == io::ErrorKind::PermissionDenied => return RecordError::unreadable(dir, &e),
        _ if holds_records(dir) => {
            let what = format!("it has records and no {EXPERIMENT}");
            let expected = "the list of its runs (the command that ran them writes it again and repeats none)";
            return RecordError::Damaged { path: dir.into(), what, expected: expected.into() };
        }
        _ if dir.exists() => "not an experiment",
        _ => "no such directory",
    };
    let expected = format!("a directory written by `numalab run`, with an {EXPERIMENT}");
    RecordError::Foreign { path: dir.into(), what: what.into(), expected }
}

/// Whether an error says that the path does not exist, and not that it may not be examined.
fn is_absent(e: &io::Error) -> bool {
    // `ErrorKind::NotADirectory` is not yet in the oldest supported Rust release.
    e.kind() == io::ErrorKind::NotFound || e.raw_os_error() == Some(Errno::NOTDIR.raw_os_error())
}

/// Whether `dir` holds a record: a folder named as one that has a manifest.
pub fn holds_records(dir: &Path) -> bool {
    let is_record =
        |e: fs::DirEntry| is_short_id(&e.file_name().to_string_lossy()) && e.path().join(MANIFEST).is_file();
    fs::read_dir(dir).is_ok_and(|mut entries| entries.any(|e| e.is_ok_and(is_record)))
}

/// Removes the unfinished records and lists of processes that no longer run.
///
/// # Errors
/// The file system refuses.
pub(super) fn remove_leftovers(dir: &Path) -> Result<(), RecordError> {
    for entry in fs::read_dir(dir).map_err(|e| RecordError::io(dir, &e))? {
        let entry = entry.map_err(|e| RecordError::io(dir, &e))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let Some((_, pid)) = name.strip_prefix(PARTIAL).and_then(|n| n.rsplit_once('-')) else { continue };
        if pid.parse::<u32>().map_or(true, |pid| Path::new("/proc").join(pid.to_string()).exists()) {
            continue;
        }
        let path = entry.path();
        let removed = if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
        removed.map_err(|e| RecordError::io(&path, &e))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_may_not_be_examined_is_not_taken_for_absent() {
        let of = |e: Errno| io::Error::from_raw_os_error(e.raw_os_error());
        assert!(is_absent(&of(Errno::NOENT)) && is_absent(&of(Errno::NOTDIR)));
        assert!(!is_absent(&of(Errno::ACCESS)) && !is_absent(&of(Errno::LOOP)) && !is_absent(&of(Errno::IO)));
        let denied = of(Errno::ACCESS);
        let (read, write) =
            (RecordError::unreadable("/x".as_ref(), &denied), RecordError::unwritable("/x".as_ref(), &denied));
        let of = |e: RecordError| e.to_string();
        assert_eq!(
            of(read),
            "/x: permission denied; expected to be allowed to read it (`ls -ld` on it and on its folder says who is)"
        );
        assert!(of(write).starts_with("/x: permission denied; expected a directory to write records in ("));
    }

    #[test]
    fn a_link_to_itself_is_refused_as_unreadable() {
        let dir = tempfile::tempdir().unwrap();
        let link = dir.path().join("link");
        std::os::unix::fs::symlink(&link, &link).unwrap();
        let e = has_list(&link).unwrap_err();
        assert!(matches!(&e, RecordError::Io { path, .. } if *path == link), "{e}");
    }
}
