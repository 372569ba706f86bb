//! Reading a record and checking that it is what was written.

use super::error::RecordError;
use super::manifest::{status_of, Manifest, Scalars, FORMAT, VERSION};
use super::names::{is_short_id, MANIFEST, SCALARS, SOURCES};
use super::sane;
use super::series;
use crate::files::input::{self, InputErrorKind};
use crate::plan::{hex, PlanId};
use crate::record::{Outcome, Series};
use serde::de::DeserializeOwned;
use serde::Deserialize;
use sha2::{Digest, Sha256};
use std::fs;
use std::path::{Path, PathBuf};

/// Largest file of a record that is read, bytes.
const FILE_BYTES_MAX: u64 = 1 << 30;

/// A complete record.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// Directory of the record.
    pub path: PathBuf,
    /// The plan and how its run ended.
    pub manifest: Manifest,
    /// What was measured.
    pub outcome: Outcome,
}

/// Reads the record in directory `path` and checks every digest.
///
/// # Errors
/// There is no record, or it is of another format version, or it differs from what was written: the plan or the
/// directory's name from the id, or a file from its digest.
pub fn read(path: &Path) -> Result<Record, RecordError> {
    let path = &with_own_name(path);
    let manifest = manifest(path)?;
    let damaged = |what: String| RecordError::damaged(path, what);
    let text = listed(path, &manifest, SCALARS)?;
    sane::check(&path.join(SCALARS), &text)?;
    let scalars: Scalars = json(&path.join(SCALARS), &text)?;
    let parts = scalars.into_parts().map_err(damaged)?;
    let mut all: Vec<Series> = Vec::new();
    for s in &manifest.series {
        let text = listed(path, &manifest, &s.file)?;
        let one = series::from_csv(&s.name, &s.unit, &text);
        all.push(one.map_err(|what| RecordError::damaged(&path.join(&s.file), what))?);
    }
    // The record needs no sources, but a plan may be resolved from them again, so they must be unchanged too.
    for f in manifest.files.iter().filter(|f| f.name.starts_with(&format!("{SOURCES}/"))) {
        unchanged(path, &manifest, &f.name)?;
    }
    let status = status_of(&manifest.status, manifest.reason.clone())
        .ok_or_else(|| damaged(format!("`status` is {:?}", manifest.status)))?;
    let outcome = Outcome {
        status,
        scalars: parts.scalars,
        counters: parts.counters,
        reasons: parts.reasons,
        series: all,
        tunables: manifest.tunables.iter().cloned().map(Into::into).collect(),
        warnings: manifest.warnings.clone(),
        settled: manifest.settled.clone(),
    };
    Ok(Record { path: path.into(), manifest, outcome })
}

/// The path of a record with its directory's own name.
///
/// `.` and links have another name, but the record's id and the logs beside it are found by the directory's name.
fn with_own_name(path: &Path) -> PathBuf {
    match fs::canonicalize(path) {
        Ok(real) if real.file_name() != path.file_name() => real,
        // A path that does not exist is refused when it is read.
        _ => path.into(),
    }
}

/// Reads the manifest and checks it against its id and the name of its directory.
fn manifest(path: &Path) -> Result<Manifest, RecordError> {
    let file = path.join(MANIFEST);
    // Only a manifest that is surely absent means "no record"; one that cannot be examined is refused when it is read.
    if matches!(file.try_exists(), Ok(false)) {
        if path.file_name().is_some_and(|n| is_short_id(&n.to_string_lossy())) {
            return Err(RecordError::damaged(path, format!("not a record any more: it has no {MANIFEST}")));
        }
        let expected = format!("a directory with a {MANIFEST}");
        return Err(RecordError::Foreign { path: path.into(), what: "not a record".into(), expected });
    }
    let text = text(&file)?;
    // The version is checked first: another version may have other fields.
    check_format(&file, &text, FORMAT, VERSION)?;
    sane::check(&file, &text)?;
    let mut manifest: Manifest = json(&file, &text)?;
    let id = PlanId::of(&manifest.plan).map_err(|e| RecordError::damaged(&file, e.to_string()))?;
    if id.full() != manifest.id {
        return Err(RecordError::damaged(&file, "the plan does not have the id it is filed under"));
    }
    if path.file_name().is_none_or(|n| n.to_string_lossy() != id.short()) {
        return Err(RecordError::damaged(path, format!("the directory of record {id} has another name")));
    }
    if manifest.settled.as_ref().is_some_and(|s| !s.is_sane()) {
        return Err(RecordError::damaged(&file, "`settled` has a time below 0, or a figure that is no number"));
    }
    manifest.warnings.iter_mut().chain(&mut manifest.reason).for_each(sane::clean);
    Ok(manifest)
}

