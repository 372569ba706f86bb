//! "Adjust NUMA imbalance for multiple LLCs", version 3 of 1 December 2021, on 5.16-rc1. Not merged in this form.
//!
//! The threshold is half a cache divided by the number of caches of the *machine*, at least 1, the same at every level.
//! With several caches per node it is 1, which in effect tolerates no imbalance.

use super::sides::{
    adjust_numa_imbalance, ForkSides, ImbalanceRule, NodeShape, PlacementLoad, PullSides, Terms, Threshold,
};

/// The rule of version 3.
pub struct ImbV3;

impl ImbalanceRule for ImbV3 {
    /// max(1, ⌊(λ/2) / (⌊φ/λ⌋·N)⌋), not scaled.
    fn threshold(shape: NodeShape) -> Option<Threshold> {
        let caches = (shape.node / shape.llc.max(1)).max(1) * shape.nodes.max(1);
        Some(Threshold { base: ((shape.llc >> 1) / caches).max(1), scaled: false })
    }

    /// Stays local while the local group has fewer tasks than the threshold.
    fn fork_stays(s: &ForkSides) -> bool {
        s.local_nr < s.imb_numa_nr
    }

    /// Half of the difference. Up to two are tolerated while the *source* has fewer tasks than the threshold.
    fn tasks_to_move(raw: i64, s: &PullSides) -> i64 {
        adjust_numa_imbalance(raw >> 1, s.busiest_nr < s.imb_numa_nr)
    }

    /// Up to two are tolerated while the destination runs fewer tasks than `imb_numa_nr`.
    fn placement(l: &PlacementLoad) -> Option<u32> {
        Some(l.unless(l.dst_running < l.imb_numa_nr))
    }

    fn fork_terms(s: &ForkSides) -> Option<Terms> {
        Some(Terms { count: s.local_nr, limit: s.imb_numa_nr, up_to: false })
    }

    fn pull_terms(s: &PullSides) -> Option<Terms> {
        Some(Terms { count: s.busiest_nr, limit: s.imb_numa_nr, up_to: false })
    }

    fn placement_terms(l: &PlacementLoad) -> Option<Terms> {
        Some(Terms { count: l.dst_running, limit: l.imb_numa_nr, up_to: false })
    }
}
