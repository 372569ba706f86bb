//! Lines and columns of many places of one text.
//!
//! Problem: every key and value of a spec is read with its place. Counting each place from the start of the text would
//! take time in proportion to the square of its size: minutes for a megabyte.
//! Approach: the start of every line, and the number of characters before every [`BLOCK`] bytes, are found once. A
//! place is then a binary search and a count over less than two blocks, even if a whole list is on one line.

/// Bytes between two counts of characters.
const BLOCK: usize = 256;

/// The starts of the lines of a text, and the number of characters before each block of it.
#[derive(Debug)]
pub(super) struct Places {
    /// Offset of the first byte of each line; the first is 0.
    lines: Vec<usize>,
    /// Number of characters that start before each multiple of [`BLOCK`].
    chars: Vec<usize>,
}

impl Places {
    /// The places of `text`.
    pub(super) fn of(text: &str) -> Self {
        let after = text.bytes().enumerate().filter(|(_, b)| *b == b'\n').map(|(at, _)| at + 1);
        let lines = std::iter::once(0).chain(after).collect();
        let mut before = 0;
        let mut chars = vec![0];
        for block in text.as_bytes().chunks(BLOCK) {
            before += starts(block);
            chars.push(before);
        }
        Self { lines, chars }
    }

    /// Line and column of a byte offset, both from 1. `text` is the text that this was made of. The result is that of
    /// [`position`](super::position).
    pub(super) fn position(&self, text: &str, offset: usize) -> (usize, usize) {
        let offset = (0..=offset.min(text.len())).rev().find(|&o| text.is_char_boundary(o)).unwrap_or(0);
        let line = self.lines.partition_point(|start| *start <= offset);
        let start = self.lines[line - 1];
        (line, self.chars_before(text, offset) - self.chars_before(text, start) + 1)
    }

    /// Number of characters that start before a byte offset.
    fn chars_before(&self, text: &str, offset: usize) -> usize {
        let block = offset / BLOCK;
        self.chars[block] + starts(&text.as_bytes()[block * BLOCK..offset])
    }
}

/// Number of characters that start in a run of UTF-8.
fn starts(bytes: &[u8]) -> usize {
    bytes.iter().filter(|b| **b & 0xC0 != 0x80).count()
}

#[cfg(test)]
mod tests {
    use super::super::text::position;
    use super::*;

    #[test]
    fn places_are_those_counted_from_the_start_of_the_text() {
        let texts = [
            String::new(),
            "\n".into(),
            "a = 1\n\n  b = \"h\u{e4}\u{1f980}\"\r\nc".into(),
            "\u{20ac}x\n".repeat(300),
            "n\u{e9}".repeat(1000),
            "x".repeat(2 * BLOCK),
        ];
        for text in texts {
            let places = Places::of(&text);
            for offset in 0..text.len() + 3 {
                assert_eq!(places.position(&text, offset), position(&text, offset), "{offset} of {text:?}");
            }
        }
    }
}
