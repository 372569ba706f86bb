//! Parameters of the 3.8 period.

use crate::numa::rules::{ScanRole, BALANCING_ON};

numalab_base::tunables! {
    /// Parameters of the 3.8 period.
    pub struct V38Tunables: "scan_v38" {
        read when "system.numa_balancing" is BALANCING_ON;
        read when "scan" is ScanRole::V38.only();

        /// How often the scanning task's period returns to its minimum.
        scan_period_reset_ms: u32 = 60_000, "ms", "kernel.numa_balancing_scan_period_reset", range 0..=86_400_000;
    }
}
