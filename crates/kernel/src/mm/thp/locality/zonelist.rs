//! `thp_zonelist`: a plain request over the zonelist (up to 4.0; 4.0 was meant for the local node only, but merely
//! preferred it).

use super::attempt::{Attempt, FaultContext};

pub(super) fn attempt(ctx: &FaultContext, number: usize) -> Option<Attempt> {
    (number == 0).then(|| ctx.anywhere(ctx.gfp))
}
