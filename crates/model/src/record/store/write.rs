//! Writing a record completely or not at all.

use super::error::RecordError;
use super::manifest::{status_words, FileEntry, Manifest, Scalars, SeriesEntry, FORMAT, VERSION};
use super::names::{MANIFEST, PARTIAL, SCALARS, SOURCES};
use super::{json, series};
use crate::files::output;
use crate::plan::{hex, PlanId, PlanInput};
use crate::record::Outcome;
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// Writes the record of a run into `dir` (an experiment's directory) and returns its path.
///
/// The record is built in a directory beside its place, flushed to the device and renamed. A crash at any moment leaves
/// either the complete record or none.
///
/// # Errors
/// The file system refuses, or the outcome cannot be written: a figure that is no number, a series whose columns differ
/// in length, or a name that is no file name.
pub fn write(dir: &Path, input: &PlanInput, outcome: &Outcome) -> Result<PathBuf, RecordError> {
    let files = contents(input, outcome)?;
    let place = dir.join(input.id.short());
    let partial = dir.join(partial_name(&input.id));
    let written = fill(&partial, &files).and_then(|()| {
        fs::rename(&partial, &place)?;
        sync_dir(dir)
    });
    if written.is_err() {
        // The first error is the one to report; a leftover is removed when the directory is opened again.
        let _ = fs::remove_dir_all(&partial);
    }
    written.map(|()| place).map_err(|e| RecordError::unwritable(dir, &e))
}

/// Name of the directory in which a record is built; the process id keeps two writers of one plan apart.
fn partial_name(id: &PlanId) -> String {
    format!("{PARTIAL}{id}-{}", std::process::id())
}

/// Name and content of every file of the record, the manifest last.
fn contents(input: &PlanInput, outcome: &Outcome) -> Result<Vec<(String, Vec<u8>)>, RecordError> {
    if let Some(s) = outcome.scalars.iter().find(|s| !s.value.is_finite()) {
        return Err(RecordError::Outcome(format!("{} is {}", s.name, s.value)));
    }
    let json_error = |e: serde_json::Error| RecordError::Outcome(e.to_string());
    let mut files = vec![(SCALARS.to_string(), json::text(&Scalars::of(outcome)).map_err(json_error)?.into_bytes())];
    let mut index: Vec<SeriesEntry> = Vec::new();
    for s in &outcome.series {
        if !series::is_plain(&s.name) || index.iter().any(|e| e.name == s.name) {
            return Err(RecordError::Outcome(format!("a series named {:?}, or two of that name", s.name)));
        }
        let file = format!("series/{}.csv", s.name);
        files.push((file.clone(), series::to_csv(s).map_err(RecordError::Outcome)?.into_bytes()));
        index.push(SeriesEntry { name: s.name.clone(), unit: s.unit.clone(), file });
    }
    for (i, f) in input.sources.iter().enumerate() {
        if input.sources[..i].iter().any(|other| other.place == f.place) {
            return Err(RecordError::Outcome(format!("two files that were read are called {}", f.place)));
        }
        files.push((format!("{SOURCES}/{}", f.place), f.bytes.to_vec()));
    }
    let (status, reason) = status_words(&outcome.status);
    let manifest = Manifest {
        format: FORMAT.into(),
        format_version: VERSION,
        id: input.id.full().into(),
        plan: input.plan.clone(),
        status,
        reason,
        settled: outcome.settled.clone(),
        warnings: warnings(input, outcome),
        tunables: outcome.tunables.iter().map(Into::into).collect(),
        series: index,
        files: files.iter().map(|(name, bytes)| entry(name, bytes)).collect(),
    };
    files.push((MANIFEST.to_string(), json::text(&manifest).map_err(json_error)?.into_bytes()));
    Ok(files)
}

/// Warnings of the plan and of the outcome, each once.
fn warnings(input: &PlanInput, outcome: &Outcome) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for w in input.plan.warnings().chain(&outcome.warnings) {
        if !out.contains(w) {
            out.push(w.clone());
        }
    }
    out
}

/// The entry of a file in the manifest.
fn entry(name: &str, bytes: &[u8]) -> FileEntry {
    FileEntry { name: name.into(), bytes: bytes.len() as u64, sha256: hex(&Sha256::digest(bytes)) }
}

/// Makes a directory with these files in place of an earlier one, and waits until it is on the device.
fn fill(dir: &Path, files: &[(String, Vec<u8>)]) -> io::Result<()> {
    // Of a link, the link alone is removed.
    if fs::symlink_metadata(dir).is_ok() {
        fs::remove_dir_all(dir)?;
    }
    fs::create_dir(dir)?;
    let mut folders: BTreeSet<PathBuf> = BTreeSet::new();
    for (name, bytes) in files {
        let path = dir.join(name);
        for folder in path.ancestors().skip(1).take_while(|f| *f != dir) {
            folders.insert(folder.to_path_buf());
        }
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        output::create(&path, bytes)?;
    }
    for folder in &folders {
        sync_dir(folder)?;
    }
    sync_dir(dir)
}

/// Waits until the entries of a directory are on the device.
///
/// # Errors
/// The file system refuses.
pub fn sync_dir(dir: &Path) -> io::Result<()> {
    File::open(dir).and_then(|d| d.sync_all())
}
