//! Threads that come to a page.

/// A thread that comes to a place of a mapping.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Contender {
    /// When it comes, ns.
    pub ns: f64,
    pub task: u32,
    pub writes: bool,
    pub ns_per_byte: f64,
}
