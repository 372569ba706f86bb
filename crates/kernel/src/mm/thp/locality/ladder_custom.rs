//! `ladder_custom`: the (distance, size) list of the tunable `thp.ladder`; takes only free pages.

use super::parts::{Attempt, FaultContext, Ladder, Parts};
use crate::mm::alloc::slow_rules::{BailRule, SlowRules};
use numalab_base::words::Variant;

/// The variant.
pub const VARIANT: Variant<Parts> = Variant {
    word: "ladder_custom",
    releases: "",
    doc: "A given list of distances and sizes, what is free.",
    parts: Parts {
        attempt,
        ladder: Ladder::Given,
        slow_rules: SlowRules { bail: BailRule::CostlyNoretry, thisnode_fail_reclaims: false },
    },
};

pub(super) fn attempt(ctx: &FaultContext, number: usize) -> Option<Attempt> {
    ctx.rung(number)
}
