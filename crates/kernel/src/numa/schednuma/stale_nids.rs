//! What page fields read as before a fault has set them.

/// Flag in a page's remembered node: the page has moved once (only with the `freeze` switch).
pub const MOVED: u32 = 1 << 16;

/// What the page field of a page without a fault reads as. The kernel does not initialise it, so a frame keeps what its
/// previous page left. Frames are allocated last in, first out, so the last page that left the node decides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StaleNids(Vec<u32>);

impl StaleNids {
    /// Fields as after boot.
    pub fn new(nodes: usize) -> Self {
        Self(vec![0; nodes])
    }
    /// What an untouched page of `node` reads as.
    #[inline]
    pub fn read(&self, node: usize) -> u32 {
        self.0[node]
    }
    /// Records that a page that remembers `last` leaves `node`.
    #[inline]
    pub fn leave(&mut self, node: usize, last: u32) {
        self.0[node] = last & !MOVED;
    }
}
