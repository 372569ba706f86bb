//! `prctl_span`: a process that spans sockets prefers remote huge pages to local base pages (proposed 2019).
//!
//! The second step is made with every `defrag` setting; without direct reclaim it takes only free pages. Processes
//! without the mode follow `thp_two_step`.

use super::parts::{Attempt, FaultContext, Ladder, Parts};
use super::two_step;
use crate::mm::alloc::gfp::Gfp;
use crate::mm::alloc::slow_rules::{BailRule, SlowRules};
use crate::mm::policy::policy_nodes::PolicyNodes;
use numalab_base::words::Variant;

/// The variant.
pub const VARIANT: Variant<Parts> = Variant {
    word: "prctl_span",
    releases: "proposed 2019",
    doc: "As thp_two_step; processes in span mode prefer remote huge pages.",
    parts: Parts {
        attempt,
        ladder: Ladder::None,
        slow_rules: SlowRules { bail: BailRule::CostlyNoretry, thisnode_fail_reclaims: false },
    },
};

pub(super) fn attempt(ctx: &FaultContext, number: usize) -> Option<Attempt> {
    if !ctx.span {
        return two_step::attempt(ctx, number);
    }
    match number {
        0 if ctx.has_local_step() => Some(ctx.local_only(ctx.gfp | Gfp::NORETRY)),
        0 => Some(spanning(ctx)),
        1 if ctx.has_local_step() => Some(spanning(ctx)),
        _ => None,
    }
}

fn spanning(ctx: &FaultContext) -> Attempt {
    if ctx.policy_nodes.preferred_many {
        return ctx.anywhere(ctx.gfp);
    }
    let near = ctx.ladders.up_to(ctx.policy_nodes.preferred, ctx.span_max_class);
    let mask = ctx.policy_nodes.mask.map_or(near, |m| m.and(&near));
    Attempt { policy_nodes: PolicyNodes { mask: Some(mask), ..ctx.policy_nodes }, ..ctx.anywhere(ctx.gfp) }
}
