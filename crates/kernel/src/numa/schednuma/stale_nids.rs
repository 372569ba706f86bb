//! What page fields read that no fault has set.

/// Flag in a page's remembered node: it has moved once (only with the `freeze` switch).
pub const MOVED: u32 = 1 << 16;

/// What the page field of a page that nobody faulted on yet reads: nothing initialises it, so a frame keeps what its
/// previous page left. Frames are handed out last in, first out, so what matters is the last page that left the node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StaleNids(Vec<u32>);

impl StaleNids {
    /// All frames as after boot.
    pub fn new(nodes: usize) -> Self {
        Self(vec![0; nodes])
    }
    /// What an untouched page of `node` reads.
    #[inline]
    pub fn read(&self, node: usize) -> u32 {
        self.0[node]
    }
    /// A page that remembers `last` leaves `node`.
    #[inline]
    pub fn leave(&mut self, node: usize, last: u32) {
        self.0[node] = last & !MOVED;
    }
}
