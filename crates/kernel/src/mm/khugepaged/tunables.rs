//! Tunables of khugepaged.

use crate::mm::khugepaged::mthp::CollapseSizes;
use crate::mm::thp::tunables::ThpEnabled;

numalab_base::tunables! {
    /// Settings of khugepaged.
    pub struct KhugepagedTunables: "khugepaged" {
        read when "system.thp" is ThpEnabled::SOME;

        /// khugepaged runs.
        collapse: bool = true, "", "model";
        /// khugepaged may compact and reclaim.
        defrag: bool = true, "", "sys/kernel/mm/transparent_hugepage/khugepaged/defrag";
        /// Pages scanned in a round.
        pages_to_scan: u32 = 4096, "pages", "sys/kernel/mm/transparent_hugepage/khugepaged/pages_to_scan",
            range 1..=2_147_483_647;
        /// Sleep between rounds.
        scan_sleep_millisecs: u32 = 10_000, "ms", "sys/kernel/mm/transparent_hugepage/khugepaged/scan_sleep_millisecs",
            range 0..=2_147_483_647;
        /// Sleep after a failed allocation.
        alloc_sleep_millisecs: u32 = 60_000, "ms", "sys/kernel/mm/transparent_hugepage/khugepaged/alloc_sleep_millisecs",
            range 0..=2_147_483_647;
        /// Empty entries that a collapse may fill.
        max_ptes_none: u32 = 511, "entries", "sys/kernel/mm/transparent_hugepage/khugepaged/max_ptes_none",
            range 0..=511;
        /// Swapped entries that a collapse may read back.
        max_ptes_swap: u32 = 64, "entries", "sys/kernel/mm/transparent_hugepage/khugepaged/max_ptes_swap",
            range 0..=511;
        /// Entries of pages shared with other processes that a collapse may copy.
        max_ptes_shared: u32 = 256, "entries", "sys/kernel/mm/transparent_hugepage/khugepaged/max_ptes_shared",
            range 0..=511;
        /// Only the target node is allowed, even if others have as many pages (before the allowed-mask scheme).
        this_node: bool = false, "", "model";
        /// Sizes that khugepaged collapses to. By default no size below 2 MiB is enabled for a fault, and all are the
        /// same then; the simulator has none.
        sizes: CollapseSizes = CollapseSizes::Pmd, "", "model", unread = true;
    }
}
