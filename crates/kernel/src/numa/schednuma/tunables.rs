//! schednuma's tunables.

use crate::numa::rules::{FaultStatsRole, PageMigrateRole, ScanRole};

numalab_base::tunables! {
    /// schednuma's sysctls and scheduler features (designs-2012.md section 2.2), and switches to take parts of it away.
    pub struct SchedNumaTunables: "schednuma" {
        /// CPU time before a thread's first scan.
        scan_delay_ms: u32 = 1000, "ms", "kernel.sched_numa_scan_delay_ms", range 0..=86_400_000,
            read when "scan" is ScanRole::SchedNuma.only();
        /// Shortest scan period of a thread; twice this is the least time between scans of a process.
        scan_period_min_ms: u32 = 100, "ms", "kernel.sched_numa_scan_period_min_ms", range 1..=86_400_000,
            read when "scan" is ScanRole::SchedNuma.only();
        /// Longest scan period of a thread.
        scan_period_max_ms: u32 = 1600, "ms", "kernel.sched_numa_scan_period_max_ms", range 1..=86_400_000,
            read when "scan" is ScanRole::SchedNuma.only();
        /// Virtual length made inaccessible by one scan.
        scan_size_mb: u32 = 256, "MiB", "kernel.sched_numa_scan_size_mb", range 1..=4_194_304,
            read when "scan" is ScanRole::SchedNuma.only();
        /// Sweeps that must have gone by since the home was last set.
        settle_count: u32 = 2, "sweeps", "kernel.sched_numa_settle_count", range 0..=1000,
            read when "fault_stats" is FaultStatsRole::SchedNuma.only();
        /// Scheduler feature NUMA_SETTLE: honour `settle_count`.
        numa_settle: bool = true, "", "debugfs sched_features NUMA_SETTLE",
            read when "fault_stats" is FaultStatsRole::SchedNuma.only();
        /// A page moves only after two faults in a row from one node.
        two_in_a_row: bool = true, "", "model",
            read when "page_migrate" is PageMigrateRole::SchedNuma.only();
        /// A huge page's copy is thrown away if its entry changed meanwhile.
        copies_lost: bool = true, "", "model",
            read when "page_migrate" is PageMigrateRole::SchedNuma.only();
        /// A page that has moved once stays ("spread once, then freeze").
        freeze: bool = false, "", "model",
            read when "page_migrate" is PageMigrateRole::SchedNuma.only();
        /// The process may be scanned again after the scanning thread's own period, not after twice the shortest.
        own_period_gate: bool = false, "", "model",
            read when "scan" is ScanRole::SchedNuma.only();
        /// Pages that may move into one node per 100 ms; 0 is no limit.
        migrate_limit_pages: u32 = 0, "pages", "model", range 0..=2_147_483_647,
            read when "page_migrate" is PageMigrateRole::SchedNuma.only();
        /// A hint fault that leaves a huge page where it is takes its write permission away. (Patches 14 and 22 of 31
        /// restore `vm_page_prot`, which has none for private memory.) The store that caused it then takes a second
        /// fault, which flushes the TLBs of all CPUs of the process.
        huge_loses_write: bool = true, "", "model",
            read when "page_migrate" is PageMigrateRole::SchedNuma.only();
        /// System time of a scan for each huge page it passes that its known parts do not explain, on idle
        /// memory; it grows with the latency of the scanned memory. None is charged since the second faults
        /// (`huge_loses_write`) are known, though mail 002 has more system time than they explain; until then it was
        /// 78, calibrated on one cell of it.
        huge_residue_us: u32 = 0, "us", "model", range 0..=10_000_000,
            read when "scan" is ScanRole::SchedNuma.only();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn section_2_2_defaults() {
        let k = SchedNumaTunables::default();
        let got = [k.scan_delay_ms, k.scan_period_min_ms, k.scan_period_max_ms, k.scan_size_mb, k.settle_count];
        assert_eq!(got, [1000, 100, 1600, 256, 2]);
        assert!(k.numa_settle && k.two_in_a_row && k.copies_lost);
        assert_eq!(k.migrate_limit_pages, 0, "section 2.4 step 7: no rate limit");
    }
}
