//! Where a fault happens: CPU, task, mapping and page.

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
