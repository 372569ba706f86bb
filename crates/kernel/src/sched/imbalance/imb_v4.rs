//! "Adjust NUMA imbalance for multiple LLCs", version 4 of December 2021. Not merged in this form.

use super::imb_v3::ImbV3;
use super::sides::{ForkSides, ImbalanceRule, NodeShape, PlacementLoad, PullSides, Terms, Threshold};

/// The rule of version 4.
pub struct ImbV4;

impl ImbalanceRule for ImbV4 {
    /// max(2, ⌊λ²/φ⌋/4), scaled by the span of the domains above.
    fn threshold(shape: NodeShape) -> Option<Threshold> {
        let squared = u64::from(shape.llc) * u64::from(shape.llc) / u64::from(shape.node.max(1));
        Some(Threshold { base: ((squared >> 2) as u32).max(2), scaled: true })
    }

    /// As in version 3.
    fn fork_stays(s: &ForkSides) -> bool {
        ImbV3::fork_stays(s)
    }

    /// As in version 3.
    fn tasks_to_move(raw: i64, s: &PullSides) -> i64 {
        ImbV3::tasks_to_move(raw, s)
    }

    /// As in version 3.
    fn placement(l: &PlacementLoad) -> Option<u32> {
        ImbV3::placement(l)
    }

    fn fork_terms(s: &ForkSides) -> Option<Terms> {
        ImbV3::fork_terms(s)
    }

    fn pull_terms(s: &PullSides) -> Option<Terms> {
        ImbV3::pull_terms(s)
    }

    fn placement_terms(l: &PlacementLoad) -> Option<Terms> {
        ImbV3::placement_terms(l)
    }
}
