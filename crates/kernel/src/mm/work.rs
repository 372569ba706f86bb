//! What an operation made the kernel do, and what that costs (machines.md section 4, thp-and-allocation.md 4.5).
//!
//! Operations add to a [`Work`]; whoever runs them charges its time to the task that waited.

use crate::mm::reclaim::swap::SwapTunables;
use numalab_model::machine::KernelCosts;

/// Kernel work, in pages unless a line says otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Looked at by reclaim.
    pub scanned: u64,
    /// Looked at by reclaim and left, or deactivated, events (one for a huge page).
    pub rotated: u64,
    /// Freed by reclaim, all kinds.
    pub reclaimed: u64,
    /// Written back to files.
    pub written: u64,
    /// Swapped out.
    pub swapped_out: u64,
    /// Swapped in.
    pub swapped_in: u64,
    /// Moved to a slower tier.
    pub demoted: u64,
    /// Looked at by both scanners of compaction.
    pub compact_scanned: u64,
    /// Moved by compaction.
    pub compact_moved: u64,
    /// Base pages copied by write faults, collapses and migrations inside the operation.
    pub copied: u64,
    /// Huge pages split, events.
    pub split: u64,
    /// Huge entries split, events.
    pub split_pmd: u64,
    /// Entries looked up in other address spaces to find the mappings of a page, events.
    pub rmap_steps: u64,
    /// Sleeps for being throttled while reserves are nearly used up, events.
    pub throttled: u64,
}

impl Work {
    /// Time of reclaim, swap, demotion and compaction, ns: what a task waits for that reclaims directly. Other copies,
    /// splits and reverse-map steps are priced by the caller, who knows the nodes.
    pub fn reclaim_ns(&self, costs: &KernelCosts, swap: &SwapTunables) -> f64 {
        let out = costs.swap_out_ns + f64::from(swap.write_page_ns);
        let back = costs.swap_in_ns + f64::from(swap.read_page_ns);
        let clean = self.reclaimed.saturating_sub(self.swapped_out + self.demoted);
        // To find out whether a mapped page was used costs about what freeing an unmapped one does (model): its entries
        // are looked up through the reverse map instead.
        (clean + self.rotated) as f64 * costs.reclaim_page_ns
            + self.swapped_out as f64 * out
            + self.written as f64 * f64::from(swap.write_page_ns)
            + self.swapped_in as f64 * back
            + self.demoted as f64 * (costs.migrate_4k_batched_ns + costs.copy_4k_remote_ns)
            + self.compaction_ns(costs)
    }
    /// Time of compaction alone, ns.
    pub fn compaction_ns(&self, costs: &KernelCosts) -> f64 {
        self.compact_scanned as f64 * costs.compact_scan_ns + self.compact_moved as f64 * costs.compact_migrate_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_storm_fault_costs_milliseconds() {
        // thp-and-allocation.md section 14: 512 to 1024 pages at 8 us each are 4 to 8 ms, plus the CPU part.
        let costs = KernelCosts { swap_out_ns: 3000.0, compact_scan_ns: 20.0, ..KernelCosts::default() };
        let w = Work { swapped_out: 1024, reclaimed: 1024, ..Work::default() };
        let device = 1024.0 * 8000.0;
        assert_eq!(w.reclaim_ns(&costs, &SwapTunables::default()), device + 1024.0 * 3000.0);
        assert_eq!(Work { compact_scanned: 512, ..w }.compaction_ns(&costs), 10_240.0);
    }
}
