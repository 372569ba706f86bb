//! The rules by name, and the file of each.

use super::attempt::{Attempt, FaultContext};
use super::{ladder_custom, ladder_sorted, mpol_huge, prctl_span, relaxed, thisnode, two_step, two_step_54, zonelist};
use crate::mm::alloc::slow_rules::{BailRule, SlowRules};
use numalab_base::words;

words! {
    /// Where a huge page comes from when the local node has none free.
    pub enum Locality {
        /// Any node by distance.
        Zonelist = "thp_zonelist" ("up to 4.0"),
        /// Only the local node.
        ThisNode = "thp_thisnode" ("4.1 to 5.2"),
        /// Any node if the fault may reclaim.
        Relaxed = "thp_relaxed" ("4.20-rc, 5.3"),
        /// Local node first, then any node without retry; gives up early when compaction is skipped.
        TwoStep54 = "thp_two_step_54" ("5.4"),
        /// Local node first without retry, then any node.
        TwoStep = "thp_two_step" ("5.5 on"),
        /// As thp_two_step; a range may have a policy of its own for huge pages.
        MpolHuge = "mpol_huge" ("proposed 2019"),
        /// As thp_two_step; processes in span mode prefer remote huge pages.
        PrctlSpan = "prctl_span" ("proposed 2019"),
        /// Every distance and size by predicted latency, what is free.
        LadderSorted = "ladder_sorted" ("the aim of thp-locality-2019"),
        /// A given list of distances and sizes, what is free.
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
