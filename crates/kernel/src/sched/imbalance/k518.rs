//! The series as merged in 5.18 (2cfb7a1b031b and e496132ebedd): one task per cache, a quarter of a one-cache node.

use super::sides::{adjust_numa_imbalance, ForkSides, NodeShape, PullSides, Threshold};

/// R = ⌊φ/λ⌋ caches, or a quarter of the node when it is one cache (which may be 0); scaled above the first NUMA level.
pub(super) fn threshold(shape: NodeShape) -> Threshold {
    let caches = shape.node / shape.llc.max(1);
    Threshold { base: if caches == 1 { shape.node >> 2 } else { caches }, scaled: true }
}

/// Local while, the child included, it has at most the threshold.
pub(super) fn fork_stays(s: &ForkSides) -> bool {
    s.local_nr < s.imb_numa_nr
}

/// Halved first; at most two are adjust_numa_imbalancen while the destination stays within the threshold.
pub(super) fn tasks_to_move(raw: i64, s: &PullSides) -> i64 {
    adjust_numa_imbalance(raw >> 1, s.local_nr < s.imb_numa_nr)
}
