//! The nouns of numalab: machine, kernel, workload, plan, outcome.
//!
//! Problem: three backends and several reports must agree on what was asked and what came out.
//! Approach: every noun has one *resolved* Rust type with dense indices and explicit units. How files are read into
//! them is told by the crate `model`, which stands above this one. The kernel, the simulator and the worker see this
//! one alone. Units: the last part of a name (`_ns`, `_bytes`, `_gbps` = 10^9 bytes per second, `_ghz`).
//! Invariant: a value of a resolved type has passed validation; backends never re-check it. Nothing here reads files,
//! knows a format or a catalog.

pub mod access;
pub mod kernel;
pub mod machine;
pub mod plan;
pub mod record;
pub mod workload;
