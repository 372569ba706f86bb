//! When a task scans: the trigger on the tick and the gate of the scan work (kernel-numa-balancing.md §4, §5).
//!
//! Two clocks must agree. The trigger compares *runtime* with `node_stamp`, so sleeping tasks do not scan. The gate
//! compares *wall time* with the mm's `numa_next_scan`, so one thread scans per period and address space. `walk` has
//! the walk itself.

mod report;
mod space;
mod task_numa_work;
mod task_tick_numa;
mod vma_walk;

pub use report::{ScanArgs, ScanEnd, ScanReport};
pub use space::{Marked, ScanSpace, VmaView};
