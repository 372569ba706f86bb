//! Automatic NUMA balancing: scan address spaces, take hint faults, move pages to tasks and tasks to pages.
//!
//! # Problem
//! A kernel that wants memory near its users must find out who uses it. It periodically takes access to pages away
//! (PROT_NONE), so that the next access faults. From these *hint faults* it keeps statistics per task and group. It
//! migrates pages towards tasks and tasks towards pages, and adapts how often it scans.
//!
//! # Approach
//! This module makes decisions only; it has no clock and no I/O. The caller owns page tables ([`scan::ScanSpace`]),
//! scheduler ([`TaskHost`]) and time. It calls in at the places where the kernel does, and charges the costs:
//!
//! | moment | call |
//! |---|---|
//! | tick of a running task | [`task_tick_numa`]; if true, at return to user mode: [`task_numa_work`], charge, [`scan_done`] |
//! | access to a PROT_NONE entry | [`hint_fault_begin`], the migration if there is a target, [`hint_fault_end`] |
//! | before the migration | [`migrate_misplaced_folio_prepare`] |
//! | store to an entry that lost write permission | [`wp_page_reuse`] |
//! | fork, exec, exit | [`fork`], [`exec`], [`exit`] |
//! | a task changes CPU | [`update_scan_period`] |
//! | load balance | the balancer asks through [`NumaView`](crate::sched::NumaView) (see `numa_view`) |
//!
//! [`task_tick_numa`]: NumaBalancing::task_tick_numa
//! [`task_numa_work`]: NumaBalancing::task_numa_work
//! [`scan_done`]: NumaBalancing::scan_done
//! [`hint_fault_begin`]: NumaBalancing::hint_fault_begin
//! [`migrate_misplaced_folio_prepare`]: NumaBalancing::migrate_misplaced_folio_prepare
//! [`hint_fault_end`]: NumaBalancing::hint_fault_end
//! [`wp_page_reuse`]: NumaBalancing::wp_page_reuse
//! [`fork`]: NumaBalancing::fork
//! [`exec`]: NumaBalancing::exec
//! [`exit`]: NumaBalancing::exit
//! [`update_scan_period`]: method@NumaBalancing::update_scan_period
//!
//! Inside, a recorded fault goes `task_numa_fault` → `task_numa_placement` → `numa_migrate_preferred` →
//! `task_numa_migrate` → `task_numa_compare`, each a file of that name in [`fault`] or [`placement`].
//!
//! Releases differ by switches ([`config`]). Variants are one file each in `vma_filter`, `page_filter`, `period`,
//! `imbalance` and `fault/should_migrate`; `rules` names them. The rules are those of kernel-numa-balancing.md, whose
//! sections (§) are cited throughout.
//!
//! The two designs of 2012, AutoNUMA and schednuma, are mechanisms of their own, in [`autonuma`] and [`schednuma`].
//! [`design`] says which fills which role.
//!
//! # Units and invariants
//! Time is in jiffies ([`jiffies::Jiffies`]), runtime in ns, periods in ms of runtime, memory in pages of 4 KiB. Tasks,
//! mms, nodes and CPUs are indices from 0. Arithmetic has the kernel's widths. Nothing here depends on hash order or
//! floats, and nothing allocates after a task's first recorded fault.

pub mod autonuma;
mod balancing;
pub mod caller;
pub mod config;
pub mod counters;
pub mod design;
pub mod fault;
mod fault_result;
pub mod group;
pub mod host;
pub mod init_numa_balancing;
pub mod jiffies;
pub mod mark;
pub mod migrate;
mod numa_view;
pub mod page;
pub mod page_filter;
pub mod period;
pub mod placement;
mod preferred_nid;
pub mod rate_limit;
pub mod rules;
pub mod scan;
mod scan_period;
pub mod schednuma;
pub mod state;
pub mod tiering;
pub mod topology;
mod update_scan_period;
pub mod vma_filter;
pub mod weights;

pub use balancing::NumaBalancing;
pub use config::{NumaConfig, NumaSettings};
pub use counters::{NumaCounters, NumaReasons};
pub use design::Design;

pub use fault_result::{FaultDecision, FaultFlags, FaultOutcome, FaultSite, MigrateResult};
pub use group::Groups;
pub use host::TaskHost;
pub use mark::MarkRules;
pub use page::PageFacts;
pub use scan::{ScanArgs, ScanSpace};
pub use state::{LastCpupid, MmNuma, TaskNuma, VmaNuma};
pub use topology::NumaTopology;
