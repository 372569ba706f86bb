//! 5.7 to 5.10: nothing is pulled from a group of at most two tasks (b396f52326de). A fork stays while the node has an
//! idle CPU, since 5.5 (57abff067a08).

use super::sides::{ForkSides, ImbalanceRule, PlacementLoad, PullSides, NUMA_IMBALANCE_MIN};

/// The rule of 5.7.
pub struct Fixed2;

impl ImbalanceRule for Fixed2 {
    /// Stays local while any local CPU is idle. This holds from 5.5 on, when groups are first compared by type, so also
    /// before any imbalance was allowed (kernel-scheduler.md §5.2).
    fn fork_stays(s: &ForkSides) -> bool {
        s.local_idle > 0
    }

    /// Half of the difference; nothing from a group of at most two tasks.
    fn tasks_to_move(raw: i64, s: &PullSides) -> i64 {
        if i64::from(s.busiest_nr) <= NUMA_IMBALANCE_MIN {
            0
        } else {
            raw >> 1
        }
    }

    /// Nothing if the source has at most two tasks, a pair of communicating tasks; sizes play no part (5.7 to 5.10).
    fn placement(l: &PlacementLoad) -> Option<u32> {
        Some(if i64::from(l.src_running) <= NUMA_IMBALANCE_MIN { 0 } else { l.imbalance })
    }
}
