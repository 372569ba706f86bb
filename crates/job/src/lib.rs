//! What the worker is told, and how a guest reports: the two formats that both sides must read alike.
//!
//! A [`Job`] is a resolved workload with settings, as JSON. A report is a stream of frames with checksums ([`frame`]).

pub mod frame;
pub mod job;
#[cfg(any(test, feature = "samples"))]
pub mod samples;
pub mod setting;

pub use job::Job;
