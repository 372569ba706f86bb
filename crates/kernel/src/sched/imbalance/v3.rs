//! "Adjust NUMA imbalance for multiple LLCs", version 3 of 1 December 2021, on 5.16-rc1. Not merged in this form.
//!
//! The threshold is half a cache divided by the number of caches of the *machine*, at least 1, the same at every level.
//! With several caches per node it is 1, which in effect tolerates no imbalance.

use super::sides::{adjust_numa_imbalance, ForkSides, NodeShape, PullSides, Threshold};

/// max(1, ⌊(λ/2) / (⌊φ/λ⌋·N)⌋), not scaled.
pub(super) fn threshold(shape: NodeShape) -> Threshold {
    let caches = (shape.node / shape.llc.max(1)).max(1) * shape.nodes.max(1);
    Threshold { base: ((shape.llc >> 1) / caches).max(1), scaled: false }
}

/// Stays local while the local group has fewer tasks than the threshold.
pub(super) fn fork_stays(s: &ForkSides) -> bool {
    s.local_nr < s.imb_numa_nr
}

/// Half of the difference. Up to two are tolerated while the *source* has fewer tasks than the threshold.
pub(super) fn tasks_to_move(raw: i64, s: &PullSides) -> i64 {
    adjust_numa_imbalance(raw >> 1, s.busiest_nr < s.imb_numa_nr)
}
