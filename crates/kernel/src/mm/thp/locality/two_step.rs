//! `thp_two_step`: the preferred node without retries, then any node with the caller's flags (5.5 on).

use super::attempt::{Attempt, FaultContext};
use crate::mm::alloc::gfp::Gfp;

pub(super) fn attempt(ctx: &FaultContext, number: usize) -> Option<Attempt> {
    match number {
        0 if ctx.has_local_step() => Some(ctx.local_only(ctx.gfp | Gfp::NORETRY)),
        0 => Some(ctx.anywhere(ctx.gfp)),
        1 if ctx.has_local_step() && ctx.may_reclaim() => Some(ctx.anywhere(ctx.gfp)),
        _ => None,
    }
}
