//! The language of workload files.
//!
//! Problem: a file describes a workload for every machine.
//! Approach: the TOML language (with expressions of the machine) is *resolved* for one machine and one
//! seed into the plain types of [`numalab_nouns::workload`]: absolute sizes, absolute counts, one op list per thread.
//!
//! `docs/reference/workloads.md` describes the language. [`parse`] reads a file, and [`WorkloadSpec::resolve`]
//! evaluates it for a machine. Access patterns stand in [`crate::access`].

mod affinity;
mod ast;
mod check;
mod context;
mod cpuset;
mod emit;
mod families;
mod names;
mod parse;
mod parse_process;
mod parse_step;
mod pattern;
mod policy;
mod resolve;
mod scope;
mod tables;

pub use ast::{ParamSpec, WorkloadSpec};
pub use names::{Variable, VARIABLES};
pub(crate) use parse::aliases;
pub use parse::{parse, parse_with};
pub use resolve::{MAX_PROCESSES, MAX_THREADS};
pub use tables::MAX_OPS;

pub use numalab_nouns::workload::*;
