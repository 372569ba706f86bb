//! The series as merged in 5.18 (2cfb7a1b031b and e496132ebedd): one task per cache, a quarter of a one-cache node.

use super::sides::{adjust_numa_imbalance, ForkSides, NodeShape, PullSides, Threshold};

/// R = ⌊φ/λ⌋ caches, or a quarter of a node that is one cache, which may be 0. Scaled above the first NUMA level.
pub(super) fn threshold(shape: NodeShape) -> Threshold {
    let caches = shape.node / shape.llc.max(1);
    Threshold { base: if caches == 1 { shape.node >> 2 } else { caches }, scaled: true }
}

/// Stays local while the local group, with the child, has at most as many tasks as the threshold.
pub(super) fn fork_stays(s: &ForkSides) -> bool {
    s.local_nr < s.imb_numa_nr
}

/// Half of the difference. Up to two are tolerated while the destination, with one more task, stays within the
/// threshold.
pub(super) fn tasks_to_move(raw: i64, s: &PullSides) -> i64 {
    adjust_numa_imbalance(raw >> 1, s.local_nr < s.imb_numa_nr)
}
