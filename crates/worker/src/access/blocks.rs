//! Blocks anywhere in the range, each in address order ([`Order::Blocks`](numalab_nouns::access::Order::Blocks)).

use super::draw::{Draw, OpenBlock};
use super::range::{touch, Range};
use super::write_turn::WriteTurn;
use crate::sys::PAGE_BYTES;
use numalab_nouns::access::{scale, Ranks, LINE_BYTES};

/// Lines between two calls of `after`.
const BATCH: u64 = 64;

/// Accesses `accesses` lines in blocks of `block_bytes`, aligned to their size. The thread's next walk over such blocks
/// of the same range continues in the block that this walk leaves unfinished. A block is anywhere, or where one of
/// `lines` is.
pub fn walk(
    range: Range,
    (accesses, block_bytes, lines): (u64, u64, Option<&Ranks>),
    mut turn: WriteTurn,
    draw: &mut Draw,
    after: &mut impl FnMut(u64),
) {
    let block_lines = (block_bytes / LINE_BYTES).clamp(1, range.lines());
    let blocks = range.lines() / block_lines;
    let mut left = accesses;
    while left > 0 {
        let same = |o: &OpenBlock| o.range == range && o.lines == block_lines && o.next < o.end;
        let mut open = draw.block.filter(same).unwrap_or_else(|| {
            let block = match lines {
                None => scale(draw.bits(), blocks),
                Some(lines) => (lines.rank(draw.bits()) / block_lines).min(blocks - 1),
            };
            let next = block * block_lines;
            OpenBlock { range, lines: block_lines, next, end: next + block_lines }
        });
        let batch = left.min(open.end - open.next).min(BATCH);
        for line in open.next..open.next + batch {
            if (line * LINE_BYTES).is_multiple_of(PAGE_BYTES) {
                turn.force();
            }
            touch(range, line * LINE_BYTES, &mut turn);
        }
        after(batch);
        open.next += batch;
        draw.block = Some(open);
        left -= batch;
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_buffer::Buffer;
    use super::*;

    #[test]
    fn writes_whole_blocks() {
        let mut buffer = Buffer::new(16 * 256);
        let mut lines = 0;
        walk(buffer.range(), (8, 256, None), WriteTurn::new(1.0), &mut Draw::new(3, 0), &mut |n| lines += n);
        assert_eq!(lines, 8);
        let written = buffer.written();
        // One or two of the 16 blocks, each whole.
        assert!(written.len() == 4 || written.len() == 8, "{written:?}");
        assert!(written.chunks(4).all(|b| b[0] % 256 == 0 && b[3] == b[0] + 192), "{written:?}");
    }

    #[test]
    fn the_next_walk_continues_in_an_unfinished_block() {
        let mut buffer = Buffer::new(16 * 256);
        let mut draw = Draw::new(3, 0);
        for _ in 0..2 {
            walk(buffer.range(), (2, 256, None), WriteTurn::new(1.0), &mut draw, &mut |_| {});
        }
        let written = buffer.written();
        assert!(written.len() == 4 && written[0].is_multiple_of(256) && written[3] == written[0] + 192, "{written:?}");
    }

    #[test]
    fn blocks_by_rank_are_where_their_lines_are() {
        use numalab_nouns::access::Histogram;
        let mut buffer = Buffer::new(16 * 256);
        let ranks = Histogram::try_from(vec![0, 1]).unwrap().ranks(buffer.range().lines());
        walk(buffer.range(), (1000, 256, Some(&ranks)), WriteTurn::new(1.0), &mut Draw::new(3, 0), &mut |_| {});
        let written = buffer.written();
        assert!(written.len() == 32 && written[0] == 8 * 256, "the upper half alone: {written:?}");
    }

    #[test]
    fn covers_the_whole_range() {
        let mut buffer = Buffer::new(16 * 256);
        walk(buffer.range(), (1000, 256, None), WriteTurn::new(1.0), &mut Draw::new(3, 0), &mut |_| {});
        assert_eq!(buffer.written().len(), 64);
    }
}
