//! Lines drawn at random ([`Walk::Random`](numalab_nouns::access::Walk::Random)).
//!
//! In a dependent walk the next address depends on the value just read, so a CPU cannot start the next load early. A
//! zero that is opaque to the compiler masks the value. So the walk needs no pointers in memory, and writing them would
//! be a first touch.

use super::draw::Draw;
use super::range::{touch, Range};
use super::walk::Lines;
use super::write_turn::WriteTurn;
use numalab_nouns::access::{scale, LINE_BYTES};
use std::hint::black_box;

/// Accesses between two calls of `after`.
pub const BATCH: u64 = 64;

/// A prime far from the number of lines of any span. The line of a rank is their product, modulo the lines.
const SCATTER: u64 = 2_654_435_761;

/// Makes `accesses` accesses to `lines` of the range. If `dependent`, each address depends on the previous value.
pub fn walk(
    range: Range,
    accesses: u64,
    (lines, dependent): (&Lines, bool),
    turn: WriteTurn,
    draw: &mut Draw,
    after: &mut impl FnMut(u64),
) {
    let all = range.lines();
    match (lines, dependent) {
        (Lines::Uniform, false) => each(range, accesses, |bits| scale(bits, all), turn, draw, after),
        (Lines::Uniform, true) => each_dependent(range, accesses, |bits| scale(bits, all), turn, draw, after),
        (Lines::Ranked(r), false) => each(range, accesses, |bits| r.rank(bits).min(all - 1), turn, draw, after),
        (Lines::Ranked(r), true) => {
            each_dependent(range, accesses, |bits| r.rank(bits).min(all - 1), turn, draw, after)
        }
        (Lines::Scattered(r), false) => each(range, accesses, |bits| scatter(r.rank(bits), all), turn, draw, after),
        (Lines::Scattered(r), true) => {
            each_dependent(range, accesses, |bits| scatter(r.rank(bits), all), turn, draw, after)
        }
    }
}

/// The line of a rank among `all` lines.
#[inline(always)]
fn scatter(rank: u64, all: u64) -> u64 {
    rank.min(all - 1).wrapping_mul(SCATTER) % all
}

/// Makes independent accesses to the lines that `line` gives for random bits.
#[inline(always)]
fn each(
    range: Range,
    accesses: u64,
    line: impl Fn(u64) -> u64,
    mut turn: WriteTurn,
    draw: &mut Draw,
    after: &mut impl FnMut(u64),
) {
    let mut left = accesses;
    while left > 0 {
        let batch = left.min(BATCH);
        for _ in 0..batch {
            touch(range, line(draw.bits()) * LINE_BYTES, &mut turn);
        }
        after(batch);
        left -= batch;
    }
}

/// Makes accesses to the lines that `line` gives for random bits, with one load in flight.
#[inline(always)]
fn each_dependent(
    range: Range,
    accesses: u64,
    line: impl Fn(u64) -> u64,
    mut turn: WriteTurn,
    draw: &mut Draw,
    after: &mut impl FnMut(u64),
) {
    let none = black_box(0u64);
    let (mut left, mut seen) = (accesses, 0u64);
    while left > 0 {
        let batch = left.min(BATCH);
        for _ in 0..batch {
            seen = touch(range, line(draw.bits() ^ (seen & none)) * LINE_BYTES, &mut turn);
        }
        after(batch);
        left -= batch;
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_buffer::Buffer;
    use super::*;
    use numalab_nouns::access::Pattern;
    use std::sync::Arc;

    #[test]
    fn covers_the_whole_range() {
        for dependent in [false, true] {
            let mut buffer = Buffer::new(64 * 64);
            let mut accesses = 0;
            let lines = (&Lines::Uniform, dependent);
            walk(buffer.range(), 2000, lines, WriteTurn::new(1.0), &mut Draw::new(3, 0), &mut |n| accesses += n);
            assert_eq!(accesses, 2000);
            assert_eq!(buffer.written().len(), 64);
        }
    }

    #[test]
    fn scattered_ranks_touch_every_page() {
        let mut buffer = Buffer::new(64 * 4096);
        let mut accesses = 0;
        let lines = Lines::Scattered(Arc::new(Pattern::reuse(0.5).ranks(buffer.range().lines())));
        let turn = WriteTurn::new(1.0);
        walk(buffer.range(), 20_000, (&lines, true), turn, &mut Draw::new(3, 0), &mut |n| accesses += n);
        assert_eq!(accesses, 20_000);
        let mut pages: Vec<_> = buffer.written().into_iter().map(|at| at / 4096).collect();
        pages.dedup();
        assert_eq!(pages.len(), 64);
    }

    #[test]
    fn the_first_line_has_the_first_rank() {
        let mut buffer = Buffer::new(64 * 4096);
        let lines = Lines::Ranked(Arc::new(Pattern::zipf(20.0).ranks(buffer.range().lines())));
        walk(buffer.range(), 100, (&lines, false), WriteTurn::new(1.0), &mut Draw::new(3, 0), &mut |_| {});
        assert_eq!(buffer.written(), [0], "with this skew the first rank has nearly all accesses");
    }
}
