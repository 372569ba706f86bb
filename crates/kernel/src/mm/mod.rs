//! Memory of the modelled kernel: physical memory, page allocation, reclaim, huge pages, page tables, mappings.
//!
//! Problem: millions of pages change hands per modelled second, yet a sweep over memory that has no
//! fault pending must cost O(1) per 2 MiB, and a 16 TiB machine must fit in a few GB.
//! Approach: physical memory is counted per zone and per 512-page *pageblock*; a page knows its pageblock, not its
//! place in it. A mapping is an array of [`Chunk`]s (2 MiB of virtual space each): empty, one huge page, or a
//! [`Block`] with bitmaps. Every chunk also counts its pages per node.
//! Units: pages of 4096 bytes; addresses in bytes.
//! Invariants (checked by [`AddressSpace::check`] and [`NodeMemory::check`]): the per-node counts of a chunk sum to its
//! present pages; marked and read-only pages are present; per node, free and used pages sum to the managed ones.
//!
//! | part | module |
//! |---|---|
//! | zones, fallback orders, watermarks | [`zone`] |
//! | pageblocks, fragmentation | [`pageblock`] |
//! | use of memory, LRU, counters | [`account`], [`counters`] |
//! | request flags, fast and slow path | [`alloc`] |
//! | page cache, kswapd, direct and node reclaim, swap, demotion | [`reclaim`] |
//! | compaction, kcompactd | [`compact`] |
//! | memory policies | [`policy`] |
//! | huge pages: settings, locality rules, ladders, latency | [`thp`] |
//! | khugepaged | [`khugepaged`] |
//! | page tables and mappings | [`block`], [`vma`], [`space`], [`places`]; marking them in [`marking`] |
//! | entries that show the page of zeros, huge pages mapped in part | `zero`, `partial` |
//! | which entries were used | `young` |
//! | pages that several mappings show | [`object`], [`sharing`]; reaching all of them in [`rmap`] |
//! | settings, what an operation cost | [`config`], [`work`] |

pub mod account;
pub mod alloc;
pub mod block;
pub mod compact;
pub mod config;
pub mod counters;
pub mod khugepaged;
pub mod lru_batch;
pub mod marking;
pub mod node_memory;
pub mod object;
pub mod pageblock;
mod partial;
mod pending;
pub mod places;
pub mod policy;
pub mod reclaim;
pub mod rmap;
pub mod sharing;
pub mod space;
pub mod thp;
pub mod vma;
mod vma_huge;
pub mod work;
mod young;
mod zero;
pub mod zone;

pub use account::{NodeAccount, PageClass};
pub use alloc::{AllocError, Gfp, Got, Request};
pub use block::{Block, NEVER};
pub use config::MmConfig;
pub use counters::{AllocCounters, MmCounters};
pub use lru_batch::{LruBatches, OwnPage};
pub use marking::MarkOutcome;
pub use node_memory::NodeMemory;
pub use object::{Backing, Mapper, PageRef, SharedMemory};
pub use pageblock::Frame;
pub use pending::PendingPages;
pub use places::{Gone, Places};
pub use sharing::{Copied, FAULT_AROUND_PAGES};
pub use space::AddressSpace;
pub use vma::{Chunk, ChunkKind, PageState, Vma, VmaKind};
pub use work::Work;

/// Bytes of a base page.
pub const PAGE_BYTES: u64 = 4096;
/// Base pages of a huge page and of a chunk.
pub const CHUNK_PAGES: u64 = 512;
/// Bytes of a chunk.
pub const CHUNK_BYTES: u64 = PAGE_BYTES * CHUNK_PAGES;
