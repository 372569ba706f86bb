//! Hint faults: what an access to a PROT_NONE entry teaches and causes (kernel-numa-balancing.md §9).
//!
//! One fault is two calls. [`NumaBalancing::do_numa_page_begin`] counts it, consults policy and migration rule and
//! names a target; the caller then tries the migration (after [`NumaBalancing::migrate_misplaced_folio_prepare`]) and reports the
//! result to [`NumaBalancing::do_numa_page_end`], which counts it, records statistics and may place the task.
//! The order matters: the page's last cpupid is read before it is exchanged, locality is judged before migration.

mod decay;
mod do_numa_page;
mod mpol_misplaced;
pub mod policy;
pub mod should_migrate;
mod task_numa_fault;
mod task_numa_placement;

pub use decay::{cpu_share, decay_cpu, decay_mem};
