//! 6.0 and later (cb29a5c19d2d, 026b98a93bbd, f5b2eeb49991): an eighth of a one-cache node; tolerated before halving.
//!
//! At fork the *difference* of idle CPUs counts, so tasks spread gradually and do not fill the node first. A task with
//! few allowed CPUs in the local group lowers the threshold.

use super::sides::{
    adjust_numa_imbalance, ForkSides, ImbalanceRule, NodeShape, PlacementLoad, PullSides, Terms, Threshold,
};

/// The rule of 6.0.
pub struct Imb60;

impl ImbalanceRule for Imb60 {
    /// R = ⌊φ/λ⌋ caches, or an eighth of a node that is one cache; at least 1. Scaled above the first NUMA level.
    fn threshold(shape: NodeShape) -> Option<Threshold> {
        let caches = shape.node / shape.llc.max(1);
        Some(Threshold { base: if caches == 1 { shape.node >> 3 } else { caches }.max(1), scaled: true })
    }

    /// Stays local while idle CPUs differ by at most two and the local group, with the child, stays within the threshold.
    fn fork_stays(s: &ForkSides) -> bool {
        let threshold = s.imb_numa_nr.min(s.local_allowed);
        adjust_numa_imbalance(i64::from(s.local_idle.abs_diff(s.idlest_idle)), s.local_nr < threshold) == 0
    }

    /// The difference, of which up to two are tolerated while the destination stays within the threshold; then half of it.
    fn tasks_to_move(raw: i64, s: &PullSides) -> i64 {
        adjust_numa_imbalance(raw, s.local_nr < s.imb_numa_nr) >> 1
    }

    /// Up to two are tolerated while the destination runs at most `imb_numa_nr` tasks.
    fn placement(l: &PlacementLoad) -> Option<u32> {
        Some(l.unless(l.dst_running <= l.imb_numa_nr))
    }

    fn fork_terms(s: &ForkSides) -> Option<Terms> {
        Some(Terms { count: s.local_nr + 1, limit: s.imb_numa_nr.min(s.local_allowed), up_to: true })
    }

    fn pull_terms(s: &PullSides) -> Option<Terms> {
        Some(Terms { count: s.local_nr + 1, limit: s.imb_numa_nr, up_to: true })
    }

    fn placement_terms(l: &PlacementLoad) -> Option<Terms> {
        Some(Terms { count: l.dst_running, limit: l.imb_numa_nr, up_to: true })
    }
}
