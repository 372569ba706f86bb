//! What reclaim asks of the address spaces that own anonymous pages.

use crate::mm::physical_memory::PhysicalMemory;
use crate::mm::work::Work;

/// AnonReclaim of anonymous pages.
pub trait AnonReclaim {
    /// Looks at up to `scan` inactive anonymous pages of a node and frees those not used lately: to `demote_to` if given,
    /// else to swap; the others stay or are activated ([`check_references`](super::check_references)). Frees through `memory`, adds to `work`.
    fn shrink_anon(
        &mut self,
        memory: &mut PhysicalMemory,
        node: usize,
        scan: u64,
        demote_to: Option<usize>,
        work: &mut Work,
    ) -> AnonShrunk;
    /// Looks at up to `scan` active anonymous pages of a node and puts them on the inactive list, used or not
    /// (`shrink_active_list`). Returns how many, adds to `work`. The default has none.
    fn age_anon(&mut self, _memory: &mut PhysicalMemory, _node: usize, _scan: u64, _work: &mut Work) -> u64 {
        0
    }
    /// Splits the huge pages of a node that are mapped in part, so that what was given back of them is free
    /// (`deferred_split_scan`). The default has none.
    fn split_deferred_thps(&mut self, _memory: &mut PhysicalMemory, _node: usize, _work: &mut Work) {}
    /// Takes up to `pages` file pages of a node away from the page tables that map them; returns how many. The
    /// default maps none, so nothing can be taken away.
    fn unmap_file(&mut self, _node: usize, _pages: u64) -> u64 {
        0
    }
}

/// What [`AnonReclaim::shrink_anon`] did, pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AnonShrunk {
    /// Looked at.
    pub scanned: u64,
    /// Freed on the node.
    pub freed: u64,
    /// Found in use twice, and put on the active list.
    pub activated: u64,
}

/// Nobody owns anonymous pages: reclaim has only page cache.
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
