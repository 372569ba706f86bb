//! The 25 % rule made consistent (stable backport of 2cfb7a1b031b): the local group with the new task decides.

use super::sides::{adjust_numa_imbalance, ForkSides, PullSides};

/// Local while, the child included, it has fewer tasks than a quarter of itself.
pub(super) fn fork_stays(s: &ForkSides) -> bool {
    s.local_nr + 1 < s.local_weight / 4
}

/// Halved first; at most two are adjust_numa_imbalancen while the destination stays below a quarter of itself.
pub(super) fn tasks_to_move(raw: i64, s: &PullSides) -> i64 {
    adjust_numa_imbalance(raw >> 1, s.local_nr + 1 < s.local_weight / 4)
}
