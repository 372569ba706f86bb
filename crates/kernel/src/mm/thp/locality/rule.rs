//! The rules by name, and the file of each.

use super::attempt::{Attempt, FaultContext};
use super::{ladder_custom, ladder_sorted, mpol_huge, prctl_span, relaxed, thisnode, two_step, two_step_54, zonelist};
use crate::mm::alloc::slow_rules::{BailRule, SlowRules};
use numalab_base::words;

words! {
    /// The locality rules.
    pub enum Locality {
        /// Any node by distance.
        Zonelist = "thp_zonelist",
        /// Only the local node.
        ThisNode = "thp_thisnode",
        /// Any node if the fault may reclaim.
        Relaxed = "thp_relaxed",
        /// Local node first, then any without retries; gives up early when compaction is skipped.
        TwoStep54 = "thp_two_step_54",
        /// Local node first without reclaim, then any node.
        TwoStep = "thp_two_step",
        /// As `thp_two_step`, and a range may have a separate policy for huge pages.
        MpolHuge = "mpol_huge",
        /// As `thp_two_step`, and a process may prefer remote huge pages.
        PrctlSpan = "prctl_span",
        /// Every (distance, size) by predicted latency.
        LadderSorted = "ladder_sorted",
        /// A list from the scenario.
        LadderCustom = "ladder_custom",
    }
}

impl Locality {
    /// Attempt `number` of a fault, counted from 0; `None` after the last.
    #[inline]
    pub fn attempt(self, ctx: &FaultContext, number: usize) -> Option<Attempt> {
        match self {
            Self::Zonelist => zonelist::attempt(ctx, number),
            Self::ThisNode => thisnode::attempt(ctx, number),
            Self::Relaxed => relaxed::attempt(ctx, number),
            Self::TwoStep54 => two_step_54::attempt(ctx, number),
            Self::TwoStep => two_step::attempt(ctx, number),
            Self::MpolHuge => mpol_huge::attempt(ctx, number),
            Self::PrctlSpan => prctl_span::attempt(ctx, number),
            Self::LadderSorted => ladder_sorted::attempt(ctx, number),
            Self::LadderCustom => ladder_custom::attempt(ctx, number),
        }
    }
    /// Rules of the slow path in the kernels with this rule.
    pub fn slow_rules(self) -> SlowRules {
        let (bail, thisnode_fail_reclaims) = match self {
            Self::Zonelist | Self::ThisNode | Self::Relaxed => (BailRule::Deferred, true),
            Self::TwoStep54 => (BailRule::Pageblock54, true),
            _ => (BailRule::CostlyNoretry, false),
        };
        SlowRules { bail, thisnode_fail_reclaims }
    }
}
