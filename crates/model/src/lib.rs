//! How the nouns of numalab are written and kept: files of machines, kernels, workloads and experiments, the catalog,
//! other tools' descriptions of machines, and records.
//!
//! Problem: a file must be refused with its place and the nearest name, or mean one thing to every backend.
//! Approach: the TOML forms are parsed and validated into the resolved types of `numalab_nouns` here and nowhere else.
//! The kernel, the simulator and the worker do not see this crate, so a change of it rebuilds none of them.
//!
//! The feature `store` (on by default) has everything that reads or writes files: records on disk, overlays of the
//! catalog, paths to TOML files, and machines read from sysfs. Without it the crate needs no operating system, and
//! builds for `wasm32-unknown-unknown`.

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
pub mod plan;
pub mod published;
pub mod record;
pub mod spec;
pub mod workload;

pub use numalab_nouns::access;
