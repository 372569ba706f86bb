//! A compiled access op, and how it is carried out.

use super::draw::Draw;
use super::range::Range;
use super::walk::Walk;
use super::write_turn::WriteTurn;
use super::{blocks, random, stride, sweep};
use crate::spin;
use numalab_nouns::access::LINE_BYTES;

/// A compiled access op.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The memory that it accesses.
    pub range: Range,
    /// The order of the accesses.
    pub walk: Walk,
    /// Share of the accesses that write, 0..=1.
    pub write: f64,
    /// Spin turns per visited line, in addition to the walk's own cost.
    pub turns_per_line: f64,
    /// Number of accesses, for walks that are not one pass over the range.
    pub accesses: u64,
    /// Index of the score that it adds to, and units per byte.
    pub score: Option<(u32, f64)>,
}

/// Receiver of the score of a walk.
pub trait Tally {
    /// Adds units to a score.
    fn score(&mut self, id: u32, amount: f64);
}

/// Carries out one access op.
pub fn run(plan: &Plan, draw: &mut Draw, tally: &mut impl Tally) {
    let mut due_turns = 0.0;
    let mut after = |lines: u64| {
        due_turns += plan.turns_per_line * lines as f64;
        if due_turns >= 1.0 {
            spin::spin(due_turns as u64);
            due_turns -= due_turns.floor();
        }
        if let Some((id, per_byte)) = plan.score {
            tally.score(id, per_byte * (lines * LINE_BYTES) as f64);
        }
    };
    let turn = WriteTurn::new(plan.write);
    match &plan.walk {
        Walk::Sweep => sweep::walk(plan.range, turn, &mut after),
        Walk::Stride(bytes) => stride::walk(plan.range, *bytes, turn, &mut after),
        Walk::Blocks(bytes, lines) => {
            blocks::walk(plan.range, (plan.accesses, *bytes, lines.as_deref()), turn, draw, &mut after)
        }
        Walk::Random { lines, dependent } => {
            random::walk(plan.range, plan.accesses, (lines, *dependent), turn, draw, &mut after)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_buffer::Buffer;
    use super::super::walk::Lines;
    use super::*;

    #[test]
    fn batches_add_to_the_score() {
        struct Sum(f64);
        impl Tally for Sum {
            fn score(&mut self, id: u32, amount: f64) {
                assert_eq!(id, 3);
                self.0 += amount;
            }
        }
        let mut buffer = Buffer::new(64 * 1024);
        let uniform = |dependent| Walk::Random { lines: Lines::Uniform, dependent };
        for walk in [Walk::Sweep, uniform(false), uniform(true)] {
            let range = buffer.range();
            let plan = Plan { range, walk, write: 1.0, turns_per_line: 0.5, accesses: 1024, score: Some((3, 2.0)) };
            let mut sum = Sum(0.0);
            run(&plan, &mut Draw::new(1, 1), &mut sum);
            assert_eq!(sum.0, 1024.0 * 64.0 * 2.0);
        }
    }
}
