//! `numalab record`: a program's memory and threads over time, in the form of a run's outcome.
//!
//! Problem: a recording must be comparable with simulated and guest runs, so it needs their names, units and series.
//! Approach: a [`Recorder`] takes samples with the sampler of [`crate::watch`], and [`Recorder::finish`] returns an
//! [`Outcome`] with the series that runs of real kernels have: `vmstat`, `node_pages`, `task_node` and
//! `task_preferred_node`. Tracepoints are counted where tracefs may be written.
//! Invariants: a process or thread that appears later has figures of 0 or -1 before. Columns are limited; what has none
//! is counted under `others`. The CPU time that recording itself takes is measured beside it.

pub mod memory_samples;
mod recorder;
mod series;

pub use recorder::{cpu_time, Recorder, Recording};
