//! AutoNUMA, version 27 of October 2012 (designs-2012.md section 1).
//!
//! # Structure
//! One daemon, knuma_scand, walks every process, counts where its pages are and marks the mappings so that the next
//! access faults ([`scand`]). The fault counts, per thread, the node of the page and may migrate the page to the
//! faulting CPU's node at once ([`fault`], [`limit`]). A hook at the end of the load-balance softirq compares threads by
//! their own statistics inside a process and by those of their processes across processes ([`stats`]), and exchanges the
//! running task with one that runs where it would rather be ([`balance`]). CFS keeps a soft preference for the node
//! chosen ([`sched::Locality`](crate::sched::Locality)).
//!
//! The daemon is the only source of events: without it nothing of this runs.
//!
//! Units: pages of 4 KiB, ms, weights in thousandths. Ties go to the lowest number.

mod auto_numa;
pub mod balance;
pub mod fault;
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
