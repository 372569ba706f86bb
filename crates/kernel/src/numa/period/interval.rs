//! What the adaptation of the scan period reads and decides, and the steps that releases share.

/// What the adaptation reads.
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
    /// The interval had nothing to learn from. The next scan of the whole mm is postponed by the new period.
    pub backoff: bool,
}

/// The period after an interval with nothing to learn from: doubled, up to the maximum of the task.
pub(super) fn back_off(interval: &Interval) -> Adapted {
    Adapted { period: interval.backoff_max.min(interval.period.wrapping_shl(1)), backoff: true }
}

/// ⌈period/10⌉: the step of the adaptation.
pub(super) fn slot(period: u32) -> i64 {
    i64::from(period.div_ceil(10))
}

/// ⌊10·part/(part+rest)⌋, 0 if both are 0.
pub(super) fn tenths(part: u64, rest: u64) -> i64 {
    part.wrapping_mul(10).checked_div(part.wrapping_add(rest)).unwrap_or(0) as i64
}

/// Adds in u32, where a negative sum wraps to a huge value, and clamps.
pub(super) fn step(interval: &Interval, diff: i64) -> Adapted {
    let period = interval.period.wrapping_add(diff as u32);
    Adapted { period: period.max(interval.min).min(interval.max), backoff: false }
}
