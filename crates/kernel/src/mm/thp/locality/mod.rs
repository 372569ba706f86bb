//! The role `thp_locality`: which attempts a huge-page fault makes (thp-and-allocation.md section 8).
//!
//! A rule is a pure function from a fault and a number to the attempt with that number. The page allocator executes
//! attempts until one succeeds; after the last, the fault is handled as one for a base page.
//!
//! | word | kernels |
//! |---|---|
//! | `thp_zonelist` | up to 4.0 |
//! | `thp_thisnode` | 4.1 to 4.19, 4.20 to 5.2 |
//! | `thp_relaxed` | 4.20-rc1 to rc6, 5.3 |
//! | `thp_two_step_54` | 5.4 |
//! | `thp_two_step` | 5.5 on |
//! | `mpol_huge`, `prctl_span` | proposed in the thread of 2019 |
//! | `ladder_sorted`, `ladder_custom` | the aim stated there, and any other |

mod ladder_custom;
mod ladder_sorted;
mod mpol_huge;
mod prctl_span;
mod relaxed;
mod thisnode;
mod two_step;
mod two_step_54;
mod zonelist;

use super::Ladders;
use crate::mm::alloc::Gfp;
use crate::mm::config::{BailRule, SlowRules};
use crate::mm::policy::Placement;
use numalab_base::node_mask::NodeMask;
use numalab_base::words;

words! {
    /// The rules.
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
        /// As `thp_two_step`, and a range may have a policy for huge pages of its own.
        MpolHuge = "mpol_huge",
        /// As `thp_two_step`, and a process may prefer remote huge pages.
        PrctlSpan = "prctl_span",
        /// Every (distance, size) by predicted latency.
        LadderSorted = "ladder_sorted",
        /// A list from the scenario.
        LadderCustom = "ladder_custom",
    }
}

/// A huge-page fault as the rules see it.
#[derive(Clone, Copy, Debug)]
pub struct FaultContext<'a> {
    /// Node of the faulting CPU.
    pub here: usize,
    /// What the policy says: that for huge pages if the range has one, else the policy of everything.
    pub place: Placement,
    /// The range has a policy for huge pages, with these rules (`mpol_huge`).
    pub huge_rules: Option<HugeRules>,
    /// Request flags by settings and advice.
    pub gfp: Gfp,
    /// Memory nodes of the task's cpuset.
    pub mems: NodeMask,
    /// The process spans sockets (`prctl_span`).
    pub span: bool,
    /// Farthest class for that.
    pub span_max_class: u8,
    /// Classes and ladders of the machine.
    pub ladders: &'a Ladders,
}

/// Rules of a policy for huge pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HugeRules {
    /// Only the preferred node.
    pub strict: bool,
    /// Without retries: no reclaim on the preferred node.
    pub noretry: bool,
}

/// One attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// A huge page, else a base page.
    pub huge: bool,
    /// Request flags.
    pub gfp: Gfp,
    /// Nodes.
    pub place: Placement,
    /// Only what is free above the low mark, no slow path.
    pub free_only: bool,
}

impl FaultContext<'_> {
    /// An attempt over the whole list of the placement.
    fn anywhere(&self, gfp: Gfp) -> Attempt {
        Attempt { huge: true, gfp, place: self.place, free_only: false }
    }
    /// An attempt on the preferred node alone.
    fn local_only(&self, gfp: Gfp) -> Attempt {
        let place = Placement { mask: None, ..self.place };
        Attempt { huge: true, gfp: gfp | Gfp::THISNODE, place, free_only: false }
    }
    /// Whether the policy leaves room for a local-only attempt: not interleaved, not several preferred nodes, and the
    /// preferred node is allowed.
    fn has_local_step(&self) -> bool {
        !self.place.spread && !self.place.soft && self.place.preferred_allowed()
    }
    fn may_reclaim(&self) -> bool {
        self.gfp.has(Gfp::DIRECT_RECLAIM)
    }
    /// The rung of the ladder with this number, limited to what the policy allows.
    fn rung(&self, number: usize) -> Option<Attempt> {
        let rung = self.ladders.rungs(self.place.preferred).get(number)?;
        let nodes = match self.place.mask {
            Some(mask) if !self.place.soft => rung.nodes.and(mask),
            _ => rung.nodes,
        };
        let place = Placement { mask: Some(nodes), soft: false, ..self.place };
        let gfp = if rung.huge { Gfp::TRANSHUGE_LIGHT } else { Gfp::HIGHUSER_MOVABLE };
        Some(Attempt { huge: rung.huge, gfp, place, free_only: true })
    }
}

impl Locality {
    /// Attempt `number` (from 0) of a fault, `None` after the last.
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
    /// When the kernels with this rule give up after compaction.
    pub fn slow_rules(self) -> SlowRules {
        let (bail, thisnode_fail_reclaims) = match self {
            Self::Zonelist | Self::ThisNode | Self::Relaxed => (BailRule::Deferred, true),
            Self::TwoStep54 => (BailRule::Pageblock54, true),
            _ => (BailRule::CostlyNoretry, false),
        };
        SlowRules { bail, thisnode_fail_reclaims }
    }
}
