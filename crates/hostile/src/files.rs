//! Readers of files and folders. Each input is written into a folder that only this process sees.

use crate::texts::text;
use numalab_host::advise::counters::{self, Of};
use numalab_host::balance::State;
use numalab_lab::image::deb::{extract, Wanted};
use numalab_model::record;
use numalab_model::record::events::Events;
use std::fs;
use std::path::Path;
use tempfile::TempDir;

/// Line between the files of an input that has several: the name of the next follows it.
pub(crate) const NEXT_FILE: &str = "\n=== ";

/// A new folder in memory, where the machine has one.
fn folder() -> Option<TempDir> {
    let shared = Path::new("/dev/shm");
    if shared.is_dir() { tempfile::tempdir_in(shared) } else { tempfile::tempdir() }.ok()
}

/// Names of files of a record that an input may have.
const NAMES: [&str; 5] =
    ["manifest.json", "scalars.json", "series/score.csv", "experiment.json", "sources/releases.toml"];

pub(crate) fn record(bytes: &[u8]) {
    let Some(dir) = folder() else { return };
    let text = text(bytes);
    for part in text.split(NEXT_FILE) {
        let (name, contents) = part.split_once('\n').unwrap_or((part, ""));
        let Some(name) = NAMES.iter().find(|n| **n == name) else { continue };
        let path = dir.path().join(name);
        if let Some(above) = path.parent() {
            let _ = fs::create_dir_all(above);
        }
        let _ = fs::write(path, contents);
    }
    let _ = record::read(dir.path());
}

/// The summaries of an experiment's records, in one file.
pub(crate) fn index(bytes: &[u8]) {
    let Some(dir) = folder() else { return };
    let _ = record::try_index(dir.path(), &text(bytes));
}

/// The log of events of a record.
pub(crate) fn events(bytes: &[u8]) {
    with_file("events", bytes, |path| {
        let _ = Events::check(path);
    });
}

/// The state that `balance` keeps between its runs.
pub(crate) fn state(bytes: &[u8]) {
    with_file("state.json", bytes, |path| {
        let _ = State::look(path);
    });
}

/// A package of a kernel.
pub(crate) fn deb(bytes: &[u8]) {
    with_file("package.deb", bytes, |path| {
        let wanted = Wanted { is: &|p| p.starts_with("boot/"), most_bytes: 1 << 20 };
        let _ = extract(path, &wanted, &path.with_extension("out"));
    });
}

/// A record of a program's accesses: its files one after the other, cut at the marks.
pub(crate) fn accesses(bytes: &[u8]) {
    let Some(dir) = folder() else { return };
    let (manifest, rest) = halves(bytes);
    let (control, image) = halves(rest);
    for (name, contents) in [("accesses.json", manifest), ("control", control), ("0.units", image)] {
        let _ = fs::write(dir.path().join(name), contents);
    }
    let _ = numalab_accesses::record::read(dir.path());
    let _ = numalab_accesses::image::image(0, image);
}

/// The counters of the kernel, and statistics of a node.
pub(crate) fn vmstat(bytes: &[u8]) {
    let Some(dir) = folder() else { return };
    let _ = fs::create_dir_all(dir.path().join("proc"));
    for name in ["proc/vmstat", "proc/stat"] {
        let _ = fs::write(dir.path().join(name), bytes);
    }
    let _ = counters::read(dir.path(), Of::Machine);
}

/// The bytes before the first mark, and those behind.
fn halves(bytes: &[u8]) -> (&[u8], &[u8]) {
    match bytes.windows(4).position(|w| w == [0xff, 0, 0xff, 0]) {
        Some(at) => (&bytes[..at], &bytes[at + 4..]),
        None => (bytes, &[]),
    }
}

fn with_file(name: &str, bytes: &[u8], read: impl FnOnce(&Path)) {
    let Some(dir) = folder() else { return };
    let path = dir.path().join(name);
    if fs::write(&path, bytes).is_ok() {
        read(&path);
    }
}

/// Histograms beside a workload.
pub(crate) fn histograms(bytes: &[u8]) {
    let _ = numalab_accesses::histograms::read(bytes);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Otherwise nothing behind the first lines of an index would be reached.
    #[test]
    fn the_index_that_changes_begin_with_has_a_row_that_is_accepted() {
        let dir = folder().expect("a folder");
        let rows = record::try_index(dir.path(), include_str!("../seeds/index/index.jsonl"));
        assert!(rows.is_ok_and(|rows| rows == 2));
    }
}
