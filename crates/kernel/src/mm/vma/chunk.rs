//! State of 2 MiB of a mapping.

use crate::mm::block::NEVER;
use numalab_base::node_mask::NodeId;

/// What a chunk holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChunkKind {
    /// No page and no block.
    Empty,
    /// One huge page.
    Huge,
    /// Base pages in a block.
    Small,
}

/// 2 MiB of the addresses of a mapping.
#[derive(Clone, Copy, Debug)]
pub struct Chunk {
    /// What the chunk holds.
    pub kind: ChunkKind,
    /// Huge: node of the page.
    pub node: NodeId,
    /// Whether its PMD is marked. Huge: PROT_NONE. Small: the first access handles all marked pages (3.8).
    pub pmd_marked: bool,
    /// Runs of 64 entries that were accessed since reclaim looked last, one bit each.
    pub(in crate::mm) touched: u8,
    /// Present base pages (512 for huge).
    pub present: u16,
    /// Marked base pages (small only).
    pub marked: u16,
    /// Write-protected base pages (512 for a write-protected huge page).
    pub read_only: u16,
    /// Base pages that belong to shared objects (512 for a shared huge page).
    pub shared: u16,
    /// Small: index of its block. Huge: `last_cpupid` of the page. Shared huge: index of the mapping's object with the
    /// page.
    pub index: u32,
}

pub(in crate::mm) const EMPTY: Chunk = Chunk {
    kind: ChunkKind::Empty,
    node: 0,
    pmd_marked: false,
    touched: 0,
    present: 0,
    marked: 0,
    read_only: 0,
    shared: 0,
    index: NEVER,
};
