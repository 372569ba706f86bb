//! Free memory of a zone at the granularity that huge pages need: 512-page blocks (thp-and-allocation.md section 3.3).
//!
//! Problem: whether a node can give a huge page depends on how its free pages lie, and a machine has up to 2^23
//! pageblocks. Exact buddy lists are not needed.
//! Approach: each block knows how many of its pages are free and how many hold unmovable data; the rest is movable.
//! Small movable pages come from the fullest usable block, then from an empty one, and last from blocks with
//! unmovable data; unmovable pages come from blocks that have some already, else they spoil one more. A page is known by
//! its block ([`Frame`]), not by its place in it.
//! Compaction empties a block without telling the owners of its pages: their frames go on naming the old block, and
//! freeing follows `forward` to a block they may have moved to. Counts stay exact per zone; which of the compacted
//! blocks a page leaves is an approximation.
//! Units: pages of 4096 bytes. Invariants ([`Pageblocks::check`]): free + movable + unmovable = 512 in every block, and
//! the indices agree with the blocks.

pub mod ageing;
pub(in crate::mm) mod bit_tree;
mod buckets;
pub mod fragmentation;
pub(in crate::mm) mod frame;
pub(in crate::mm) mod pageblocks;

pub use bit_tree::BitTree;
pub use frame::Frame;
pub use pageblocks::Pageblocks;
