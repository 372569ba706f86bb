//! Reclaim of anonymous pages, as the address spaces that own them carry it out.

use crate::mm::kernel_work::Work;
use crate::mm::physical_memory::PhysicalMemory;

/// Reclaims anonymous pages.
pub trait AnonReclaim {
    /// Scans up to `scan` inactive anonymous pages of a node and frees those not used lately: to `demote_to` if given,
    /// else to swap. Other pages stay inactive or are activated ([`check_references`](super::check_references)). Frees
    /// pages through `memory` and adds its work to `work`.
    fn shrink_anon(
        &mut self,
        memory: &mut PhysicalMemory,
        node: usize,
        scan: u64,
        demote_to: Option<usize>,
        work: &mut Work,
    ) -> AnonShrunk;
    /// Deactivates up to `scan` active anonymous pages of a node, used or not (`shrink_active_list`). Returns their
    /// number and adds its work to `work`. The default does nothing.
    fn age_anon(&mut self, _memory: &mut PhysicalMemory, _node: usize, _scan: u64, _work: &mut Work) -> u64 {
        0
    }
    /// Splits the partly mapped huge pages of a node, which frees their unmapped parts (`deferred_split_scan`). The
    /// default does nothing.
    fn split_deferred_thps(&mut self, _memory: &mut PhysicalMemory, _node: usize, _work: &mut Work) {}
    /// Unmaps up to `pages` file pages of a node from all page tables; returns their number. The default unmaps none.
    fn unmap_file(&mut self, _node: usize, _pages: u64) -> u64 {
        0
    }
}

/// Result of [`AnonReclaim::shrink_anon`], pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AnonShrunk {
    /// Scanned.
    pub scanned: u64,
    /// Freed on the node.
    pub freed: u64,
    /// Moved to the active list because they were found used twice.
    pub activated: u64,
}

/// There are no anonymous pages to reclaim; reclaim takes only page cache.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoAnonReclaim;

impl AnonReclaim for NoAnonReclaim {
    fn shrink_anon(
        &mut self,
        _memory: &mut PhysicalMemory,
        _node: usize,
        _scan: u64,
        _demote_to: Option<usize>,
        _work: &mut Work,
    ) -> AnonShrunk {
        AnonShrunk::default()
    }
}
