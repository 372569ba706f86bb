//! Dependent random lines, one in flight.
//!
//! The next address depends on the value just read, so a CPU cannot start the next load early. The value
//! is masked away by a zero the compiler cannot see, so that no pointers have to be planted in memory
//! (planting them would be a first touch of its own).

use super::{scale, touch, Draw, Range, WriteTurn, LINE_BYTES};
use std::hint::black_box;

/// `accesses` accesses.
pub fn walk(range: Range, accesses: u64, mut turn: WriteTurn, draw: &mut Draw, after: &mut impl FnMut(u64)) {
    let lines = range.lines();
    let none = black_box(0u64);
    let (mut left, mut seen) = (accesses, 0u64);
    while left > 0 {
        let batch = left.min(super::random::BATCH);
        for _ in 0..batch {
            let line = scale(draw.bits() ^ (seen & none), lines);
            seen = touch(range, line * LINE_BYTES, &mut turn);
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
        let mut accesses = 0;
        walk(buffer.range(), 2000, WriteTurn::new(1.0), &mut Draw::new(3, 0), &mut |n| accesses += n);
        assert_eq!(accesses, 2000);
        assert_eq!(buffer.written().len(), 64);
    }
}
