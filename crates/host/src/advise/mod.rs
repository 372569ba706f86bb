//! Advice by measurement: the user's own program, or their running service, under each setting in turn.
//!
//! Problem: whether NUMA balancing pays is a property of a program on a machine, and the difference is often smaller
//! than the drift between two runs.
//! Approach: every *round* measures each [`Way`] once, in an order that [`schedule`] balances. A round is a block: ways
//! are compared inside it, so slow drift cancels. [`session`] adds rounds until the intervals are narrow or the budget
//! ends, and [`decide`] turns the rounds into one decision. What is measured is behind the trait [`session::Measure`]:
//! runs of a command ([`command`]), or windows of a service with its own metric ([`service`]). [`measurement`] puts all
//! of that together, and is what a command calls.
//! Units: seconds, bytes, percent.
//! Invariants: every setting is known to a second process, the [`guardian`], before it is changed. The guardian puts it
//! back when this process ends, however it ends. Nothing but the switch of the kernel is changed outside the measured
//! program.

pub mod command;
pub mod counters;
pub mod decide;
pub mod guardian;
pub mod http;
pub mod measurement;
pub mod metric;
pub mod nodes;
pub mod schedule;
pub mod service;
pub mod session;
pub mod switch;
pub mod tree;
mod way;

pub use way::Way;

/// Why a measurement could not go on.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// This machine refuses: a file, a permission, a system call.
    #[error("{0}")]
    Machine(String),
    /// The measured program or the metric failed; there is no result.
    #[error("{0}")]
    Program(String),
}

/// An error of a file of this machine.
pub(crate) fn file_error(path: &std::path::Path, e: std::io::Error) -> Error {
    Error::Machine(format!("{}: {e}", path.display()))
}
