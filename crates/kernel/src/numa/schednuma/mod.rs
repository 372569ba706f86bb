//! schednuma: numa/core as posted on 25 October 2012, version v1r3 of mail 002 (designs-2012.md section 2).
//!
//! # Structure
//! There is no daemon. Each thread, at its own tick and on its own CPU time, may make the next 256 MB of its process's
//! address space inaccessible, at most every 200 ms per process ([`scan`]). Faults record the page's node per thread.
//! Once per sweep a thread takes the node with most faults as its *home* ([`placement`]).
//!
//! Allocation prefers the home node. Misplaced pages follow the faulting CPU once the thread has a home ([`fault`]).
//! The load balancer pulls tasks towards their homes ([`sched::Locality`](crate::sched::Locality)). There are no
//! statistics per process and there is no exchange.
//!
//! Units: ms of wall time or of CPU time as said, bytes of virtual space, pages of 4 KiB.

pub mod misplaced;
mod mm_scan;
pub mod placement;
pub mod scan;
mod sched_numa;
mod stale_nids;
mod task_home;
mod tunables;

pub use mm_scan::MmScan;
pub use sched_numa::SchedNuma;
pub use stale_nids::{StaleNids, MOVED};
pub use task_home::TaskHome;
pub use tunables::SchedNumaTunables;
