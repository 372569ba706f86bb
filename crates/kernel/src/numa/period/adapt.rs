//! Adaptation of the scan period (kernel: `update_task_scan_period`, kernel-numa-balancing.md §12).

use super::interval::{Adapted, Interval};
use super::{v313, v317, v40, v414};
use crate::numa::rules::PeriodModel;

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
