//! Dependent lines of which some are favoured, one in flight.
//!
//! Accesses are independent draws of a rank with `P(rank > k) = (1 + k / reach)^-alpha`, cut off at the span, so a
//! cache that keeps the `C` bytes used most misses `(1 + C / reach)^-alpha` of them: the power law of cache misses.
//! Ranks are scattered over the span, so that every page has its part of the favoured lines.

use super::{touch, zipf::Table, Draw, Range, WriteTurn, LINE_BYTES};
use numalab_model::workload::REUSE_REACH_BYTES;
use std::hint::black_box;

/// A prime far from any span's number of lines; a rank's line is the product, modulo the lines.
const SCATTER: u64 = 2_654_435_761;

/// Ranks of `lines` lines with the power `alpha` > 0.
pub fn table(lines: u64, alpha: f64) -> Table {
    let reach = (REUSE_REACH_BYTES / LINE_BYTES) as f64;
    let beyond = (1.0 + lines as f64 / reach).powf(-alpha);
    Table::from_quantiles(lines, |below| {
        let above = beyond + (1.0 - below) * (1.0 - beyond);
        reach * (above.powf(-1.0 / alpha) - 1.0)
    })
}

/// `accesses` accesses.
pub fn walk(
    range: Range,
    accesses: u64,
    table: &Table,
    mut turn: WriteTurn,
    draw: &mut Draw,
    after: &mut impl FnMut(u64),
) {
    let lines = range.lines();
    let none = black_box(0u64);
    let (mut left, mut seen) = (accesses, 0u64);
    while left > 0 {
        let batch = left.min(super::random::BATCH);
        for _ in 0..batch {
            let rank = table.rank(draw.bits() ^ (seen & none)).min(lines - 1);
            seen = touch(range, rank.wrapping_mul(SCATTER) % lines * LINE_BYTES, &mut turn);
        }
        after(batch);
        left -= batch;
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::Buffer;
    use super::*;

    #[test]
    fn the_share_beyond_a_cache_falls_as_the_power_law() {
        let (lines, alpha, draws) = (400_000u64, 0.5, 200_000);
        let (table, mut draw) = (table(lines, alpha), Draw::new(5, 0));
        let beyond = |k: f64| (1.0 + k / 2048.0).powf(-alpha);
        for kept in [2048u64, 16_384, 100_000] {
            let missed = (0..draws).filter(|_| table.rank(draw.bits()) >= kept).count();
            let all = beyond(lines as f64);
            let expected = (beyond(kept as f64) - all) / (1.0 - all);
            let share = missed as f64 / f64::from(draws);
            assert!((share - expected).abs() < 0.01, "{kept}: {share} expected {expected}");
        }
    }

    #[test]
    fn every_page_is_touched() {
        let mut buffer = Buffer::new(64 * 4096);
        let mut accesses = 0;
        let table = table(buffer.range().lines(), 0.5);
        walk(buffer.range(), 20_000, &table, WriteTurn::new(1.0), &mut Draw::new(3, 0), &mut |n| accesses += n);
        assert_eq!(accesses, 20_000);
        let mut pages: Vec<_> = buffer.written().into_iter().map(|at| at / 4096).collect();
        pages.dedup();
        assert_eq!(pages.len(), 64);
    }
}
