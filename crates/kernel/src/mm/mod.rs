//! Memory of the modelled kernel: node memory, page tables, mappings.
//!
//! Problem: millions of pages change hands per modelled second, yet a sweep over memory that has no
//! fault pending must cost O(1) per 2 MiB.
//! Approach: a mapping is an array of 16-byte [`Chunk`]s (2 MiB of virtual space each). A chunk is
//! empty, one huge page, or refers to a [`Block`] with bitmaps (present, PROT_NONE, read-only) and the
//! node and last cpupid of each of its 512 pages. Every chunk also counts its pages per node.
//! Units: pages of 4096 bytes; addresses in bytes.
//! Invariants (checked by [`AddressSpace::check`]): the per-node counts of a chunk sum to its present
//! pages; marked and read-only pages are present; node memory used equals the sum over all spaces.

pub mod block;
pub mod node_memory;
pub mod space;
pub mod vma;

pub use block::{Block, NEVER};
pub use node_memory::{AllocCounters, NodeMemory};
pub use space::AddressSpace;
pub use vma::{Chunk, ChunkKind, MarkOutcome, PageState, Vma, VmaKind};

/// Bytes of a base page.
pub const PAGE_BYTES: u64 = 4096;
/// Base pages of a huge page and of a chunk.
pub const CHUNK_PAGES: u64 = 512;
/// Bytes of a chunk.
pub const CHUNK_BYTES: u64 = PAGE_BYTES * CHUNK_PAGES;
