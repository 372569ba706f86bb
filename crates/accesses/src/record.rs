//! A record of accesses, read from its directory: `accesses.json`, `control`, and a file of units for every image.

use crate::format::{self, Control};
use crate::image::{image, Area, Image};
use crate::regions;
use crate::sites::{self, Site};
use numalab_model::files::input;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Name of the manifest.
pub const MANIFEST: &str = "accesses.json";
/// Name of the control file.
pub const CONTROL: &str = "control";
/// Ending of files of units.
pub const UNITS: &str = "units";
/// Largest file that is read, bytes.
pub const BYTES_MAX: u64 = 1 << 30;

/// How the program ended, or that it has not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// It runs, or numalab was killed.
    Running,
    /// It exited with this code.
    Exit(i32),
    /// A signal of this number ended it.
    Signal(i32),
    /// The time to record was over, and it was told to end.
    TimeOver,
    /// Ctrl-C or SIGTERM.
    Interrupted,
}

/// What was recorded, and how.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// Version of the directory's form; 1.
    pub format: u32,
    /// Version of numalab that recorded.
    pub numalab: String,
    /// Program and arguments.
    pub command: Vec<String>,
    /// What calls it in reports.
    pub name: String,
    /// The first line of `--version` of QEMU.
    pub qemu: String,
    /// Modelled private cache of a thread, bytes.
    pub near_bytes: u64,
    /// Modelled share of the last-level cache, bytes.
    pub far_bytes: u64,
    /// Length of a first slice, instructions.
    pub slice_insns: u64,
    /// When it began, ms since 1970.
    pub began_unix_ms: u64,
    /// Time that recording took, s.
    pub wall_s: f64,
    /// CPU time of QEMU and all processes under it, s.
    pub cpu_s: f64,
    /// Release of the kernel of the guest in which the program ran; empty without a guest.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub guest: String,
    /// Whether the processor's samples were counted in place of every access.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub sampled: bool,
    /// How the program ended.
    pub ending: Ending,
}

/// A record.
#[derive(Clone, Debug, PartialEq)]
pub struct AccessRecord {
    /// What was recorded.
    pub manifest: Manifest,
    /// What all images share.
    pub control: Control,
    /// Images in the order of their begin.
    pub images: Vec<Image>,
    /// Names of its memory, as far as they are known.
    pub sites: Vec<Site>,
}

/// Why a record cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// A file is missing, too large or unreadable; the text says which, and why.
    #[error("{0}")]
    File(String),
    /// A file has other contents.
    #[error("{file}: {what}; expected {expected}")]
    Contents {
        /// The file.
        file: String,
        /// What it has.
        what: String,
        /// What it should have.
        expected: &'static str,
    },
    /// The record is of another version.
    #[error("{file}: its form has version {found}; expected 1: this numalab is older than the record")]
    Version {
        /// The manifest.
        file: String,
        /// Its version.
        found: u32,
    },
}

/// Whether a directory holds a record of accesses.
pub fn is_record(dir: &Path) -> bool {
    dir.join(MANIFEST).is_file()
}

/// Reads a record.
///
/// # Errors
/// It has no manifest or control file, or these are damaged.
pub fn read(dir: &Path) -> Result<AccessRecord, ReadError> {
    let manifest_path = dir.join(MANIFEST);
    let text = input::text(&manifest_path, BYTES_MAX).map_err(|e| ReadError::File(e.message()))?;
    let wrong = |e: serde_json::Error| ReadError::Contents {
        file: manifest_path.display().to_string(),
        what: e.to_string(),
        expected: "the manifest that `numalab record --accesses` writes",
    };
    let raw: serde_json::Value = serde_json::from_str(&text).map_err(wrong)?;
    let found = raw["format"].as_u64().unwrap_or(1) as u32;
    if found != 1 {
        return Err(ReadError::Version { file: manifest_path.display().to_string(), found });
    }
    let manifest: Manifest = serde_json::from_value(raw).map_err(wrong)?;
    let control = read_control(dir)?;
    let mut images = Vec::new();
    for number in 0..control.images.min(control.most_images).min(1 << 16) {
        let path = dir.join(format!("{number}.{UNITS}"));
        // An image without room has no file, or an empty one.
        let Ok(bytes) = input::bytes(&path, BYTES_MAX) else { continue };
        let mut next = image(number, &bytes);
        if let Some(child) = &mut next {
            child.inherited = inherited(child, &images);
        }
        images.extend(next);
    }
    Ok(AccessRecord { manifest, control, images, sites: sites::read(dir) })
}

/// Reads the control file of a record.
///
/// # Errors
/// It is missing or none.
pub fn read_control(dir: &Path) -> Result<Control, ReadError> {
    let path = dir.join(CONTROL);
    let bytes = input::bytes(&path, BYTES_MAX).map_err(|e| ReadError::File(e.message()))?;
    format::control(&bytes).ok_or_else(|| ReadError::Contents {
        file: path.display().to_string(),
        what: "no control file of a record".into(),
        expected: "the file that `numalab record --accesses` writes",
    })
}

/// The image that forked another one, of those that began earlier. After an exec there is none.
pub fn parent<'a>(child: &Image, earlier: &'a [Image]) -> Option<&'a Image> {
    let forked = child.head.parent != 0 && child.head.parent != child.head.pid;
    earlier.iter().rfind(|i| forked && i.head.pid == child.head.parent)
}

/// Memory that an image has of the one that forked it.
fn inherited(child: &Image, earlier: &[Image]) -> Vec<Area> {
    parent(child, earlier).map_or_else(Vec::new, |p| regions::inherited(p, child.head.begin_clock))
}

#[cfg(test)]
pub(crate) mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// The manifest of a small record.
    pub(crate) fn manifest() -> Manifest {
        Manifest {
            format: 1,
            numalab: "x".into(),
            command: vec!["p".into()],
            name: "p".into(),
            qemu: String::new(),
            near_bytes: 1,
            far_bytes: 1,
            slice_insns: 1,
            began_unix_ms: 1,
            wall_s: 1.0,
            cpu_s: 1.0,
            guest: String::new(),
            sampled: false,
            ending: Ending::Signal(11),
        }
    }

    #[test]
    fn damaged_records_are_refused_and_named() {
        let dir = tempfile::tempdir().unwrap();
        assert!(!is_record(dir.path()));
        let message = |dir: &Path| read(dir).unwrap_err().to_string();
        assert!(message(dir.path()).contains(MANIFEST));
        let file = dir.path().join(MANIFEST);
        std::fs::write(&file, "{}").unwrap();
        assert!(message(dir.path()).contains("missing field"), "{}", message(dir.path()));
        std::fs::write(&file, "{\"format\": 7}").unwrap();
        assert!(message(dir.path()).contains("version 7"));
        std::fs::write(&file, serde_json::to_string(&manifest()).unwrap()).unwrap();
        assert!(message(dir.path()).contains(CONTROL));
        std::fs::write(dir.path().join(CONTROL), [7; 100]).unwrap();
        assert!(message(dir.path()).contains("no control file"));
        let mut control = format::new_control(1 << 20, 4);
        control[32] = 3;
        std::fs::write(dir.path().join(CONTROL), control).unwrap();
        // A file that is no image, one that is cut, and one that is missing.
        std::fs::write(dir.path().join("0.units"), [0xff; 1000]).unwrap();
        std::fs::write(dir.path().join("1.units"), []).unwrap();
        let record = read(dir.path()).unwrap();
        assert_eq!((record.images.len(), record.control.images), (0, 3));
        assert_eq!(record.manifest.ending, Ending::Signal(11));
    }
}
