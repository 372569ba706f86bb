//! The folder of an experiment as the file system has it: whose it is, what is in it, and who writes there.

use super::manifest::MANIFEST;
use super::read::is_short_id;
use super::store::{EXPERIMENT, PAGE};
use super::write::PARTIAL;
use super::RecordError;
use rustix::fs::{flock, FlockOperation};
use rustix::io::Errno;
use std::fs::{self, File};
use std::io;
use std::path::Path;

/// The right to write into a folder; it ends with this value, and with the process however that ends.
#[derive(Debug)]
pub(super) struct Lock(#[allow(dead_code)] File);

/// Takes the right to write into `dir`, or says who has it.
///
/// The lock is on the folder itself, so that it leaves no file behind. A file system without locks gives none: there
/// two commands can still lose each other's list of runs, never a record.
pub(super) fn lock(dir: &Path) -> Result<Lock, RecordError> {
    let file = File::open(dir).map_err(|e| RecordError::unwritable(dir, &e))?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Err(Errno::WOULDBLOCK) => Err(RecordError::Busy { path: dir.into() }),
        _ => Ok(Lock(file)),
    }
}

/// Makes `dir` ours: creates it, or takes it if it is empty or holds nothing but records and what belongs to them.
pub(super) fn claim(dir: &Path) -> Result<(), RecordError> {
    if let Some(file) = dir.ancestors().find(|p| p.exists()).filter(|p| !p.is_dir()) {
        return Err(RecordError::Io { path: file.into(), why: "a file; expected a directory".into() });
    }
    let refused = |e: io::Error| RecordError::unwritable(dir, &e);
    fs::create_dir_all(dir).map_err(refused)?;
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

/// Whether there is an experiment in `dir`: a list of runs.
///
/// # Errors
/// The file system does not say.
pub(super) fn has_list(dir: &Path) -> Result<bool, RecordError> {
    match fs::metadata(dir.join(EXPERIMENT)) {
        Ok(meta) => Ok(meta.is_file()),
        Err(e) => is_absent(&e).then_some(false).ok_or_else(|| RecordError::unreadable(dir, &e)),
    }
}

/// Why a directory without a list of runs is none of an experiment.
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

/// Whether an error says that nothing is there, and not that nobody may look.
fn is_absent(e: &io::Error) -> bool {
    // `ErrorKind::NotADirectory` is younger than the oldest compiler.
    e.kind() == io::ErrorKind::NotFound || e.raw_os_error() == Some(Errno::NOTDIR.raw_os_error())
}

/// Whether there is a record in a directory, under the name of one.
pub fn holds_records(dir: &Path) -> bool {
    let is_record =
        |e: fs::DirEntry| is_short_id(&e.file_name().to_string_lossy()) && e.path().join(MANIFEST).is_file();
    fs::read_dir(dir).is_ok_and(|mut entries| entries.any(|e| e.is_ok_and(is_record)))
}

/// Whether a name beside records is one of theirs: a record, a log of one, the page, the runs of a search.
pub fn goes_with_records(name: &str) -> bool {
    let (record, ending) = name.split_once('.').unwrap_or((name, ""));
    let of_record = is_short_id(record) && ["", "events", "decisions", "why.json"].contains(&ending);
    of_record || [PAGE, "calibration"].contains(&name)
}

fn is_partial(name: &str) -> bool {
    name.starts_with(PARTIAL)
}

/// Removes what writers that no longer run have left unfinished.
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
    fn what_may_not_be_looked_at_is_not_taken_for_absent() {
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
    fn a_link_to_itself_is_refused_for_what_it_is() {
        let dir = tempfile::tempdir().unwrap();
        let link = dir.path().join("link");
        std::os::unix::fs::symlink(&link, &link).unwrap();
        let e = has_list(&link).unwrap_err();
        assert!(matches!(&e, RecordError::Io { path, .. } if *path == link), "{e}");
    }
}
