//! What a run produces, whichever backend ran it, and how it is kept on disk.
//!
//! Problem: a record must be complete or absent, identical for identical outcomes, and readable in ten years without
//! this program.
//! Approach: [`Outcome`] is what a backend returns. [`events`] and [`why`] are the logs of a run that was asked for
//! them. `Store` (feature `store`) is the directory of an experiment, with one record per plan.

pub mod events;
#[cfg(feature = "store")]
mod store;
pub mod why;

pub use numalab_nouns::record::{
    stalls, EffectiveTunable, Outcome, Scalar, Series, Settled, SettledRate, Status, TIMES, TOO_SHORT, WAKE_UPS,
};
#[cfg(feature = "store")]
pub use store::{
    goes_with_records, holds_records, part_of, read, try_index, write, ExperimentFile, FileEntry, Manifest, Member,
    Part, Record, RecordError, SeriesEntry, Store, Summaries, Summary, SOURCES,
};
