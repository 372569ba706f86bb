//! `numalab balance`: a daemon that balances from user space.
//!
//! Problem: the kernel cannot be changed, or its balancing costs more than it gains, and memory is where it was first
//! touched.
//! Approach: the decisions are those of [`numalab_kernel::userspace_balance`]; this module has the eyes and hands.
//! [`Survey`] makes a look from procfs, a [`sampler`] tells which memory is in use, [`Daemon`] asks for a verdict at a
//! fixed interval and carries it out through [`Hands`], which tests replace. [`State`] keeps every affinity that was
//! changed in a file before it is changed, so that it can be undone after a crash. [`metrics`] serves counters on
//! loopback. Units: pages of 4 KiB, rates in MB (10^6 bytes) per second, shares of one CPU.
//! Invariants: nothing that is pinned or has a memory policy of its own is touched. Pages that another process maps too
//! are refused by the kernel itself. While the kernel's own balancing is on, nothing is done.

mod daemon;
mod hands;
mod log;
mod machine;
pub mod metrics;
mod movers;
pub mod sampler;
mod sampling;
mod state;
mod summary;
mod survey;
pub mod usage;
mod walk;

pub use daemon::{Daemon, Halt, Options};
pub use hands::{Hands, Kernel};
pub use log::{Line, Log};
pub use machine::Shape;
pub use state::State;
pub use survey::Survey;

#[cfg(test)]
mod tests;
