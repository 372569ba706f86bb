//! The files of a record as serialisable types.

use super::json::ordered;
use crate::plan::Plan;
use crate::record::{EffectiveTunable, Outcome, Scalar, Settled, Status};
use serde::{Deserialize, Serialize};

/// `format` of a manifest.
pub const FORMAT: &str = "numalab record";
/// Format version this program writes and reads.
pub const VERSION: u64 = 1;

/// `manifest.json`: the plan, how its run ended, and the files of the record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// Always [`FORMAT`].
    pub format: String,
    /// Format version.
    pub format_version: u64,
    /// The plan's id, all digits.
    pub id: String,
    /// The plan.
    pub plan: Plan,
    /// How the run ended: `completed`, `timeout` or `failed`.
    pub status: String,
    /// Why the run failed, if it did.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub reason: Option<String>,
    /// Where the run had settled, if the rest of it was not simulated.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub settled: Option<Settled>,
    /// Warnings for the reader.
    pub warnings: Vec<String>,
    /// Effective value of every tunable.
    pub tunables: Vec<TunableEntry>,
    /// Time series, one file each.
    pub series: Vec<SeriesEntry>,
    /// Every other file of the record.
    pub files: Vec<FileEntry>,
}

/// The value of a tunable that the run used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TunableEntry {
    /// `group.key`.
    pub name: String,
    /// Value as text.
    pub value: String,
    /// Unit.
    pub unit: String,
    /// Name the kernel gives it (sysctl, debugfs), or `model`.
    pub kernel_name: String,
}

/// A file of the record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileEntry {
    /// Path inside the record.
    pub name: String,
    /// Length, bytes.
    pub bytes: u64,
    /// SHA-256 of its contents, hexadecimal.
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
    /// vmstat deltas under the kernel's names.
    #[serde(with = "ordered")]
    pub counters: Vec<(String, u64)>,
    /// Counts of skips and refusals by reason.
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
    /// The figures as an outcome has them.
    ///
    /// # Errors
    /// A direction that is neither `higher` nor `lower`, in words.
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
    /// vmstat deltas under the kernel's names.
    pub counters: Vec<(String, u64)>,
    /// Counts of skips and refusals by reason.
    pub reasons: Vec<(String, u64)>,
}

/// The word of a status, and the reason of a failure.
pub fn status_words(status: &Status) -> (String, Option<String>) {
    match status {
        Status::Completed => ("completed".into(), None),
        Status::Timeout => ("timeout".into(), None),
        Status::Failed(why) => ("failed".into(), Some(why.clone())),
    }
}

/// The status that a word and a reason stand for, `None` for an unknown word.
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