/// The keys that every JSON file of records has.
#[derive(Default, Deserialize)]
struct Head {
    format: Option<serde_json::Value>,
    format_version: Option<serde_json::Value>,
}

/// Refuses the text of a JSON file of another format or version.
///
/// # Errors
/// No JSON, or the keys `format` and `format_version` differ from `format` and `version`.
pub fn check_format(file: &Path, text: &str, format: &str, version: u64) -> Result<(), RecordError> {
    let head: Head = match serde_json::from_str(text) {
        // JSON that is no object with one key of each.
        Err(e) if e.is_data() => Head::default(),
        read => read.map_err(|e| RecordError::damaged(file, e.to_string()))?,
    };
    if head.format.as_ref().and_then(|f| f.as_str()) != Some(format) {
        let what = "not written by numalab".to_string();
        return Err(RecordError::Foreign { path: file.into(), what, expected: format!("a {format}") });
    }
    match head.format_version.as_ref().and_then(serde_json::Value::as_u64) {
        Some(v) if v == version => Ok(()),
        found => {
            let found = found.unwrap_or(0);
            Err(RecordError::Version { path: file.into(), found, supported: version })
        }
    }
}

/// Text of a file that the manifest lists, checked as [`unchanged`] does.
fn listed(dir: &Path, manifest: &Manifest, name: &str) -> Result<String, RecordError> {
    let bytes = unchanged(dir, manifest, name)?;
    String::from_utf8(bytes).map_err(|_| RecordError::damaged(&dir.join(name), "not UTF-8 text"))
}

/// Content of a file that the manifest lists, checked against the listed length and digest. A source may be no text.
fn unchanged(dir: &Path, manifest: &Manifest, name: &str) -> Result<Vec<u8>, RecordError> {
    let path = dir.join(name);
    let entry = manifest.files.iter().find(|f| f.name == name);
    let entry = entry.ok_or_else(|| RecordError::damaged(&path, "the manifest does not list this file"))?;
    if matches!(path.try_exists(), Ok(false)) {
        return Err(RecordError::damaged(&path, "no such file, which the manifest lists"));
    }
    let bytes = content(&path)?;
    if bytes.len() as u64 != entry.bytes || hex(&Sha256::digest(&bytes)) != entry.sha256 {
        return Err(RecordError::damaged(&path, "the contents differ from their digest"));
    }
    Ok(bytes)
}

/// Text of a regular file of at most [`FILE_BYTES_MAX`].
///
/// # Errors
/// The file is missing, unreadable, not regular, too large or not UTF-8.
pub fn text(path: &Path) -> Result<String, RecordError> {
    String::from_utf8(content(path)?).map_err(|_| RecordError::damaged(path, "not UTF-8 text"))
}

/// Content of a regular file of at most [`FILE_BYTES_MAX`].
fn content(path: &Path) -> Result<Vec<u8>, RecordError> {
    input::bytes(path, FILE_BYTES_MAX).map_err(|e| match e.kind {
        InputErrorKind::Io(e) => RecordError::unreadable(path, &e),
        kind => RecordError::damaged(path, kind.to_string()),
    })
}

/// Parses the text of the JSON file at `path`.
///
/// # Errors
/// The text is not of that form.
pub fn json<T: DeserializeOwned>(path: &Path, text: &str) -> Result<T, RecordError> {
    serde_json::from_str(text).map_err(|e| RecordError::damaged(path, e.to_string()))
}
