//! `ladder_sorted`: every (distance, size) in the order of predicted access latency; takes only free pages. This is
//! the aim that the author of the 2019 patch stated.

use super::attempt::{Attempt, FaultContext};

pub(super) fn attempt(ctx: &FaultContext, number: usize) -> Option<Attempt> {
    ctx.rung(number)
}
