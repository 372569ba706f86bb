//! The 25 % rule of 5.11 to 5.17 (commits 7d2b5dd0bcc4 and its fork-time companion).
//!
//! The threshold follows the size of the groups: of the *source* group in the balancer, of the whole *domain* at fork.

use super::sides::{adjust_numa_imbalance, ForkSides, PullSides};

/// Stays local while the local group has fewer tasks than a quarter of the domain's CPUs.
pub(super) fn fork_stays(s: &ForkSides) -> bool {
    s.local_nr < s.span_weight / 4
}

/// Half of the difference. Up to two are tolerated while the source has fewer tasks than a quarter of its CPUs.
pub(super) fn tasks_to_move(raw: i64, s: &PullSides) -> i64 {
    adjust_numa_imbalance(raw >> 1, s.busiest_nr < s.busiest_weight / 4)
}
