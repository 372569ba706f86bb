//! The series as merged in 5.18 (2cfb7a1b031b and e496132ebedd): one task per cache, a quarter of a one-cache node.

use super::sides::{
    adjust_numa_imbalance, ForkSides, ImbalanceRule, NodeShape, PlacementLoad, PullSides, Terms, Threshold,
};

/// The rule of 5.18.
pub struct Imb518;

impl ImbalanceRule for Imb518 {
    /// R = ⌊φ/λ⌋ caches, or a quarter of a node that is one cache, which may be 0. Scaled above the first NUMA level.
    fn threshold(shape: NodeShape) -> Option<Threshold> {
        let caches = shape.node / shape.llc.max(1);
        Some(Threshold { base: if caches == 1 { shape.node >> 2 } else { caches }, scaled: true })
    }

    /// Stays local while the local group, with the child, has at most as many tasks as the threshold.
    fn fork_stays(s: &ForkSides) -> bool {
        s.local_nr < s.imb_numa_nr
    }

    /// Half of the difference. Up to two are tolerated while the destination, with one more task, stays within the
    /// threshold.
    fn tasks_to_move(raw: i64, s: &PullSides) -> i64 {
        adjust_numa_imbalance(raw >> 1, s.local_nr < s.imb_numa_nr)
    }

    /// Up to two are tolerated while the destination runs at most `imb_numa_nr` tasks.
    fn placement(l: &PlacementLoad) -> Option<u32> {
        Some(l.unless(l.dst_running <= l.imb_numa_nr))
    }

    fn fork_terms(s: &ForkSides) -> Option<Terms> {
        Some(Terms { count: s.local_nr + 1, limit: s.imb_numa_nr, up_to: true })
    }

    fn pull_terms(s: &PullSides) -> Option<Terms> {
        Some(Terms { count: s.local_nr + 1, limit: s.imb_numa_nr, up_to: true })
    }

    fn placement_terms(l: &PlacementLoad) -> Option<Terms> {
        Some(Terms { count: l.dst_running, limit: l.imb_numa_nr, up_to: true })
    }
}
