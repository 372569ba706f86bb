//! `thp_two_step`: the preferred node without retries, then any node with the caller's flags (5.5 on).

use super::parts::{Attempt, FaultContext, Ladder, Parts};
use crate::mm::alloc::gfp::Gfp;
use crate::mm::alloc::slow_rules::{BailRule, SlowRules};
use numalab_base::words::Variant;

/// The variant.
pub const VARIANT: Variant<Parts> = Variant {
    word: "thp_two_step",
    releases: "5.5 on",
    doc: "Local node first without retry, then any node.",
    parts: Parts {
        attempt,
        ladder: Ladder::None,
        slow_rules: SlowRules { bail: BailRule::CostlyNoretry, thisnode_fail_reclaims: false },
    },
};

pub(super) fn attempt(ctx: &FaultContext, number: usize) -> Option<Attempt> {
    match number {
        0 if ctx.has_local_step() => Some(ctx.local_only(ctx.gfp | Gfp::NORETRY)),
        0 => Some(ctx.anywhere(ctx.gfp)),
        1 if ctx.has_local_step() && ctx.may_reclaim() => Some(ctx.anywhere(ctx.gfp)),
        _ => None,
    }
}
