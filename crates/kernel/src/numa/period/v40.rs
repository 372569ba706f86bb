//! Adaptation of 4.0: as 3.17, but failed migrations back off, and one is added to the faults for the private share.

use super::interval::{back_off, Adapted, Interval};
use super::v313::adapt_by_locality;
use super::v317::PERIOD_THRESHOLD;

/// `update_task_scan_period` of 4.0 to 4.13.
pub fn adapt(interval: &Interval) -> Adapted {
    let [_, _, failed] = interval.locality;
    if failed != 0 {
        return back_off(interval);
    }
    adapt_by_locality(interval, PERIOD_THRESHOLD, 1)
}
