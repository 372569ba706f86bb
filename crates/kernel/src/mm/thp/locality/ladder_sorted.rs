//! `ladder_sorted`: every (distance, size) in the order of predicted access latency; takes only free pages. This is
//! the aim that the author of the 2019 patch stated.

use super::parts::{Attempt, FaultContext, Ladder, Parts};
use crate::mm::alloc::slow_rules::{BailRule, SlowRules};
use numalab_base::words::Variant;

/// The variant.
pub const VARIANT: Variant<Parts> = Variant {
    word: "ladder_sorted",
    releases: "the aim of thp-locality-2019",
    doc: "Every distance and size by predicted latency, what is free.",
    parts: Parts {
        attempt,
        ladder: Ladder::ByLatency,
        slow_rules: SlowRules { bail: BailRule::CostlyNoretry, thisnode_fail_reclaims: false },
    },
};

pub(super) fn attempt(ctx: &FaultContext, number: usize) -> Option<Attempt> {
    ctx.rung(number)
}
