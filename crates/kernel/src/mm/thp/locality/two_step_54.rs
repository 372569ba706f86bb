//! `thp_two_step_54`: the preferred node with the caller's flags, then any node without retries (5.4).

use super::attempt::{Attempt, FaultContext};
use crate::mm::alloc::gfp::Gfp;

pub(super) fn attempt(ctx: &FaultContext, number: usize) -> Option<Attempt> {
    match number {
        0 if ctx.has_local_step() => Some(ctx.local_only(ctx.gfp)),
        0 => Some(ctx.anywhere(ctx.gfp)),
        1 if ctx.has_local_step() && ctx.may_reclaim() => Some(ctx.anywhere(ctx.gfp | Gfp::NORETRY)),
        _ => None,
    }
}
