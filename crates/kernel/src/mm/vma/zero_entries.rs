//! Which entries of a mapping show the page of zeros.

use crate::mm::block::Bits512;

/// Entries of a chunk that show zeros.
#[derive(Clone, Debug)]
pub(super) struct Zeros {
    pub(super) entries: Bits512,
    /// One huge entry.
    pub(super) huge: bool,
}

/// Entries of a mapping that show zeros.
#[derive(Clone, Debug, Default)]
pub(in crate::mm) struct ZeroEntries {
    /// By chunk; empty while there has been none.
    pub(super) chunks: Vec<Option<Box<Zeros>>>,
    pub(super) pages: u64,
}

impl ZeroEntries {
    /// Entries that show zeros, base pages.
    #[inline]
    pub fn pages(&self) -> u64 {
        self.pages
    }
    pub(super) fn at(&self, chunk: usize) -> Option<&Zeros> {
        self.chunks.get(chunk)?.as_deref()
    }
    pub(super) fn get(&self, chunk: usize, page: usize) -> bool {
        self.at(chunk).is_some_and(|z| z.entries.get(page))
    }
    /// Entries in a range of a chunk.
    pub fn bits(&self, chunk: usize) -> Bits512 {
        self.at(chunk).map_or(Bits512::default(), |z| z.entries)
    }
    /// Entries that no longer show zeros.
    #[inline]
    pub fn clear(&mut self, chunk: usize, range: impl FnOnce() -> Bits512) {
        if self.pages > 0 {
            self.clear_some(chunk, range());
        }
    }
    #[cold]
    fn clear_some(&mut self, chunk: usize, range: Bits512) {
        let Some(slot) = self.chunks.get_mut(chunk) else { return };
        let Some(z) = slot else { return };
        let gone = z.entries.zip(&range, |a, b| a & b);
        self.pages -= u64::from(gone.count());
        z.entries = z.entries.zip(&gone, |a, b| a & !b);
        z.huge = false;
        if z.entries.count() == 0 {
            *slot = None;
        }
    }
}
