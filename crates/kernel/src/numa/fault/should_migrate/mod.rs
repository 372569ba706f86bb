//! Whether a page migrates to the faulting node (kernel: `should_numa_migrate_memory`, kernel-numa-balancing.md §10).
//!
//! Every rule first replaces the page's last cpupid by the present one, even if the page stays. The rules since 3.13
//! build on each other: a two-stage filter, then group statistics (3.15), then an exception for the early life of a
//! task. That exception is 4.19's (37355bdc5a12, with the removal of the rate limit), although its word is v420. 3.15
//! is from memory.

mod decide;
pub mod deferred;
mod facts;
pub mod moron;
mod should_numa_migrate_memory;
pub mod v313;
pub mod v315;
pub mod v38;
pub mod v420;
pub mod v46;

pub use facts::MigrationFacts;
