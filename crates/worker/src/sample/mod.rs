//! Readers of the kernel's files and calls, one source each.

pub mod interrupts;
pub mod numa_maps;
pub mod placement;
pub mod probes;
pub mod sched;
pub mod smaps;
pub mod trace;
pub mod vmstat;
