//! Independent uniform random lines.

use super::{scale, touch, Draw, Range, WriteTurn, LINE_BYTES};

/// Accesses between two calls of `after`.
pub const BATCH: u64 = 64;

/// `accesses` accesses.
pub fn walk(range: Range, accesses: u64, mut turn: WriteTurn, draw: &mut Draw, after: &mut impl FnMut(u64)) {
    let lines = range.lines();
    let mut left = accesses;
    while left > 0 {
        let batch = left.min(BATCH);
        for _ in 0..batch {
            touch(range, scale(draw.bits(), lines) * LINE_BYTES, &mut turn);
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
    fn covers_the_whole_range() {
        let mut buffer = Buffer::new(64 * 64);
        walk(buffer.range(), 2000, WriteTurn::new(1.0), &mut Draw::new(3, 0), &mut |_| {});
        assert_eq!(buffer.written().len(), 64);
    }
}
