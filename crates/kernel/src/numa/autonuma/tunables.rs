//! AutoNUMA's tunables.

use crate::numa::rules::{FaultStatsRole, PageMigrateRole, ScanRole, TaskMigrateRole};

numalab_base::tunables! {
    /// AutoNUMA's knobs (designs-2012.md section 1.3), its retuning of khugepaged, and switches to take parts of it
    /// away.
    pub struct AutoNumaTunables: "autonuma" {
        /// Sleep after all processes were walked once.
        scan_sleep_pass_millisecs: u32 = 10_000, "ms", "sys/kernel/mm/autonuma/knuma_scand/scan_sleep_pass_millisecs",
            range 0..=86_400_000,
            read when "scan" is ScanRole::AutoNuma.only();
        /// Sleep after each burst of `pages_to_scan`.
        scan_sleep_millisecs: u32 = 100, "ms", "sys/kernel/mm/autonuma/knuma_scand/scan_sleep_millisecs",
            range 1..=86_400_000,
            read when "scan" is ScanRole::AutoNuma.only();
        /// Progress per burst (128 MiB).
        pages_to_scan: u32 = 32_768, "pages", "sys/kernel/mm/autonuma/knuma_scand/pages_to_scan",
            range 1..=2_147_483_647,
            read when "scan" is ScanRole::AutoNuma.only();
        /// Length of the migration rate window.
        migrate_sleep_millisecs: u32 = 100, "ms", "sys/kernel/mm/autonuma/migrate_sleep_millisecs",
            range 1..=86_400_000,
            read when "page_migrate" is PageMigrateRole::AutoNuma.only();
        /// Pages that may move into one node per window (128 MiB).
        pages_to_migrate: u32 = 32_768, "pages", "sys/kernel/mm/autonuma/pages_to_migrate", range 0..=2_147_483_647,
            read when "page_migrate" is PageMigrateRole::AutoNuma.only();
        /// Mark at page-table (2 MiB) granularity instead of per 4 KiB entry.
        scan_pmd: bool = true, "", "sys/kernel/mm/autonuma/knuma_scand/scan_pmd",
            read when "page_migrate" is PageMigrateRole::AutoNuma.only();
        /// Non-idle load balancing may not take a task off its selected node.
        sched_load_balance_strict: bool = false, "", "sys/kernel/mm/autonuma/sched/load_balance_strict (debug)",
            read when "task_migrate" is TaskMigrateRole::Exchange.only();
        /// New threads inherit their parent's counters.
        child_inheritance: bool = false, "", "sys/kernel/mm/autonuma/sched/child_inheritance (debug)",
            read when "fault_stats" is FaultStatsRole::AutoNuma.only();
        /// The first hinting fault a page takes may migrate it.
        migrate_allow_first_fault: bool = true, "", "sys/kernel/mm/autonuma/migrate_allow_first_fault (debug)",
            read when "page_migrate" is PageMigrateRole::AutoNuma.only();
        /// Pages untouched since the last pass are not counted for the process.
        mm_working_set: bool = true, "", "sys/kernel/mm/autonuma/mm_working_set (debug)",
            read when "fault_stats" is FaultStatsRole::AutoNuma.only();
        /// Tasks of different processes are compared by the statistics of their processes, not by their own.
        process_weights: bool = true, "", "model",
            read when "task_migrate" is TaskMigrateRole::Exchange.only();
        /// Huge pages migrate as a whole instead of being split (a port of November 2012).
        native_huge: bool = false, "", "model",
            read when "page_migrate" is PageMigrateRole::AutoNuma.only();
        /// Moves of split huge pages of one mapping wait for each other: `try_to_unmap` and `remove_migration_ptes` of
        /// 3.7 hold the mutex of its `anon_vma`, the flush in between included.
        anon_vma_mutex: bool = true, "", "model",
            read when "page_migrate" is PageMigrateRole::AutoNuma.only();
        /// khugepaged's sleep between rounds while AutoNUMA is on.
        khugepaged_scan_sleep_millisecs: u32 = 100, "ms", "sys/kernel/mm/transparent_hugepage/khugepaged/scan_sleep_millisecs",
            range 1..=86_400_000,
            read when "page_migrate" is PageMigrateRole::AutoNuma.only();
        /// khugepaged's sleep after a failed allocation while AutoNUMA is on.
        khugepaged_alloc_sleep_millisecs: u32 = 10_000, "ms",
            "sys/kernel/mm/transparent_hugepage/khugepaged/alloc_sleep_millisecs", range 1..=86_400_000,
            read when "page_migrate" is PageMigrateRole::AutoNuma.only();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn section_1_3_defaults() {
        let k = AutoNumaTunables::default();
        assert_eq!((k.scan_sleep_pass_millisecs, k.scan_sleep_millisecs, k.pages_to_scan), (10_000, 100, 32_768));
        assert_eq!((k.migrate_sleep_millisecs, k.pages_to_migrate), (100, 32_768));
        assert!(k.scan_pmd && k.migrate_allow_first_fault && k.mm_working_set);
        assert!(!k.sched_load_balance_strict && !k.child_inheritance);
        let khugepaged = (k.khugepaged_scan_sleep_millisecs, k.khugepaged_alloc_sleep_millisecs);
        assert_eq!(khugepaged, (100, 10_000), "section 1.6");
    }
}
