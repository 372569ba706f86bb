//! 5.6 to 5.10: nothing is pulled from a group of at most two tasks (b396f52326de). A fork stays while the node has an
//! idle CPU, since 5.5 (57abff067a08).

use super::sides::{ForkSides, PullSides, NUMA_IMBALANCE_MIN};

/// Stays local while any local CPU is idle. This holds from 5.5 on, when groups are first compared by type, so also
/// before any imbalance was allowed (kernel-scheduler.md §5.2).
pub(super) fn fork_stays(s: &ForkSides) -> bool {
    s.local_idle > 0
}

/// Half of the difference; nothing from a group of at most two tasks.
pub(super) fn tasks_to_move(raw: i64, s: &PullSides) -> i64 {
    if i64::from(s.busiest_nr) <= NUMA_IMBALANCE_MIN {
        0
    } else {
        raw >> 1
    }
}
