//! Work of the kernel during an operation, and its cost (machines.md section 4, thp-and-allocation.md section 4.5).
//!
//! Operations add to a [`Work`]. The caller charges its time to the task that waited.

use crate::mm::reclaim::swap::SwapTunables;
use numalab_nouns::machine::KernelCosts;

/// Kernel work. Fields count base pages, unless they say events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Scanned by reclaim.
    pub scanned: u64,
    /// Scanned by reclaim and kept or deactivated, events (one for a huge page).
    pub rotated: u64,
    /// Freed by reclaim, of all kinds.
    pub reclaimed: u64,
    /// Written back to files.
    pub written: u64,
    /// Swapped out.
    pub swapped_out: u64,
    /// Swapped in.
    pub swapped_in: u64,
    /// Moved to a slower tier.
    pub demoted: u64,
    /// Scanned by both scanners of compaction.
    pub compact_scanned: u64,
    /// Moved by compaction.
    pub compact_moved: u64,
    /// Copied by write faults, collapses and migrations inside the operation.
    pub copied: u64,
    /// Huge pages split, events.
    pub split: u64,
    /// Huge entries split, events.
    pub split_pmd: u64,
    /// Lookups in other address spaces to find the mappings of a page, events.
    pub rmap_steps: u64,
    /// Throttled sleeps because the reserves are nearly used up, events.
    pub throttled: u64,
}

impl Work {
    /// Time of reclaim, swap, demotion and compaction, ns. A task that reclaims directly waits for it. The caller
    /// knows the nodes and adds the time of other copies, splits and reverse-map lookups.
    pub fn reclaim_ns(&self, costs: &KernelCosts, swap: &SwapTunables) -> f64 {
        let out = costs.swap_out_ns + f64::from(swap.write_page_ns);
        let back = costs.swap_in_ns + f64::from(swap.read_page_ns);
        let clean = self.reclaimed.saturating_sub(self.swapped_out + self.demoted);
        // To find out whether a mapped page was used costs about as much as to free an unmapped one (model): its
        // entries are looked up through the reverse map.
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
        // thp-and-allocation.md section 14: 512 to 1024 pages at 8 us each are 4 to 8 ms, plus CPU time.
        let costs = KernelCosts { swap_out_ns: 3000.0, compact_scan_ns: 20.0, ..KernelCosts::default() };
        let w = Work { swapped_out: 1024, reclaimed: 1024, ..Work::default() };
        let device = 1024.0 * 8000.0;
        assert_eq!(w.reclaim_ns(&costs, &SwapTunables::default()), device + 1024.0 * 3000.0);
        assert_eq!(Work { compact_scanned: 512, ..w }.compaction_ns(&costs), 10_240.0);
    }
}
