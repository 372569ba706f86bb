//! Adaptation since 4.14: private faults slow scanning down first, then local ones; failed migrations back off.

use super::interval::{back_off, slot, step, tenths, Adapted, Interval};

/// Tenths from which the period grows.
const PERIOD_THRESHOLD: i64 = 7;

/// `update_task_scan_period` of 4.14 to 6.12.
pub fn adapt(interval: &Interval) -> Adapted {
    let [remote, local, failed] = interval.locality;
    if local.wrapping_add(interval.shared) == 0 || failed != 0 {
        return back_off(interval);
    }
    let slot = slot(interval.period);
    let local = tenths(local, remote);
    let private = tenths(interval.private, interval.shared);
    let slots = if private >= PERIOD_THRESHOLD {
        (private - PERIOD_THRESHOLD).max(1)
    } else if local >= PERIOD_THRESHOLD {
        (local - PERIOD_THRESHOLD).max(1)
    } else {
        -(PERIOD_THRESHOLD - local.max(private))
    };
    step(interval, slots * slot)
}
