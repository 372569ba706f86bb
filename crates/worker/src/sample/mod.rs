//! Reading what the kernel says: one file per source.

pub mod numa_maps;
pub mod placement;
pub mod sched;
pub mod trace;
pub mod vmstat;
