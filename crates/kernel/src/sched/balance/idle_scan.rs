//! How many CPUs of a cache an idle search may visit from 6.0 on (SIS_UTIL, kernel: `update_idle_cpu_scan`).

/// Number of CPUs that an idle search may visit in a cache of `llc` CPUs whose utilisation is `util_sum`. It is 0 near
/// 85 %.
pub fn scan_limit(util_sum: u64, llc: u32, imbalance_pct: u32) -> u32 {
    let (llc, pct) = (u64::from(llc.max(1)), u64::from(imbalance_pct));
    let mean = util_sum / llc;
    let used = (mean * mean * pct * pct / (10_000 * 1024)).min(1024);
    ((1024 - used) * llc / 1024) as u32
}
