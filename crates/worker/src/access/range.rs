//! Mapped memory, and one access to it.

use super::write_turn::WriteTurn;
use numalab_nouns::access::LINE_BYTES;

/// A checked range of mapped memory: `base` is 8-aligned, and `len` bytes from it stay mapped while the process lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    base: u64,
    len: u64,
}

impl Range {
    /// A range that starts at `base`, rounded down to a word.
    ///
    /// # Safety
    /// All whole words of the range must stay mapped, readable, and writable if the range is ever written. No reference
    /// into the range may exist.
    pub unsafe fn new(base: u64, len: u64) -> Self {
        Self { base: base & !7, len: len.max(8) }
    }

    /// Address of the first word.
    pub fn base(self) -> u64 {
        self.base
    }

    /// Length, bytes.
    pub fn len(self) -> u64 {
        self.len
    }

    /// Always false: a range has at least one word.
    pub fn is_empty(self) -> bool {
        self.len == 0
    }

    /// Number of lines in the range, at least 1.
    pub fn lines(self) -> u64 {
        (self.len / LINE_BYTES).max(1)
    }

    /// Address of the word at byte `offset`.
    fn word(self, offset: u64) -> *mut u64 {
        debug_assert!(offset + 8 <= self.len.next_multiple_of(8));
        (self.base + offset) as *mut u64
    }
}

/// Writes the word at `offset` if it is the turn of a write, and reads it otherwise. Returns the value read, or 0.
#[inline(always)]
pub fn touch(range: Range, offset: u64, turn: &mut WriteTurn) -> u64 {
    let p = range.word(offset);
    if turn.writes() {
        // SAFETY: the maker of the `Range` ensured mapped, writable memory without references, and walks stay below
        // `len`.
        unsafe { p.write_volatile(offset) };
        0
    } else {
        // SAFETY: the maker of the `Range` ensured mapped, readable memory, and walks stay below `len`.
        unsafe { p.read_volatile() }
    }
}
