//! Bounds of the scan period from the resident set (kernel-numa-balancing.md §3).

use super::group_scale::GroupScale;
use super::v38;
use crate::numa::config::{NumaConfig, Scan};
use crate::numa::rules::PeriodModel;

/// Largest scan rate, MiB per second.
pub const MAX_SCAN_WINDOW_MB: u32 = 2560;

/// Pages of one scan window (MBpages(scan_size)).
#[inline]
pub fn window_pages(scan: &Scan) -> u64 {
    scan.base_page.of_mib(u64::from(scan.scan_size_mb))
}

/// Windows needed for a resident set (`task_nr_scan_windows`). The kernel rounds by OR, which is a true ceiling only
/// for powers of two.
pub fn windows(scan: &Scan, rss_pages: u64) -> u64 {
    let n = window_pages(scan);
    let rss = if rss_pages == 0 { n } else { rss_pages };
    (((rss - 1) | (n - 1)) + 1) / n
}

/// Shortest period, ms (`task_scan_min`).
pub fn scan_min(cfg: &NumaConfig, rss_pages: u64) -> u32 {
    match cfg.period_model {
        PeriodModel::V38 => v38::scan_min(&cfg.scan),
        PeriodModel::V313 | PeriodModel::V317 | PeriodModel::V40 | PeriodModel::V414 => {
            scan_min_by_rss(&cfg.scan, rss_pages) as u32
        }
    }
}

/// Period a task starts with, ms (`task_scan_start`). `group` is the present state of its group.
pub fn scan_start(cfg: &NumaConfig, rss_pages: u64, group: Option<GroupScale>) -> u32 {
    match cfg.period_model {
        PeriodModel::V38 => v38::scan_min(&cfg.scan),
        PeriodModel::V313 | PeriodModel::V317 | PeriodModel::V40 => scan_min_by_rss(&cfg.scan, rss_pages) as u32,
        PeriodModel::V414 => {
            let min = scan_min_by_rss(&cfg.scan, rss_pages);
            group.map_or(min, |g| min.max(g.scale(min))) as u32
        }
    }
}

/// Longest period, ms (`task_scan_max`). `group` is the present state of its group.
pub fn scan_max(cfg: &NumaConfig, rss_pages: u64, group: Option<GroupScale>) -> u32 {
    let by_rss = || u64::from(cfg.scan.scan_period_max_ms) / windows(&cfg.scan, rss_pages);
    match cfg.period_model {
        PeriodModel::V38 => v38::scan_max(&cfg.scan),
        PeriodModel::V313 | PeriodModel::V317 | PeriodModel::V40 => {
            scan_min_by_rss(&cfg.scan, rss_pages).max(by_rss()) as u32
        }
        PeriodModel::V414 => {
            let max = by_rss();
            let max = group.map_or(max, |g| max.max(g.scale(max)));
            scan_min_by_rss(&cfg.scan, rss_pages).max(max) as u32
        }
    }
}

fn scan_min_by_rss(scan: &Scan, rss_pages: u64) -> u64 {
    let per_second = if scan.scan_size_mb < MAX_SCAN_WINDOW_MB { MAX_SCAN_WINDOW_MB / scan.scan_size_mb } else { 1 };
    let floor = u64::from(1000 / per_second);
    floor.max(u64::from(scan.scan_period_min_ms) / windows(scan, rss_pages))
}
