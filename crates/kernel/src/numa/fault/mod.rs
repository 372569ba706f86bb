//! Hint faults: what an access to a PROT_NONE entry records and causes (kernel-numa-balancing.md §9).
//!
//! One fault is two calls.
//!
//! * [`do_numa_page_begin`](super::NumaBalancing::do_numa_page_begin) counts it, applies policy and migration rule, and
//!   names a target.
//! * The caller then tries the migration, after
//!   [`migrate_misplaced_folio_prepare`](super::NumaBalancing::migrate_misplaced_folio_prepare).
//! * [`do_numa_page_end`](super::NumaBalancing::do_numa_page_end) counts the result, records statistics
//!   (`task_numa_fault`) and may place the task.
//!
//! The order matters: the page's last cpupid is read before it is replaced, and locality is judged before the
//! migration.

mod decay;
mod do_numa_page;
mod mpol_misplaced;
pub mod policy;
pub mod should_migrate;
mod task_numa_fault;
mod task_numa_placement;

pub use decay::{cpu_share, decay_cpu, decay_mem};
