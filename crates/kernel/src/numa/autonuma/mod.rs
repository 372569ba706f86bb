//! AutoNUMA, version 27 of October 2012 (designs-2012.md section 1).
//!
//! # Structure
//! One daemon, knuma_scand, walks every process. It counts where the process's pages are, and marks its mappings so
//! that the next access faults ([`scand`]). The fault counts the node of the page for the thread, and may migrate the
//! page to the faulting CPU's node at once ([`fault`], [`limit`]).
//!
//! A hook at the end of the load-balance softirq compares threads: by their own statistics inside a process, by those
//! of their processes across processes ([`stats`]). It exchanges the running task with a task on the node it should run
//! on ([`balance`]). CFS keeps a soft preference for the selected node ([`sched::Locality`](crate::sched::Locality)).
//!
//! The daemon is the only source of events: without it no part of this runs.
//!
//! Units: pages of 4 KiB, ms, weights in thousandths. Ties go to the lowest number.

mod auto_numa;
pub mod balance;
pub mod first_fault;
pub mod limit;
pub mod scand;
pub mod stats;
mod tunables;

pub use auto_numa::AutoNuma;
pub use balance::{BalanceHost, Choice};
pub use limit::MigrateWindow;
pub use scand::{Pause, Scand};
pub use stats::{MmStats, TaskStats};
pub use tunables::AutoNumaTunables;
