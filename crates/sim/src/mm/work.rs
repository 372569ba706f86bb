//! CPU time of memory operations.

use numalab_kernel::mm::reclaim::SwapTunables;
use numalab_kernel::mm::Work;
use numalab_nouns::machine::KernelCosts;

/// CPU time of an operation, ns: everything but the waits for the swap device.
pub fn cpu_ns(work: &Work, costs: &KernelCosts) -> u64 {
    let no_device = SwapTunables { write_page_ns: 0, read_page_ns: 0, ..SwapTunables::default() };
    // Changing the entry of another process costs about as much as copying one at a fork.
    let others = work.rmap_steps as f64 * costs.fork_pte_ns;
    (work.reclaim_ns(costs, &no_device) + work.split as f64 * costs.split_ns + others) as u64
}
