//! The affinities that were changed and the kdamonds that were set up, kept in a file so that a crash leaves nothing
//! behind.

use crate::private_dir::{PrivateDir, Refused};
use crate::procfs::stat::Stat;
use crate::procfs::{read, Roots};
use rustix::fs::{flock, FlockOperation};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io;
use std::path::Path;
use std::time::Duration;

/// A thread whose affinity was changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Process.
    pub pid: u32,
    /// Thread.
    pub tid: u32,
    /// Start of the thread after boot, ticks; tells it from a later one with the same id.
    pub start: u64,
    /// CPUs on which it could run before.
    pub before: Vec<u32>,
    /// CPUs on which it was restricted to run.
    pub set: Vec<u32>,
}

/// Contents of the file.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Contents {
    format: String,
    entries: Vec<Entry>,
    /// Processes that kdamonds watch.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    damon: Vec<u32>,
}

/// `format` of the file.
const FORMAT: &str = "numalab balance state 1";

/// Largest file that is read, bytes: a hundred thousand threads.
const LIMIT_BYTES: u64 = 16 << 20;

/// How often the lock is tried, and the time between.
const TRIES: u32 = 20;
const BETWEEN_TRIES: Duration = Duration::from_millis(20);

/// Where the file is, and the lock on it.
#[derive(Debug)]
struct Place {
    dir: PrivateDir,
    name: String,
    _lock: File,
}

/// The file, and what is in it. No other daemon can use it while the value lives, unless it was only looked at.
#[derive(Debug)]
pub struct State {
    /// `None` if it was only looked at: changes stay in memory.
    place: Option<Place>,
    entries: Vec<Entry>,
    damon: Vec<u32>,
}

impl State {
    /// Opens the file, and makes its folder if necessary. The entries are those that an earlier daemon left behind.
    ///
    /// # Errors
    /// Others could change it ([`PrivateDir`]), another daemon uses it, it cannot be written, or it is not such a file;
    /// in words.
    pub fn open(path: &Path) -> Result<Self, String> {
        let (folder, name) = parts(path)?;
        let dir = PrivateDir::create(folder).map_err(refused)?;
        // Before anything is made beside it.
        dir.existing(&name).map_err(refused)?;
        // The lock has a file of its own: the state is replaced whenever it changes.
        let lock = dir.lock_file(&lock_name(&name)).map_err(refused)?;
        if !is_locked(&lock, FlockOperation::NonBlockingLockExclusive) {
            return Err(in_use(path));
        }
        let contents = contents(path, dir.read(&name, LIMIT_BYTES).map_err(refused)?)?;
        let place = Some(Place { dir, name, _lock: lock });
        Ok(Self { place, entries: contents.entries, damon: contents.damon })
    }

