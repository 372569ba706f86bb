//! 5.6 to 5.10: a source of at most two tasks is left alone (b396f52326de); a fork stays while the node has an idle CPU,
//! since 5.5 (57abff067a08).

use super::sides::{ForkSides, PullSides, NUMA_IMBALANCE_MIN};

/// Local while it has any idle CPU: since groups are compared by type (5.5), so also before there was an allowance
/// (kernel-scheduler.md §5.2).
pub(super) fn fork_stays(s: &ForkSides) -> bool {
    s.local_idle > 0
}

/// Half of the difference, nothing from a group of at most two tasks.
pub(super) fn tasks_to_move(raw: i64, s: &PullSides) -> i64 {
    if i64::from(s.busiest_nr) <= NUMA_IMBALANCE_MIN {
        0
    } else {
        raw >> 1
    }
}
