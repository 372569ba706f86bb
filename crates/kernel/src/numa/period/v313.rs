//! Adaptation of 3.13: by locality, with threshold 3; speeding up is damped by the share of private faults.

use super::interval::{back_off, slot, step, tenths, Adapted, Interval};

/// Local tenths from which the period grows.
const PERIOD_THRESHOLD: i64 = 3;

/// `update_task_scan_period` of 3.13.
pub fn adapt(interval: &Interval) -> Adapted {
    adapt_by_locality(interval, PERIOD_THRESHOLD, 0)
}

/// The adaptation that 3.13, 3.17 and 4.0 share. With local faults the period grows by whole slots. Otherwise it
/// shrinks by slots scaled with the private share, rounded up to tenths, so shared pages do not speed it up. `more` is
/// added to the faults of which that is a share.
pub(super) fn adapt_by_locality(interval: &Interval, threshold: i64, more: u64) -> Adapted {
    let [remote, local, _] = interval.locality;
    if local.wrapping_add(interval.shared) == 0 {
        return back_off(interval);
    }
    let slot = slot(interval.period);
    let ratio = tenths(local, remote);
    if ratio >= threshold {
        return step(interval, (ratio - threshold).max(1) * slot);
    }
    let faults = interval.private.wrapping_add(interval.shared).wrapping_add(more);
    let private = if faults == 0 { 0 } else { interval.private.wrapping_mul(10).div_ceil(faults) };
    // Rust's division truncates toward zero, as the kernel's does.
    step(interval, -(threshold - ratio) * slot * private as i64 / 10)
}
