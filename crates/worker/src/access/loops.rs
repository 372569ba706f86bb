//! The loops that carry out walks, and what each costs by itself.

use super::draw::Draw;
use super::plan::{run, Plan, Tally};
use super::range::Range;
use super::walk::Walk;
use crate::spin;
use numalab_nouns::access::{self, Order, Pattern, Ranks, Traffic, LINE_BYTES};
use std::sync::Arc;

/// The loops that carry out walks, each with a cost of its own: the walk, and whether each address depends on the
/// previous value.
pub const LOOPS: [(access::Walk, bool); 9] = [
    (access::Walk::Sweep(Order::Address), false),
    (access::Walk::Stride { stride_bytes: LINE_BYTES }, false),
    (access::Walk::Sweep(Order::Blocks { block_bytes: 4096, histogram: None }), false),
    (access::Walk::Random(access::Lines::Uniform), false),
    (access::Walk::Random(access::Lines::Uniform), true),
    (access::Walk::Random(access::Lines::Ranked), false),
    (access::Walk::Random(access::Lines::Ranked), true),
    (access::Walk::Random(access::Lines::Scattered), false),
    (access::Walk::Random(access::Lines::Scattered), true),
];

/// Index in [`LOOPS`] of the loop that carries out `pattern`.
pub fn loop_of(pattern: &Pattern) -> usize {
    loop_number(pattern.walk(), pattern.traffic() == Traffic::Dependent)
}

fn loop_number(walk: access::Walk, dependent: bool) -> usize {
    let lines = match walk {
        access::Walk::Sweep(Order::Address) => return 0,
        access::Walk::Stride { .. } => return 1,
        access::Walk::Sweep(Order::Blocks { .. }) => return 2,
        access::Walk::Random(access::Lines::Uniform) => 3,
        access::Walk::Random(access::Lines::Ranked | access::Lines::Recorded { .. }) => 5,
        access::Walk::Random(access::Lines::Scattered) => 7,
    };
    lines + usize::from(dependent)
}

/// Own cost of one of the [`LOOPS`] with all its data in the first-level cache, ps per line.
pub fn cost_ps(number: usize) -> u64 {
    struct NoTally;
    impl Tally for NoTally {
        fn score(&mut self, _: u32, _: f64) {}
    }
    let mut memory = vec![0u64; 1024];
    let bytes = memory.len() as u64 * 8;
    // SAFETY: the buffer outlives the walks below, and nothing else refers to it while they run.
    let range = unsafe { Range::new(memory.as_mut_ptr() as u64, bytes) };
    let (walk, dependent) = LOOPS[number];
    let accesses = 512;
    let lines = walk.lines_of_pass(bytes).unwrap_or(accesses);
    let walk = Walk::new(walk, dependent, || Arc::new(Ranks::even(range.lines())));
    let plan = Plan { range, walk, write: 0.5, turns_per_line: 0.0, accesses, score: None };
    let mut draw = Draw::new(1, 1);
    let cost = spin::cost_ps(lines, &mut || run(&plan, &mut draw, &mut NoTally));
    drop(std::hint::black_box(memory));
    cost as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_loop_has_one_number() {
        for (number, (walk, dependent)) in LOOPS.into_iter().enumerate() {
            assert_eq!(loop_number(walk, dependent), number);
        }
    }
}
