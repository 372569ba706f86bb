//! Which entries of a VMA map the zero page.

use crate::mm::block::Bits512;

/// Entries of a chunk that map the zero page.
#[derive(Clone, Debug)]
pub(super) struct Zeros {
    pub(super) entries: Bits512,
    /// Whether they are one huge entry.
    pub(super) huge: bool,
}

/// Entries of a VMA that map the zero page.
#[derive(Clone, Debug, Default)]
pub(in crate::mm) struct ZeroEntries {
    /// By chunk; empty until there is such an entry.
    pub(super) chunks: Vec<Option<Box<Zeros>>>,
    pub(super) pages: u64,
}

impl ZeroEntries {
    /// Number of entries that map the zero page, in base pages.
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
    /// Entries of a chunk that map the zero page.
    pub fn bits(&self, chunk: usize) -> Bits512 {
        self.at(chunk).map_or(Bits512::default(), |z| z.entries)
    }
    /// Clears entries that no longer map the zero page.
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
