//! What page walks see of a mapping: its huge pages and its page tables.

use super::vma::Vma;
use super::CHUNK_PAGES;

impl Vma {
    /// Share of the resident pages that huge pages map, 0..=1.
    pub fn huge_share(&self) -> f64 {
        let rss = self.rss_pages();
        if rss == 0 {
            return 0.0;
        }
        (self.places.huge_pages() * CHUNK_PAGES) as f64 / rss as f64
    }
    /// Page tables on each node; where none is noted, the pages themselves stand for them.
    pub fn tables_on_node(&self) -> &[u64] {
        if self.places.tables() == 0 {
            self.pages_on_node()
        } else {
            self.places.tables_on_node()
        }
    }
}
