//! `mpol_huge`: a range may have a second policy for huge pages only (proposed 2019, never merged).
//!
//! The caller sets the nodes of that policy in the context. If the huge page fails, a base page is allocated under the
//! ordinary policy, so binding huge pages never calls the OOM killer. `strict` with the local policy equals
//! `thp_thisnode`; `noretry` removes its reclaim.

use super::parts::{Attempt, FaultContext, Ladder, Parts};
use super::two_step;
use crate::mm::alloc::gfp::Gfp;
use crate::mm::alloc::slow_rules::{BailRule, SlowRules};
use numalab_base::words::Variant;

/// The variant.
pub const VARIANT: Variant<Parts> = Variant {
    word: "mpol_huge",
    releases: "proposed 2019",
    doc: "As thp_two_step; a range may have a policy of its own for huge pages.",
    parts: Parts {
        attempt,
        ladder: Ladder::None,
        slow_rules: SlowRules { bail: BailRule::CostlyNoretry, thisnode_fail_reclaims: false },
    },
};

pub(super) fn attempt(ctx: &FaultContext, number: usize) -> Option<Attempt> {
    let Some(rules) = ctx.huge_rules.filter(|r| r.strict) else {
        return two_step::attempt(ctx, number);
    };
    let gfp = if rules.noretry { ctx.gfp | Gfp::NORETRY } else { ctx.gfp };
    match number {
        0 if ctx.has_local_step() => Some(ctx.local_only(gfp)),
        0 => Some(ctx.anywhere(gfp)),
        _ => None,
    }
}
