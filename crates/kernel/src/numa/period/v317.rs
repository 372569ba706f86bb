//! Adaptation of 3.17: as 3.13 with threshold 7, so that periods shorten until 70 % of faults are local.

use super::interval::{Adapted, Interval};
use super::v313::adapt_by_locality;

/// Local tenths from which the period grows.
pub(super) const PERIOD_THRESHOLD: i64 = 7;

/// `update_task_scan_period` of 3.17.
pub fn adapt(interval: &Interval) -> Adapted {
    adapt_by_locality(interval, PERIOD_THRESHOLD, 0)
}
