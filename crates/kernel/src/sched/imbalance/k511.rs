//! The 25 % rule of 5.11 to 5.17 (commits 7d2b5dd0bcc4 and its fork-time companion).
//!
//! It floats with the size of the groups: the *source* group decides in the balancer, the whole *domain* at fork.

use super::sides::{adjust_numa_imbalance, ForkSides, PullSides};

/// Local while it has fewer tasks than a quarter of the domain.
pub(super) fn fork_stays(s: &ForkSides) -> bool {
    s.local_nr < s.span_weight / 4
}

/// Halved first; at most two are adjust_numa_imbalancen while the source is below a quarter of itself.
pub(super) fn tasks_to_move(raw: i64, s: &PullSides) -> i64 {
    adjust_numa_imbalance(raw >> 1, s.busiest_nr < s.busiest_weight / 4)
}
