//! NUMA balancing of 3.8 and later: scan, hint fault, page migration, task migration.

pub(crate) mod concurrent_hint_fault;
pub(crate) mod grain_refusals;
pub(crate) mod held_page;
pub(crate) mod hint_fault;
pub(crate) mod migrate_page;
pub(crate) mod scan_in_task;
pub(crate) mod shared_page_migration;
pub(crate) mod task_host;
pub(crate) mod task_migration;
pub(crate) mod task_numa_fault;
