//! A zone, and how the memory of a node is divided into zones.

use super::watermark::Watermarks;
use crate::mm::compact::attempt::ZoneCompaction;
use crate::mm::pageblock::pageblocks::Pageblocks;

/// Pages of the DMA32 zone of fidelity Z2: 3 GiB.
pub const DMA32_PAGES: u64 = 3 << 18;
/// `vm.lowmem_reserve_ratio` of DMA32: the part of the higher zones it keeps back from their requests.
const DMA32_RESERVE_RATIO: u64 = 256;

/// Which part of a node's memory a zone is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ZoneKind {
    /// Below 4 GiB.
    Dma32,
    /// All memory, or what lies above DMA32.
    Normal,
}

/// A zone; its free pages are kept beside it.
#[derive(Clone, Debug)]
pub struct Zone {
    /// Its node.
    pub node: usize,
    /// Which part.
    pub kind: ZoneKind,
    /// Pages the allocator manages.
    pub managed: u64,
    /// Marks without boost.
    pub marks: Watermarks,
    /// Pages the marks are boosted by, because a pageblock changed mobility lately.
    pub boost: u64,
    /// Its pageblocks.
    pub pageblocks: Pageblocks,
    /// State of compaction.
    pub compaction: ZoneCompaction,
}

/// Zones of a node of `pages`, lowest first, each with its kind, size and lowmem reserve.
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
