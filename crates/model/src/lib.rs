//! The nouns of numalab: machine, kernel, workload, experiment, plan, record.
//!
//! Problem: three backends and several reports must agree on what was asked and what came out.
//! Approach: every noun has one *resolved* Rust type with dense indices and explicit units. The TOML forms are parsed
//! and validated into these types here and nowhere else.
//! Units: the last part of a name (`_ns`, `_bytes`, `_gbps` = 10^9 bytes per second, `_ghz`).
//! Invariant: a value of a resolved type has passed validation; backends never re-check it.
//!
//! The feature `store` (on by default) has everything that reads or writes files: records on disk, overlays of the
//! catalog, paths to TOML files, and machines read from sysfs. Without it the crate needs no operating system, so that
//! the simulator builds for `wasm32-unknown-unknown`.

pub mod access;
pub mod catalog;
pub mod counters;
pub mod experiment;
pub mod expr;
#[cfg(feature = "store")]
pub mod files;
#[cfg(not(feature = "store"))]
#[path = "files/none.rs"]
mod files;
pub mod kernel;
pub mod machine;
mod outcome;
pub mod plan;
pub mod published;
pub mod record;
pub mod spec;
pub mod workload;