    /// Reads what an earlier daemon left behind, and opens nothing for writing. Changes stay in memory.
    ///
    /// # Errors
    /// As of [`State::open`].
    pub fn look(path: &Path) -> Result<Self, String> {
        let (folder, name) = parts(path)?;
        let dir = match PrivateDir::open(folder) {
            Ok(dir) => dir,
            Err(Refused::System { error, .. }) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(Self { place: None, entries: Vec::new(), damon: Vec::new() })
            }
            Err(e) => return Err(refused(e)),
        };
        let lock = dir.existing(&lock_name(&name)).map_err(refused)?;
        if lock.is_some_and(|lock| !is_locked(&lock, FlockOperation::NonBlockingLockShared)) {
            return Err(in_use(path));
        }
        let contents = contents(path, dir.read(&name, LIMIT_BYTES).map_err(refused)?)?;
        Ok(Self { place: None, entries: contents.entries, damon: contents.damon })
    }

    /// What is changed now.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }
    /// The entry of a thread.
    pub fn of(&self, tid: u32) -> Option<&Entry> {
        self.entries.iter().find(|e| e.tid == tid)
    }

    /// Notes a change before it is made. A thread that has an entry keeps the affinity that it had at first.
    ///
    /// # Errors
    /// The file cannot be written: the change must not be made.
    pub fn add(&mut self, entry: Entry) -> io::Result<()> {
        match self.entries.iter_mut().find(|e| (e.tid, e.start) == (entry.tid, entry.start)) {
            Some(known) => known.set = entry.set,
            None => {
                self.entries.retain(|e| e.tid != entry.tid);
                self.entries.push(entry);
            }
        }
        self.save()
    }

    /// Forgets threads that have ended, and those for which `gone` holds.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn forget(&mut self, roots: &Roots, gone: impl Fn(&Entry) -> bool) -> io::Result<()> {
        let before = self.entries.len();
        self.entries.retain(|e| !gone(e) && lives(roots, e));
        if self.entries.len() == before {
            return Ok(());
        }
        self.save()
    }

    /// Puts entries back that could not be undone, so that the next start tries again.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn keep(&mut self, entries: Vec<Entry>) -> io::Result<()> {
        self.entries = entries;
        self.save()
    }

    /// Takes all entries out. The file stays until [`State::save_empty`].
    pub fn take(&mut self) -> Vec<Entry> {
        std::mem::take(&mut self.entries)
    }

    /// Processes that kdamonds watch, which were set up for sampling.
    pub fn damon(&self) -> &[u32] {
        &self.damon
    }

    /// Notes which processes kdamonds watch, before they are set up, or that there are none any more.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn set_damon(&mut self, pids: Vec<u32>) -> io::Result<()> {
        self.damon = pids;
        if self.damon.is_empty() && self.entries.is_empty() {
            return self.save_empty();
        }
        self.save()
    }

    /// Removes the file, once everything is undone. It stays while kdamonds are set up.
    ///
    /// # Errors
    /// The file cannot be removed.
    pub fn save_empty(&mut self) -> io::Result<()> {
        if !self.damon.is_empty() {
            return self.save();
        }
        self.place.as_ref().map_or(Ok(()), |p| p.dir.remove(&p.name))
    }

    /// Replaces the file, which is complete at every moment.
    fn save(&self) -> io::Result<()> {
        let Some(place) = &self.place else { return Ok(()) };
        let contents = Contents { format: FORMAT.into(), entries: self.entries.clone(), damon: self.damon.clone() };
        place.dir.replace(&place.name, &serde_json::to_vec(&contents)?)
    }
}

/// Folder and name of a file.
fn parts(path: &Path) -> Result<(&Path, String), String> {
    let name = path.file_name().and_then(|n| n.to_str());
    let name = name.ok_or_else(|| format!("{}: is no file; expected one for the state (--state)", path.display()))?;
    Ok((path.parent().unwrap_or(Path::new("")), name.into()))
}

fn lock_name(name: &str) -> String {
    format!("{name}.lock")
}

fn refused(why: Refused) -> String {
    format!("{why}; --state names another file for the state")
}

fn in_use(path: &Path) -> String {
    format!("{}: another `numalab balance` uses it; expected that one to have ended", path.display())
}

/// The contents of a file, empty if there is none.
fn contents(path: &Path, bytes: Option<Vec<u8>>) -> Result<Contents, String> {
    let Some(bytes) = bytes else { return Ok(Contents::default()) };
    let contents: Contents = serde_json::from_slice(&bytes)
        .map_err(|e| format!("{}: {e}; expected a file that numalab balance wrote", path.display()))?;
    match contents.format == FORMAT {
        true => Ok(contents),
        false => Err(format!("{}: format {:?}; expected {FORMAT:?}", path.display(), contents.format)),
    }
}

/// Whether the thread of an entry still runs. One whose file cannot be read now, or is cut off, has not ended by that:
/// its affinity is still to be given back.
pub(super) fn lives(roots: &Roots, e: &Entry) -> bool {
    match read(&roots.task(e.pid, e.tid).join("stat")) {
        Ok(text) => Stat::parse(&text).is_none_or(|s| s.start == e.start),
        Err(why) => why.kind() != io::ErrorKind::NotFound && why.raw_os_error() != Some(libc::ESRCH),
    }
}

