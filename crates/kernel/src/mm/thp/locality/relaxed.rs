//! `thp_relaxed`: faults that may not reclaim use only the preferred node, except under bind (4.20-rc1 to rc6, 5.3).

use super::parts::{Attempt, FaultContext, Ladder, Parts};
use crate::mm::alloc::slow_rules::{BailRule, SlowRules};
use numalab_base::words::Variant;

/// The variant.
pub const VARIANT: Variant<Parts> = Variant {
    word: "thp_relaxed",
    releases: "4.20-rc, 5.3",
    doc: "Any node if the fault may reclaim.",
    parts: Parts {
        attempt,
        ladder: Ladder::None,
        slow_rules: SlowRules { bail: BailRule::Deferred, thisnode_fail_reclaims: true },
    },
};

pub(super) fn attempt(ctx: &FaultContext, number: usize) -> Option<Attempt> {
    let local = ctx.has_local_step() && ctx.policy_nodes.mask.is_none() && !ctx.may_reclaim();
    (number == 0).then(|| if local { ctx.local_only(ctx.gfp) } else { ctx.anywhere(ctx.gfp) })
}
