//! Counters of memory management, with the names of `/proc/vmstat` (thp-and-allocation.md section 1.3).

use numalab_base::counters;

/// Allocation statistics, events: one per allocation of any size (`zone_statistics`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AllocCounters {
    /// Allocated on the intended node, which is the first allowed node of the request's list.
    pub numa_hit: u64,
    /// Allocated on this node although another node was intended.
    pub numa_miss: u64,
    /// Intended for this node, allocated on another.
    pub numa_foreign: u64,
    /// Allocated on the node of the allocating CPU.
    pub numa_local: u64,
    /// Allocated on another node than that of the allocating CPU.
    pub numa_other: u64,
    /// Allocated by an interleave policy on the intended node (`interleave_hit` in numastat).
    pub numa_interleave: u64,
}

counters! {
    /// Events of huge pages, compaction, reclaim and swap.
    pub struct MmCounters {
        /// Huge pages allocated by page faults.
        thp_fault_alloc,
        /// Page faults that wanted a huge page and got a base page.
        thp_fault_fallback,
        /// Huge zero pages allocated: one, by the first read fault that maps it, and not one for every mapping.
        thp_zero_page_alloc,
        /// Huge pages allocated by khugepaged.
        thp_collapse_alloc,
        /// Huge page allocations of khugepaged that failed.
        thp_collapse_alloc_failed,
        /// Huge pages split into base pages.
        thp_split_page,
        /// Huge entries split into base-page entries; the page may stay whole.
        thp_split_pmd,
        /// Huge pages put on the deferred split queue because they are partly unmapped.
        thp_deferred_split_page,
        /// Huge pages swapped out in one piece.
        thp_swpout,
        /// Huge pages split because swap had no 512 adjacent slots.
        thp_swpout_fallback,
        /// Huge pages migrated.
        thp_migration_success,
        /// Huge page migrations that failed.
        thp_migration_fail,
        /// Huge pages split in order to migrate their pages.
        thp_migration_split,
        /// Direct compactions that ran.
        compact_stall,
        /// Direct compactions that ran and gave no page.
        compact_fail,
        /// Direct compactions that gave a page.
        compact_success,
        /// Wake-ups of kcompactd that ran.
        compact_daemon_wake,
        /// Pages looked at by the migrate scanner.
        compact_migrate_scanned,
        /// Pages looked at by the free scanner.
        compact_free_scanned,
        /// Pages isolated by compaction.
        compact_isolated,
        /// Node reclaims (`zone_reclaim_mode`) that freed enough.
        zone_reclaim_success,
        /// Node reclaims (`zone_reclaim_mode`) that did not free enough.
        zone_reclaim_failed,
        /// Times that kswapd balanced a node (`pageoutrun`).
        pageoutrun,
        /// Pages looked at by kswapd.
        pgscan_kswapd,
        /// Pages looked at by direct reclaim.
        pgscan_direct,
        /// Pages reclaimed by kswapd.
        pgsteal_kswapd,
        /// Pages reclaimed by direct reclaim.
        pgsteal_direct,
        /// Pages that went to the active list.
        pgactivate,
        /// Pages that went from the active to the inactive list.
        pgdeactivate,
        /// Pages looked at on the active list.
        pgrefill,
        /// Anonymous pages read back from swap whose shadow entry says when they were evicted.
        workingset_refault_anon,
        /// Refaults so early that the page would have stayed with a longer inactive list.
        workingset_activate_anon,
        /// Activated refaults of pages that had been on the active list before.
        workingset_restore_anon,
        /// Pages demoted to a slower tier by kswapd.
        pgdemote_kswapd,
        /// Pages demoted to a slower tier by direct reclaim.
        pgdemote_direct,
        /// Direct reclaims (`allocstall_*`).
        allocstall,
        /// Pages swapped in.
        pswpin,
        /// Pages swapped out.
        pswpout,
        /// Base pages migrated.
        pgmigrate_success,
        /// Base pages whose migration failed.
        pgmigrate_fail,
        /// Page faults.
        pgfault,
        /// Page faults that read from a device.
        pgmajfault,
        /// Write faults that found their page exclusive (`pgreuse`).
        pgreuse,
        /// Requests that ended in the OOM killer.
        oom_kill,
        /// Huge pages that khugepaged made of base pages.
        pages_collapsed,
        /// Full passes of khugepaged over all processes.
        full_scans,
    }
}
