//! Free memory of a zone in blocks of 512 pages, as huge pages need it (thp-and-allocation.md section 3.3).
//!
//! Problem: whether a node can give a huge page depends on where its free pages are, and a machine has up to 2^23
//! pageblocks. Exact buddy lists are not needed.
//! Approach: each block counts its free pages and its pages of unmovable data; its other pages are movable. Movable
//! pages come from the fullest clean block, then from an empty one, and last from a block with unmovable data
//! (polluted). Unmovable pages come from a polluted block; if there is none, they pollute another. A page is named by
//! its block ([`Frame`]), not by its position in it.
//! Compaction empties a block without changing the frames of its pages, which still name the old block. Freeing such a
//! page follows `forward` to a block that its page may have moved to. So counts are exact per zone; from which
//! compacted block a page is freed is an approximation.
//! Units: pages of 4096 bytes. Invariants ([`Pageblocks::check`]): free + movable + unmovable = 512 in every block,
//! and the indices agree with the blocks.

pub mod ageing;
pub(in crate::mm) mod bit_tree;
mod buckets;
pub mod fragmentation;
pub(in crate::mm) mod frame;
pub(in crate::mm) mod pageblocks;

pub use bit_tree::BitTree;
pub use frame::Frame;
pub use pageblocks::Pageblocks;
