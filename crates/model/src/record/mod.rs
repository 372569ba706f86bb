//! What a run produces, whichever backend ran it, and how it is kept on disk.
//!
//! Problem: a record must be complete or absent, identical for identical outcomes, and readable in ten
//! years without this program.
//! Approach: [`Outcome`] is what a backend returns. [`Store`] is the directory of an experiment, with one
//! directory per plan named by the plan's id: `manifest.json`, `scalars.json` and one CSV file per time
//! series (docs/records.md). A record is built beside its place and renamed into it.
//! Invariants: nothing in a record depends on the clock, the host, the number of jobs or the build; a
//! directory this program did not write is never written to.

mod error;
pub mod events;
mod folder;
mod json;
mod manifest;
mod part;
mod read;
mod series;
mod store;
pub mod why;
mod write;

pub use error::RecordError;
pub use folder::{goes_with_records, holds_records};
pub use manifest::{FileEntry, Manifest, SeriesEntry, SOURCES};
pub use part::{part_of, Part};
pub use read::{read, Record};
pub use store::{ExperimentFile, Member, Store};
pub use write::write;

use serde::{Deserialize, Serialize};

/// What every warning says that takes a run for too short; a report gives no verdict on such runs.
pub const TOO_SHORT: &str = "too short to tell";

/// Everything a backend measured in one run of one plan.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// How it ended.
    pub status: Status,
    /// Named figures: `elapsed_s`, `user_s`, `system_s`, `blocked_s`, then one per score of the workload.
    pub scalars: Vec<Scalar>,
    /// vmstat deltas under the kernel's names, in the order of the counters table.
    pub counters: Vec<(String, u64)>,
    /// Skips and refusals with their reason (`skip.pid_inactive`, …), counted.
    pub reasons: Vec<(String, u64)>,
    /// Samples over time.
    pub series: Vec<Series>,
    /// Effective value of every tunable: (`group.key`, value, unit, kernel name).
    pub tunables: Vec<EffectiveTunable>,
    /// What a reader must know ([`TOO_SHORT`], feature approximated, …).
    pub warnings: Vec<String>,
}

/// How a run ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Status {
    /// The workload ended by itself.
    #[default]
    Completed,
    /// The model-time or wall-time limit was reached.
    Timeout,
    /// The workload could not go on (out of memory, guest panic, …): a reason.
    Failed(String),
}

/// A figure with its unit and direction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scalar {
    /// Name.
    pub name: String,
    /// Value.
    pub value: f64,
    /// Unit.
    pub unit: String,
    /// Direction.
    pub higher_is_better: bool,
}

/// A time series with one or more columns on one time axis.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// Name, e.g. `node_pages` (per process and node) or `hint_faults`.
    pub name: String,
    /// Unit of the values.
    pub unit: String,
    /// Column names, e.g. `main.0/node1`.
    pub columns: Vec<String>,
    /// Sample times from the start of the run, ns.
    pub time_ns: Vec<u64>,
    /// `values[column][sample]`.
    pub values: Vec<Vec<f64>>,
}

/// A tunable as the run used it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EffectiveTunable {
    /// `group.key`.
    pub name: String,
    /// Value as text.
    pub value: String,
    /// Unit.
    pub unit: String,
    /// Kernel name, or `model`.
    pub kernel_name: String,
}

#[cfg(test)]
mod tests;
