//! Hint faults: what an access to a PROT_NONE entry records and causes (kernel-numa-balancing.md §9).
//!
//! One fault is two calls.
//!
//! * [`hint_fault_begin`](super::NumaBalancing::hint_fault_begin) counts it, applies policy and migration rule, and
//!   names a target.
//! * The caller then tries the migration, after
//!   [`migrate_misplaced_folio_prepare`](super::NumaBalancing::migrate_misplaced_folio_prepare).
//! * [`hint_fault_end`](super::NumaBalancing::hint_fault_end) counts the result, records statistics
//!   (`task_numa_fault`) and may place the task.
//!
//! The order matters: the page's last cpupid is read before it is replaced, and locality is judged before the
//! migration.

mod around_hint_fault;
mod decay;
mod fault_counts;
mod mpol_misplaced;
pub mod policy;
pub mod should_migrate;
mod task_numa_placement;

pub use decay::{cpu_share, decay_cpu, decay_mem};
