//! Settings and behaviour switches of NUMA balancing (kernel-numa-balancing.md sections 1 and 17).

use crate::tunable::Word;

crate::tunables! {
    /// What NUMA balancing reads beside its roles.
    pub struct Numa: "numa" {
        /// Delay before the first scan of an address space and of a VMA; also sets the PID windows.
        scan_delay_ms: u32 = 1000, "ms", "debugfs sched/numa_balancing/scan_delay_ms", range 0..=600_000;
        /// Time to scan the whole resident set at the fastest pace.
        scan_period_min_ms: u32 = 1000, "ms", "debugfs sched/numa_balancing/scan_period_min_ms", range 1..=600_000;
        /// Time to scan the whole resident set at the slowest pace.
        scan_period_max_ms: u32 = 60_000, "ms", "debugfs sched/numa_balancing/scan_period_max_ms", range 1..=3_600_000;
        /// Address space marked by one scan.
        scan_size_mb: u32 = 256, "MiB", "debugfs sched/numa_balancing/scan_size_mb", range 1..=65_536;
        /// Age under which a slow-tier page counts as hot.
        hot_threshold_ms: u32 = 1000, "ms", "debugfs sched/numa_balancing/hot_threshold_ms", range 1..=600_000;
        /// Promotions to a node per second at most.
        promote_rate_limit_mbps: u32 = 65_536, "MiB/s", "kernel.numa_balancing_promote_rate_limit_MBps", range 0..=16_777_216;
        /// Mappings up to which the mapcount_threshold page filter marks a page.
        mapcount_limit: u32 = 5, "mappings", "model", range 0..=1_000_000;
        /// The mapcount_threshold page filter looks at copy-on-write mappings only.
        mapcount_cow_only: bool = false, "", "model";
        /// Migrations to a node are limited to 128 MiB per 100 ms (3.8 to 4.18) or not at all.
        rate_limit: Word = "off", "", "model", choices ["off", "legacy"];
        /// A doubled scan period clears the local, remote and failed counts too.
        locality_reset_on_backoff: bool = false, "", "model";
        /// A hint fault on a local page records its CPU and PID in the page.
        local_fault_updates_cpupid: bool = false, "", "model";
        /// A migrated small private page comes back read-only, so that its next store faults.
        migration_drops_write: bool = false, "", "model";
        /// Migrating a page flushes the TLB although its entry was inaccessible (6.3 and 6.4).
        migrate_flush_inaccessible: bool = false, "", "model";
    }
}
