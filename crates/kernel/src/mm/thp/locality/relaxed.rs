//! `thp_relaxed`: faults that may not reclaim use only the preferred node, except under bind (4.20-rc1 to rc6, 5.3).

use super::attempt::{Attempt, FaultContext};

pub(super) fn attempt(ctx: &FaultContext, number: usize) -> Option<Attempt> {
    let local = ctx.has_local_step() && ctx.policy_nodes.mask.is_none() && !ctx.may_reclaim();
    (number == 0).then(|| if local { ctx.local_only(ctx.gfp) } else { ctx.anywhere(ctx.gfp) })
}
