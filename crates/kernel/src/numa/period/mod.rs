//! Scan period: bounds from the resident set (kernel-numa-balancing.md §3) and adaptation (§12).
//!
//! Periods are milliseconds of *runtime*. Everything is integer arithmetic of the kernel's widths: u64
//! inside, truncated to u32 at the end; the adaptation adds in u32, so that it can wrap as the kernel's does.

pub mod v313;
pub mod v317;
pub mod v38;
pub mod v40;
pub mod v414;

use super::config::{NumaConfig, Scan};
use numalab_base::words;

/// Most the scanner may cover, MiB per second.
pub const MAX_SCAN_WINDOW_MB: u32 = 2560;

words! {
    /// Bounds and adaptation of the scan period.
    pub enum PeriodModel {
        /// 3.8: fixed bounds, slower with every fault that did not migrate.
        V38 = "v38",
        /// 3.13: by locality, threshold 3.
        V313 = "v313",
        /// 3.17: by locality, threshold 7.
        V317 = "v317",
        /// 4.0: as 3.17, but failed migrations double the period.
        V40 = "v40",
        /// 4.14: private ratio first, then locality; bounds scaled by the group.
        V414 = "v414",
    }
}

/// What a group contributes to the bounds: members and the faults of its memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupScale {
    /// References, which in practice are the members.
    pub members: u64,
    /// Sum of the group's private MEM averages.
    pub private: u64,
    /// Sum of the group's shared MEM averages.
    pub shared: u64,
}

impl GroupScale {
    /// G(x) = ⌊x·members·(shared+1) / (private+shared+1)⌋, multiplied first.
    pub fn scale(self, x: u64) -> u64 {
        let product = x.wrapping_mul(self.members).wrapping_mul(self.shared.wrapping_add(1));
        product / self.private.wrapping_add(self.shared).wrapping_add(1).max(1)
    }
}

/// Pages of one scan window (MBpages(scan_size)).
#[inline]
pub fn window_pages(scan: &Scan) -> u64 {
    u64::from(scan.scan_size_mb) * 256
}

/// Windows needed for a resident set (`task_nr_scan_windows`), with the kernel's OR-rounding, which is
/// a true ceiling only for powers of two.
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

/// Period a task starts with, ms (`task_scan_start`); `group` as of now.
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

/// Longest period, ms (`task_scan_max`); `group` as of now.
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

/// What the adaptation looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interval {
    /// Period now, ms.
    pub period: u32,
    /// Pages of remote, local and failed-migration faults since the last placement.
    pub locality: [u64; 3],
    /// Pages of shared faults since the last placement.
    pub shared: u64,
    /// Pages of private faults since the last placement.
    pub private: u64,
    /// Shortest period, ms.
    pub min: u32,
    /// Longest period, ms.
    pub max: u32,
    /// `numa_scan_period_max` of the task, ms: bound of the back-off.
    pub backoff_max: u32,
}

/// What the adaptation decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Adapted {
    /// New period, ms.
    pub period: u32,
    /// Nothing to learn from: the next scan of the whole mm is postponed by the new period.
    pub backoff: bool,
}

/// Adapts the period after a placement (`update_task_scan_period`).
pub fn adapt(model: PeriodModel, interval: &Interval) -> Adapted {
    match model {
        PeriodModel::V38 => Adapted { period: interval.period, backoff: false },
        PeriodModel::V313 => v313::adapt(interval),
        PeriodModel::V317 => v317::adapt(interval),
        PeriodModel::V40 => v40::adapt(interval),
        PeriodModel::V414 => v414::adapt(interval),
    }
}

/// The period of an interval that taught nothing: doubled, up to the task's maximum.
fn back_off(interval: &Interval) -> Adapted {
    Adapted { period: interval.backoff_max.min(interval.period.wrapping_shl(1)), backoff: true }
}

/// ⌈period/10⌉: the step of the adaptation.
fn slot(period: u32) -> i64 {
    i64::from(period.div_ceil(10))
}

/// ⌊10·part/(part+rest)⌋, 0 if both are 0.
fn tenths(part: u64, rest: u64) -> i64 {
    part.wrapping_mul(10).checked_div(part.wrapping_add(rest)).unwrap_or(0) as i64
}

/// Adds in u32 (a negative sum wraps to a huge value) and clamps.
fn step(interval: &Interval, diff: i64) -> Adapted {
    let period = interval.period.wrapping_add(diff as u32);
    Adapted { period: period.max(interval.min).min(interval.max), backoff: false }
}
