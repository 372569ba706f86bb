//! Every line in address order ([`Order::Address`](numalab_nouns::access::Order::Address)).

use super::range::{touch, Range};
use super::write_turn::WriteTurn;
use crate::sys::PAGE_BYTES;
use numalab_nouns::access::LINE_BYTES;

/// Makes one pass; `after` is called with the lines of each page.
pub fn walk(range: Range, mut turn: WriteTurn, after: &mut impl FnMut(u64)) {
    let mut offset = 0;
    while offset < range.len() {
        // Up to the end of the page in which `offset` lies.
        let page_end = (range.base() + offset + 1).next_multiple_of(PAGE_BYTES) - range.base();
        let end = page_end.min(range.len());
        let first = offset;
        turn.force();
        while offset < end {
            touch(range, offset, &mut turn);
            offset += LINE_BYTES;
        }
        after((offset - first) / LINE_BYTES);
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_buffer::Buffer;
    use super::*;

    #[test]
    fn writes_every_line_once_and_stays_inside() {
        let mut buffer = Buffer::new(3 * 4096 + 256);
        let mut lines = 0;
        walk(buffer.range(), WriteTurn::new(1.0), &mut |n| lines += n);
        assert_eq!(lines, 3 * 64 + 4);
        assert_eq!(buffer.written(), (0..3 * 4096 + 256).step_by(64).collect::<Vec<_>>());
    }

    #[test]
    fn a_small_write_share_still_dirties_every_page() {
        let mut buffer = Buffer::new(64 * 4096);
        walk(buffer.range(), WriteTurn::new(0.001), &mut |_| {});
        let pages: std::collections::BTreeSet<usize> = buffer.written().iter().map(|o| o / 4096).collect();
        assert!(pages.len() >= 63, "{}", pages.len());
    }
}
