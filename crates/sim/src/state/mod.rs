//! The simulated machine at an instant: nouns only.
//!
//! Each file holds one kind of state and the small rules that need nothing else. [`simulation`] puts the parts
//! together. Whatever one part of the state does to another is a mechanism and stands in a folder above.

pub(crate) mod anon_vma_lock;
pub(crate) mod by_offset;
pub(crate) mod clock_hand;
pub(crate) mod contender;
pub(crate) mod convoy;
pub(crate) mod cpu;
pub(crate) mod cpu_order;
pub(crate) mod damon_state;
pub(crate) mod effects;
pub(crate) mod event_queue;
pub(crate) mod fast_sweeps;
pub(crate) mod fault_locks;
pub(crate) mod file_pages;
pub(crate) mod inflight_thp_copy;
pub(crate) mod interleaved_pages;
pub(crate) mod khugepaged_cursor;
pub(crate) mod lock_line;
pub(crate) mod log;
pub(crate) mod logged;
pub(crate) mod maps;
pub(crate) mod memory_daemons;
pub(crate) mod mmap_lock;
pub(crate) mod numa_2012;
pub(crate) mod page_migration;
pub(crate) mod page_site;
pub(crate) mod pending_counts;
pub(crate) mod pins;
pub(crate) mod policies;
pub(crate) mod process;
pub(crate) mod quiet_cpus;
pub(crate) mod recorded_odds;
pub(crate) mod samples;
pub(crate) mod scan_visits;
pub(crate) mod score_clock;
pub(crate) mod settling;
pub(crate) mod simulation;
pub(crate) mod split_thp_migration;
pub(crate) mod stalls;
pub(crate) mod step;
pub(crate) mod swap_queue;
pub(crate) mod sweep_positions;
pub(crate) mod task;
pub(crate) mod task_migration;
pub(crate) mod unrun;
pub(crate) mod userspace_balance;
pub(crate) mod vm_counters;
pub(crate) mod wait;
pub(crate) mod why;
