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

/// When a thread begins to fill a page. The earliest is the greatest, as a heap wants it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    /// Within the time of one page, ns.
    pub ns: f64,
    pub task: u32,
}

impl Ord for Arrival {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        other.ns.total_cmp(&self.ns).then(other.task.cmp(&self.task))
    }
}

impl PartialOrd for Arrival {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Arrival {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Arrival {}
