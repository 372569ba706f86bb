//! A zone, and the division of a node's memory into zones.

use super::watermark::Watermarks;
use crate::mm::compact::attempt::ZoneCompaction;
use crate::mm::pageblock::pageblocks::Pageblocks;

/// Pages of the DMA32 zone in fidelity Z2: 3 GiB.
pub const DMA32_PAGES: u64 = 3 << 18;
/// `vm.lowmem_reserve_ratio` of DMA32: requests that can use higher zones leave it 1/256 of the pages of these zones.
const DMA32_RESERVE_RATIO: u64 = 256;

/// Which part of a node's memory a zone is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ZoneKind {
    /// Below 4 GiB.
    Dma32,
    /// All memory, or the memory above DMA32.
    Normal,
}

/// A zone. Its free pages are counted in [`ZoneFacts`](crate::numa::migrate::ZoneFacts).
#[derive(Clone, Debug)]
pub struct Zone {
    /// Node of the zone.
    pub node: usize,
    /// Which part of the node's memory it is.
    pub kind: ZoneKind,
    /// Pages that the allocator manages.
    pub managed: u64,
    /// Watermarks without boost.
    pub marks: Watermarks,
    /// Boost of the watermarks, pages, because a pageblock has changed mobility.
    pub boost: u64,
    /// Pageblocks of the zone.
    pub pageblocks: Pageblocks,
    /// State of compaction.
    pub compaction: ZoneCompaction,
}

/// Zones of a node with `pages`, the lowest first: kind, size and lowmem reserve of each.
pub fn layout(node: usize, pages: u64, with_dma32: bool) -> Vec<(ZoneKind, u64, u64)> {
    if pages == 0 {
        return Vec::new();
    }
    if !with_dma32 || node != 0 || pages <= DMA32_PAGES {
        return vec![(ZoneKind::Normal, pages, 0)];
    }
    let normal = pages - DMA32_PAGES;
    vec![(ZoneKind::Dma32, DMA32_PAGES, normal / DMA32_RESERVE_RATIO), (ZoneKind::Normal, normal, 0)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dma32_keeps_back_a_256th_of_normal() {
        let zones = layout(0, 64 << 18, true);
        assert_eq!(zones, [(ZoneKind::Dma32, 3 << 18, 244 << 8), (ZoneKind::Normal, 61 << 18, 0)]);
        assert_eq!(layout(1, 64 << 18, true).len(), 1);
        assert_eq!(layout(0, 64 << 18, false).len(), 1);
        assert!(layout(0, 0, true).is_empty());
    }
}
