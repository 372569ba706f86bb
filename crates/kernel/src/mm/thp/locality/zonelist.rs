//! `thp_zonelist`: a plain request over the zonelist (up to 4.0; 4.0 was meant for the local node only, but merely
//! preferred it).

use super::parts::{Attempt, FaultContext, Ladder, Parts};
use crate::mm::alloc::slow_rules::{BailRule, SlowRules};
use numalab_base::words::Variant;

/// The variant.
pub const VARIANT: Variant<Parts> = Variant {
    word: "thp_zonelist",
    releases: "up to 4.0",
    doc: "Any node by distance.",
    parts: Parts {
        attempt,
        ladder: Ladder::None,
        slow_rules: SlowRules { bail: BailRule::Deferred, thisnode_fail_reclaims: true },
    },
};

pub(super) fn attempt(ctx: &FaultContext, number: usize) -> Option<Attempt> {
    (number == 0).then(|| ctx.anywhere(ctx.gfp))
}
