//! `mpol_huge`: a range may have a second policy that only huge pages follow (proposed 2019, never merged).
//!
//! The caller puts that policy's placement into the context. A failed huge page falls back to a base page under the
//! ordinary policy, so binding huge pages never ends in the OOM killer. `strict` with the local policy is
//! `thp_thisnode`; `noretry` takes its reclaim away.

use super::attempt::{Attempt, FaultContext};
use super::two_step;
use crate::mm::alloc::gfp::Gfp;

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
