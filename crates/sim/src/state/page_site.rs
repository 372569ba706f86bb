//! Where a fault happens: CPU, task, mapping and page.

use numalab_kernel::mm::CHUNK_PAGES;

/// A fault: who, where, how.
#[derive(Clone, Copy, Debug)]
pub struct PageSite {
    /// CPU.
    pub cpu: usize,
    /// Task.
    pub task: u32,
    /// Its process.
    pub process: usize,
    /// Mapping.
    pub vma: usize,
    /// Chunk of the mapping.
    pub chunk: usize,
    /// Page of the chunk.
    pub page: usize,
    /// A store.
    pub write: bool,
}

/// A marked page that was touched.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MarkedPage {
    pub vma: usize,
    pub chunk: usize,
    pub page: usize,
    pub node: usize,
    pub last: u32,
    pub pages: u32,
}

impl MarkedPage {
    /// Whether it is a huge page, with an entry of its own. Large folios below 2 MiB have entries of base pages.
    pub fn is_huge(&self) -> bool {
        u64::from(self.pages) == CHUNK_PAGES
    }
    /// The first of its base pages in the chunk, and one past the last.
    pub fn entries(&self) -> std::ops::Range<usize> {
        let pages = self.pages as usize;
        let first = self.page & !(pages - 1);
        first..first + pages
    }
}
