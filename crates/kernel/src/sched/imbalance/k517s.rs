//! The 25 % rule made consistent (stable backport of 2cfb7a1b031b): the local group decides, with the new task counted.

use super::sides::{adjust_numa_imbalance, ForkSides, PullSides};

/// Stays local while the local group, with the child, has fewer tasks than a quarter of its CPUs.
pub(super) fn fork_stays(s: &ForkSides) -> bool {
    s.local_nr + 1 < s.local_weight / 4
}

/// Half of the difference. Up to two are tolerated while the destination, with one more task, has fewer tasks than a
/// quarter of its CPUs.
pub(super) fn tasks_to_move(raw: i64, s: &PullSides) -> i64 {
    adjust_numa_imbalance(raw >> 1, s.local_nr + 1 < s.local_weight / 4)
}
