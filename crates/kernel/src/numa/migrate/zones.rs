//! Free memory of the nodes, as NUMA balancing reads it.

/// A zone of a node, in pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ZoneFacts {
    /// The zone has pages.
    pub populated: bool,
    /// Free pages.
    pub free_pages: u64,
    /// High watermark.
    pub high_wmark: u64,
    /// Promotion watermark: high watermark plus one watermark distance.
    pub promo_wmark: u64,
    /// Pages reserved against movable allocations.
    pub lowmem_reserve: u64,
}

/// Free memory of the nodes, given by the caller.
pub trait ZoneInfo {
    /// Zones of a node.
    fn zones(&self, node: usize) -> &[ZoneFacts];
    /// Present pages of a node.
    fn present_pages(&self, node: usize) -> u64;
}
