//! One line per stride ([`Walk::Stride`](numalab_nouns::access::Walk::Stride)).

use super::range::{touch, Range};
use super::write_turn::WriteTurn;
use crate::sys::PAGE_BYTES;
use numalab_nouns::access::LINE_BYTES;

/// Lines between two calls of `after`.
const BATCH: u64 = 64;

/// Makes one pass with a stride of at least a line.
pub fn walk(range: Range, stride_bytes: u64, mut turn: WriteTurn, after: &mut impl FnMut(u64)) {
    let stride = stride_bytes.max(LINE_BYTES) & !7;
    let (mut offset, mut lines, mut page) = (0, 0, u64::MAX);
    while offset < range.len() {
        let now = (range.base() + offset) / PAGE_BYTES;
        if now != page {
            page = now;
            turn.force();
        }
        touch(range, offset, &mut turn);
        offset += stride;
        lines += 1;
        if lines == BATCH {
            after(lines);
            lines = 0;
        }
    }
    if lines > 0 {
        after(lines);
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_buffer::Buffer;
    use super::*;

    #[test]
    fn touches_one_line_per_stride() {
        let mut buffer = Buffer::new(1 << 20);
        let mut lines = 0;
        walk(buffer.range(), 4096, WriteTurn::new(1.0), &mut |n| lines += n);
        assert_eq!(lines, 256);
        assert_eq!(buffer.written(), (0..1 << 20).step_by(4096).collect::<Vec<_>>());
    }
}
