//! The affinities that were changed and the kdamonds that were set up, kept in a file so that a crash leaves nothing behind.

use crate::procfs::{process, Roots};
use rustix::fs::{flock, FlockOperation};
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
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

/// How often the lock is tried, and the time between.
const TRIES: u32 = 20;
const BETWEEN_TRIES: Duration = Duration::from_millis(20);

/// The file, and what is in it. No other daemon can use it while the value lives.
#[derive(Debug)]
pub struct State {
    path: PathBuf,
    entries: Vec<Entry>,
    damon: Vec<u32>,
    _lock: File,
}

impl State {
    /// Opens the file, and makes its folder if necessary. The entries are those that an earlier daemon left behind.
    ///
    /// # Errors
    /// Another daemon uses it, it cannot be written, or it is not such a file; in words.
    pub fn open(path: &Path) -> Result<Self, String> {
        let wrong = |e: io::Error| format!("{}: {e}; expected a file for the state (--state)", path.display());
        if let Some(folder) = path.parent().filter(|p| !p.as_os_str().is_empty()) {
            fs::create_dir_all(folder).map_err(wrong)?;
        }
        // The lock has a file of its own: the state is replaced whenever it changes.
        let lock = File::options().create(true).append(true).open(path.with_extension("lock")).map_err(wrong)?;
        if !is_locked(&lock) {
            return Err(format!(
                "{}: another `numalab balance` uses it; expected that one to have ended",
                path.display()
            ));
        }
        let (entries, damon) = match fs::read(path) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => (Vec::new(), Vec::new()),
            Err(e) => return Err(wrong(e)),
            Ok(bytes) => {
                let contents: Contents = serde_json::from_slice(&bytes)
                    .map_err(|e| format!("{}: {e}; expected a file that numalab balance wrote", path.display()))?;
                if contents.format != FORMAT {
                    return Err(format!("{}: format {:?}; expected {FORMAT:?}", path.display(), contents.format));
                }
                (contents.entries, contents.damon)
            }
        };
        Ok(Self { path: path.into(), entries, damon, _lock: lock })
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
        match fs::remove_file(&self.path) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
            _ => Ok(()),
        }
    }

    /// Replaces the file, which is complete at every moment.
    fn save(&self) -> io::Result<()> {
        let contents = Contents { format: FORMAT.into(), entries: self.entries.clone(), damon: self.damon.clone() };
        let partial = self.path.with_extension("partial");
        let mut file = File::create(&partial)?;
        file.write_all(&serde_json::to_vec(&contents)?)?;
        file.sync_all()?;
        fs::rename(&partial, &self.path)
    }
}

/// Whether the thread of an entry still runs.
pub(super) fn lives(roots: &Roots, e: &Entry) -> bool {
    process::task_stat(roots, e.pid, e.tid).is_some_and(|s| s.start == e.start)
}

/// Takes the lock. A program that an earlier daemon is just starting holds it for a moment after the daemon has ended.
fn is_locked(lock: &File) -> bool {
    (0..TRIES).any(|n| {
        if n > 0 {
            std::thread::sleep(BETWEEN_TRIES);
        }
        flock(lock, FlockOperation::NonBlockingLockExclusive).is_ok()
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

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
