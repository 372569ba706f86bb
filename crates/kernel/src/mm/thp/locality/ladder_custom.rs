//! `ladder_custom`: the (distance, size) list of the tunable `thp.ladder`; takes only free pages.

use super::attempt::{Attempt, FaultContext};

pub(super) fn attempt(ctx: &FaultContext, number: usize) -> Option<Attempt> {
    ctx.rung(number)
}
