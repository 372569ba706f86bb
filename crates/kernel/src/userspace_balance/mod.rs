//! Decisions of a daemon that balances from user space: threads towards memory, and memory towards threads.
//!
//! # Problem
//! A kernel without NUMA balancing, or with it switched off, leaves memory where it was first touched. A process with
//! the right to move pages and threads can do the work, but it sees less: where each thread runs, and how many pages of
//! each mapping are on which node. What it knows of their use depends on how it samples.
//!
//! # Approach
//! A process is a group of tasks that share memory ([`crate::numa::group`]). Its pages on a node stand for its memory
//! faults there, the CPU time of its threads for its CPU faults. On these figures the kernel's own rules decide:
//!
//! | question | rule |
//! |---|---|
//! | which node a group prefers | weights of nodes with their neighbours, then `preferred_group_nid` |
//! | how many threads a node may take | the NUMA imbalance of 6.0 on, `imb_numa_nr` from caches and CPUs |
//! | whether a page moves from one node to another | the group's rule since 4.6, with its hysteresis of 3/4 |
//! | which pages are left alone | the page filter of 6.10 on: shared copy-on-write pages |
//! | where a page goes that one node alone uses | to that node, as a private page does in the kernel |
//! | when a change is worth it | a gain of at least [`SMALLIMP`](crate::numa::placement::SMALLIMP), seen twice |
//!
//! Where it is known which pages are in use ([`Used`]), only those count, and only those move. Pages that nobody uses
//! cost nothing where they are, and weigh nothing in the choice of nodes.
//!
//! [`Balancer::decide`] takes one [`Look`] and answers with a [`Verdict`]: actions with reasons, and what it left
//! alone. It has no clock and no I/O. The daemon and the simulator call it alike, at a fixed interval.
//!
//! # Units and invariants
//! Memory is in pages of 4 KiB, shares in thousandths, CPU time in thousandths of a CPU. Tasks and groups have the
//! caller's ids. Equal looks lead to equal verdicts: nothing depends on hash order. No action concerns a task or a
//! mapping that is held. The pages of a verdict never exceed the budget of its look.

mod balancer;
mod decision;
mod groups;
mod homes;
mod look;
mod pages;
mod settings;
mod tunables;

pub use balancer::Balancer;
pub use decision::{Action, Decision, Left, Reason, Verdict};
pub use look::{Hold, Look, MappingLook, NodeLook, TaskLook, Used};
pub use settings::Settings;
pub use tunables::UserspaceTunables;

#[cfg(test)]
mod tests;
