//! `thp_two_step_54`: the preferred node with the caller's flags, then any node without retries (5.4).

use super::parts::{Attempt, FaultContext, Ladder, Parts};
use crate::mm::alloc::gfp::Gfp;
use crate::mm::alloc::slow_rules::{BailRule, SlowRules};
use numalab_base::words::Variant;

/// The variant.
pub const VARIANT: Variant<Parts> = Variant {
    word: "thp_two_step_54",
    releases: "5.4",
    doc: "Local node first, then any node without retry; gives up early when compaction is skipped.",
    parts: Parts {
        attempt,
        ladder: Ladder::None,
        slow_rules: SlowRules { bail: BailRule::Pageblock54, thisnode_fail_reclaims: true },
    },
};

pub(super) fn attempt(ctx: &FaultContext, number: usize) -> Option<Attempt> {
    match number {
        0 if ctx.has_local_step() => Some(ctx.local_only(ctx.gfp)),
        0 => Some(ctx.anywhere(ctx.gfp)),
        1 if ctx.has_local_step() && ctx.may_reclaim() => Some(ctx.anywhere(ctx.gfp | Gfp::NORETRY)),
        _ => None,
    }
}
