//! Records on disk.
//!
//! Approach: [`Store`] is the directory of an experiment. It has one directory per plan, named by the plan's id, with
//! `manifest.json`, `scalars.json` and one CSV file per time series (docs/reference/records.md). A record is built
//! beside its place and renamed into it. [`Summaries`] are what comparisons need of records, and are
//! kept in an index.
//! Invariants: nothing in a record depends on the clock, the host, the number of jobs or the build. A directory that
//! this program did not write is never written to.

mod error;
mod experiment;
mod folder;
mod index;
mod json;
mod manifest;
mod names;
mod part;
mod read;
mod sane;
mod series;
mod summaries;
mod summary;
mod write;

pub use error::RecordError;
pub use experiment::{ExperimentFile, Member, Store};
pub use folder::holds_records;
pub use index::try_index;
pub use manifest::{FileEntry, Manifest, SeriesEntry};
pub use names::{goes_with_records, SOURCES};
pub use part::{part_of, Part};
pub use read::{read, Record};
pub use summaries::Summaries;
pub use summary::Summary;
pub use write::write;

#[cfg(test)]
mod tests;
