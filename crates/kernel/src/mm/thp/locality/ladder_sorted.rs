//! `ladder_sorted`: every (distance, size) in the order of predicted access latency, taking what is free (the aim the
//! author of the 2019 patch stated).

use super::attempt::{Attempt, FaultContext};

pub(super) fn attempt(ctx: &FaultContext, number: usize) -> Option<Attempt> {
    ctx.rung(number)
}
