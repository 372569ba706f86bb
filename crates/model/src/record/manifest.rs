//! The files of a record as serialisable types.

use super::json::ordered;
use super::{EffectiveTunable, Outcome, Scalar, Status};
use crate::plan::Plan;
use serde::{Deserialize, Serialize};

/// `format` of a manifest.
pub const FORMAT: &str = "numalab record";
/// Format version this program writes and reads.
pub const VERSION: u64 = 1;
/// Name of the manifest inside a record; written last.
pub const MANIFEST: &str = "manifest.json";
/// Name of the file with the figures.
pub const SCALARS: &str = "scalars.json";
/// Folder of the files that the plan was read from, shaped as a catalog.
pub const SOURCES: &str = "sources";

/// `manifest.json`: what was asked, with what it ran, and which files belong to it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// Always [`FORMAT`].
    pub format: String,
    /// Format version.
    pub format_version: u64,
    /// The plan's id, all digits.
    pub id: String,
    /// What was asked.
    pub plan: Plan,
    /// How the run ended: `completed`, `timeout` or `failed`.
    pub status: String,
    /// Why it failed, if it did.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub reason: Option<String>,
    /// What a reader must know.
    pub warnings: Vec<String>,
    /// Effective value of every tunable, as the backend used it.
    pub tunables: Vec<TunableEntry>,
    /// Time series, one file each.
    pub series: Vec<SeriesEntry>,
    /// Every other file of the record.
    pub files: Vec<FileEntry>,
}

/// A tunable as the run used it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TunableEntry {
    /// `group.key`.
    pub name: String,
    /// Value.
    pub value: String,
    /// Unit.
    pub unit: String,
    /// Kernel name, or `model`.
    pub kernel_name: String,
}

/// A file of the record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileEntry {
    /// Path inside the record.
    pub name: String,
    /// Length.
    pub bytes: u64,
    /// Digest of its contents.
    pub sha256: String,
}

/// A time series of the record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SeriesEntry {
    /// Name.
    pub name: String,
    /// Unit of the values.
    pub unit: String,
    /// Path inside the record.
    pub file: String,
}

/// `scalars.json`: every figure of the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scalars {
    /// Named figures.
    pub scalars: Vec<ScalarEntry>,
    /// vmstat deltas.
    #[serde(with = "ordered")]
    pub counters: Vec<(String, u64)>,
    /// Skips and refusals by reason.
    #[serde(with = "ordered")]
    pub reasons: Vec<(String, u64)>,
}

/// A figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScalarEntry {
    /// Name.
    pub name: String,
    /// Value.
    pub value: f64,
    /// Unit.
    pub unit: String,
    /// `higher` or `lower`.
    pub better: String,
}

impl Scalars {
    /// The figures of an outcome.
    pub fn of(outcome: &Outcome) -> Self {
        let scalar = |s: &Scalar| ScalarEntry {
            name: s.name.clone(),
            value: s.value,
            unit: s.unit.clone(),
            better: if s.higher_is_better { "higher" } else { "lower" }.into(),
        };
        Self {
            scalars: outcome.scalars.iter().map(scalar).collect(),
            counters: outcome.counters.clone(),
            reasons: outcome.reasons.clone(),
        }
    }
    /// Back to the figures of an outcome; what is wrong if a direction is neither word.
    pub fn into_parts(self) -> Result<Parts, String> {
        let mut scalars = Vec::new();
        for s in self.scalars {
            let higher_is_better = match s.better.as_str() {
                "higher" => true,
                "lower" => false,
                other => return Err(format!("`better` of {} is {other:?}", s.name)),
            };
            scalars.push(Scalar { name: s.name, value: s.value, unit: s.unit, higher_is_better });
        }
        Ok(Parts { scalars, counters: self.counters, reasons: self.reasons })
    }
}

/// The figures of an outcome.
pub struct Parts {
    /// Named figures.
    pub scalars: Vec<Scalar>,
    /// vmstat deltas.
    pub counters: Vec<(String, u64)>,
    /// Skips and refusals.
    pub reasons: Vec<(String, u64)>,
}

/// The word and reason of a status.
pub fn status_words(status: &Status) -> (String, Option<String>) {
    match status {
        Status::Completed => ("completed".into(), None),
        Status::Timeout => ("timeout".into(), None),
        Status::Failed(why) => ("failed".into(), Some(why.clone())),
    }
}

/// The status of a word and reason, `None` if the word is none of the three.
pub fn status_of(word: &str, reason: Option<String>) -> Option<Status> {
    match word {
        "completed" => Some(Status::Completed),
        "timeout" => Some(Status::Timeout),
        "failed" => Some(Status::Failed(reason.unwrap_or_default())),
        _ => None,
    }
}

impl From<&EffectiveTunable> for TunableEntry {
    fn from(t: &EffectiveTunable) -> Self {
        let EffectiveTunable { name, value, unit, kernel_name } = t.clone();
        Self { name, value, unit, kernel_name }
    }
}

impl From<TunableEntry> for EffectiveTunable {
    fn from(t: TunableEntry) -> Self {
        Self { name: t.name, value: t.value, unit: t.unit, kernel_name: t.kernel_name }
    }
}