/// Takes the lock. A program that an earlier daemon is just starting holds it for a moment after the daemon has ended.
fn is_locked(lock: &File, how: FlockOperation) -> bool {
    (0..TRIES).any(|n| {
        if n > 0 {
            std::thread::sleep(BETWEEN_TRIES);
        }
        flock(lock, how).is_ok()
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::fs;

    /// All files below a folder.
    fn files(dir: &Path) -> Vec<String> {
        let mut names: Vec<String> =
            fs::read_dir(dir).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_look_makes_nothing_and_keeps_changes_in_memory() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("run/state.json");
        let mut none = State::look(&path).unwrap();
        none.set_damon(vec![7]).unwrap();
        assert_eq!(files(dir.path()), [""; 0], "no folder, no lock");
        let mut daemon = State::open(&path).unwrap();
        daemon.set_damon(vec![7]).unwrap();
        assert!(State::look(&path).unwrap_err().contains("another `numalab balance` uses it"));
        drop(daemon);
        let before = fs::read(&path).unwrap();
        let mut look = State::look(&path).unwrap();
        assert_eq!(look.damon(), [7]);
        look.set_damon(vec![]).unwrap();
        look.save_empty().unwrap();
        assert_eq!((fs::read(&path).unwrap(), files(&dir.path().join("run")).len()), (before, 2));
        assert!(State::open(&path).is_ok(), "a look holds no lock");
    }

    #[test]
    fn a_state_that_is_no_file_is_refused_before_anything_is_made() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("pipe");
        rustix::fs::mkfifoat(rustix::fs::CWD, &path, rustix::fs::Mode::RUSR).unwrap();
        for why in [State::open(&path), State::look(&path)].map(Result::unwrap_err) {
            assert!(why.contains("pipe: is no regular file") && why.contains("--state"), "{why}");
        }
        assert_eq!(files(dir.path()), ["pipe"]);
        let large = dir.path().join("large");
        File::create(&large).unwrap().set_len(LIMIT_BYTES + 1).unwrap();
        assert!(State::open(&large).unwrap_err().contains("more than 16777216 bytes"));
        assert!(State::open(Path::new("/")).unwrap_err().contains("expected one for the state"));
    }

    #[test]
    fn changes_are_on_disk_before_they_are_made_and_survive_a_crash() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("run/state.json");
        let entry = |tid, set: &[u32]| Entry {
            pid: 7,
            tid,
            start: 1000 + u64::from(tid),
            before: vec![0, 1],
            set: set.to_vec(),
        };
        let mut s = State::open(&path).unwrap();
        s.add(entry(8, &[1])).unwrap();
        s.add(entry(8, &[0])).unwrap();
        assert!(State::open(&path).unwrap_err().contains("another `numalab balance` uses it"));
        drop(s);
        let mut s = State::open(&path).unwrap();
        assert_eq!(s.entries(), [entry(8, &[0])]);
        let roots = Roots { proc: dir.path().into(), sys: dir.path().into() };
        s.set_damon(vec![7]).unwrap();
        s.forget(&roots, |_| false).unwrap();
        assert_eq!(s.entries(), [], "the thread does not run");
        s.save_empty().unwrap();
        drop(s);
        let mut s = State::open(&path).unwrap();
        assert_eq!(s.damon(), [7], "kdamonds are not forgotten while they are set up");
        s.set_damon(vec![]).unwrap();
        assert!(!path.exists());
        s.save_empty().unwrap();
        s.save_empty().unwrap();
        drop(s);
        for bad in ["", "{}", "{\"format\":\"x\",\"entries\":[]}", "\u{0}"] {
            fs::write(&path, bad).unwrap();
            assert!(State::open(&path).unwrap_err().contains("expected"), "{bad}");
        }
    }
}
