//! Memory that tests walk over.

use super::range::Range;

/// A buffer that shows which of its words were written.
pub(crate) struct Buffer {
    words: Vec<u64>,
}

impl Buffer {
    pub(crate) fn new(bytes: usize) -> Self {
        Self { words: vec![u64::MAX; bytes / 8] }
    }
    pub(crate) fn range(&mut self) -> Range {
        // SAFETY: tests keep the buffer while they walk it.
        unsafe { Range::new(self.words.as_mut_ptr() as u64, self.words.len() as u64 * 8) }
    }
    pub(crate) fn written(&self) -> Vec<usize> {
        (0..self.words.len()).filter(|&i| self.words[i] != u64::MAX).map(|i| i * 8).collect()
    }
}
