//! Period of 3.8 ("balancenuma"): fixed bounds that do not depend on the resident set.
//!
//! That release has `scan_period_min_ms = 100` and `scan_period_max_ms = 5000` (`catalog/releases.toml`). The period
//! grows by ten jiffies with every hint fault whose page did not migrate. It returns to the minimum once per
//! `scan_period_reset_ms` of wall time.

use crate::numa::config::Scan;
use crate::numa::jiffies::Hz;

/// Shortest and first period, ms.
pub fn scan_min(scan: &Scan) -> u32 {
    scan.scan_period_min_ms
}

/// Longest period, ms.
pub fn scan_max(scan: &Scan) -> u32 {
    scan.scan_period_max_ms
}

/// Period after a hint fault whose page did not migrate, ms.
pub fn after_unmigrated_fault(scan: &Scan, hz: Hz, period: u32) -> u32 {
    scan.scan_period_max_ms.min(period.saturating_add(hz.msecs(10) as u32))
}
