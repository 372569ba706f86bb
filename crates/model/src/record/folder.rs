//! The folder of an experiment as the file system has it: whose it is, what is in it, and who writes there.

use super::manifest::MANIFEST;
use super::read::is_short_id;
use super::store::{EXPERIMENT, PAGE};
use super::write::PARTIAL;
use super::RecordError;
use rustix::fs::{flock, FlockOperation};
use rustix::io::Errno;
use std::fs::{self, File};
use std::path::Path;

/// The right to write into a folder; it ends with this value, and with the process however that ends.
#[derive(Debug)]
pub(super) struct Lock(#[allow(dead_code)] File);

/// Takes the right to write into `dir`, or says who has it.
///
/// The lock is on the folder itself, so that it leaves no file behind. A file system without locks gives none: there
/// two commands can still lose each other's list of runs, never a record.
pub(super) fn lock(dir: &Path) -> Result<Lock, RecordError> {
    let file = File::open(dir).map_err(|e| RecordError::io(dir, &e))?;
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
    fs::create_dir_all(dir).map_err(|e| RecordError::io(dir, &e))?;
    let lost = holds_records(dir);
    let mut foreign: Vec<String> = Vec::new();
    for entry in fs::read_dir(dir).map_err(|e| RecordError::io(dir, &e))? {
        let name = entry.map_err(|e| RecordError::io(dir, &e))?.file_name().to_string_lossy().into_owned();
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
