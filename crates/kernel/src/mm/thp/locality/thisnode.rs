//! `thp_thisnode`: only the preferred node, with the caller's flags (4.1 to 4.19, 4.20 to 5.2).
//!
//! From 4.8 on, advised faults have no NORETRY, so they reclaim and swap on their single node as long as they need.

use super::parts::{Attempt, FaultContext, Ladder, Parts};
use crate::mm::alloc::slow_rules::{BailRule, SlowRules};
use numalab_base::words::Variant;

/// The variant.
pub const VARIANT: Variant<Parts> = Variant {
    word: "thp_thisnode",
    releases: "4.1 to 5.2",
    doc: "Only the local node.",
    parts: Parts {
        attempt,
        ladder: Ladder::None,
        slow_rules: SlowRules { bail: BailRule::Deferred, thisnode_fail_reclaims: true },
    },
};

pub(super) fn attempt(ctx: &FaultContext, number: usize) -> Option<Attempt> {
    let local = ctx.has_local_step();
    (number == 0).then(|| if local { ctx.local_only(ctx.gfp) } else { ctx.anywhere(ctx.gfp) })
}
