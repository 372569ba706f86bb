//! Which base pages of a mapping belong to a large folio ([`folios`](super::folios)).

use crate::mm::units::CHUNK_PAGES;

const NOTHING: u32 = u32::MAX;

/// The order of the folio of each page, by chunk; 0 for a base page.
#[derive(Clone, Debug, Default)]
pub(in crate::mm) struct Folios {
    /// By chunk, its place in `orders`; empty until there is a folio.
    at: Vec<u32>,
    orders: Vec<[u8; 512]>,
}

impl Folios {
    /// The orders of the pages of a chunk; `None` if it has never had a folio.
    #[inline]
    pub fn of(&self, chunk: usize) -> Option<&[u8; 512]> {
        self.orders.get(*self.at.get(chunk)? as usize)
    }
    /// First page and number of pages of the folio of a page; itself and 1 for a base page.
    #[inline]
    pub fn of_page(&self, chunk: usize, page: usize) -> (usize, u32) {
        let pages = self.of(chunk).map_or(1, |orders| 1 << orders[page]);
        (page & !(pages - 1), pages as u32)
    }
    /// Makes folios of an order, or base pages (0), of the pages from `first` on.
    pub fn set(&mut self, chunk: usize, first: usize, pages: usize, order: u8) {
        if self.at.len() <= chunk {
            self.at.resize(chunk + 1, NOTHING);
        }
        if self.at[chunk] == NOTHING {
            self.at[chunk] = self.orders.len() as u32;
            self.orders.push([0; 512]);
        }
        self.orders[self.at[chunk] as usize][first..first + pages].fill(order);
    }
    /// Splits the folio of a page, if it belongs to one.
    #[inline]
    pub fn split(&mut self, chunk: usize, page: usize) {
        let (first, pages) = self.of_page(chunk, page);
        if pages > 1 {
            self.set(chunk, first, pages as usize, 0);
        }
    }
    /// Splits all folios of a chunk.
    #[inline]
    pub fn split_chunk(&mut self, chunk: usize) {
        if self.of(chunk).is_some() {
            self.set(chunk, 0, CHUNK_PAGES as usize, 0);
        }
    }
    /// Whether there has been a folio.
    #[inline]
    pub fn any(&self) -> bool {
        !self.at.is_empty()
    }
    /// Memory that they take in the simulator, bytes.
    pub fn state_bytes(&self) -> usize {
        self.at.capacity() * std::mem::size_of::<u32>() + self.orders.capacity() * 512
    }
}
