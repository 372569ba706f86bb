//! Memory of the modelled kernel: physical memory, page allocation, reclaim, huge pages, page tables, mappings.
//!
//! Problem: millions of pages change hands per modelled second, yet a sweep over memory that has no
//! fault pending must cost O(1) per 2 MiB, and a 16 TiB machine must fit in a few GB.
//! Approach: physical memory is counted per zone and per 512-page *pageblock*; a page knows its pageblock, not its
//! place in it. A mapping is an array of [`Chunk`]s (2 MiB of virtual space each): empty, one huge page, or a
//! [`Block`] with bitmaps. Every chunk also counts its pages per node.
//! Units: pages of 4096 bytes; addresses in bytes.
//! Invariants (checked by [`AddressSpace::check`] and [`PhysicalMemory::check`]): the per-node counts of a chunk sum to its
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
//! | mappings and their page tables | [`vma`], [`block`]; all mappings of a process in [`address_space`] |
//! | pages that several mappings show | [`object`]; reaching all of them in [`rmap`] |
//! | new pages on their way to the LRU lists | [`lru_batch`] |
//! | settings, what an operation cost | [`config`], [`work`] |

pub mod account;
pub mod address_space;
pub mod alloc;
pub mod block;
pub mod compact;
pub mod config;
pub mod counters;
pub mod khugepaged;
pub mod lru_batch;
pub mod object;
pub mod pageblock;
pub mod physical_memory;
pub mod policy;
pub mod reclaim;
pub mod rmap;
pub mod thp;
mod units;
mod unmapped;
pub mod vma;
pub mod work;
pub mod zone;

pub use account::{NodeAccount, PageClass};
pub use address_space::AddressSpace;
pub use alloc::{AllocError, AllocatedPage, Gfp, Request};
pub use block::{Block, NEVER};
pub use config::MmConfig;
pub use counters::{AllocCounters, MmCounters};
pub use lru_batch::{LruBatches, OwnPage};
pub use object::{Backing, Mapper, PageRef, SharedMemory};
pub use pageblock::Frame;
pub use physical_memory::PhysicalMemory;
pub use units::{CHUNK_BYTES, CHUNK_PAGES, PAGE_BYTES};
pub use unmapped::Unmapped;
pub use vma::{
    Chunk, ChunkKind, CopiedEntries, FrameMap, MarkOutcome, PageState, PendingPages, Vma, VmaKind, FAULT_AROUND_PAGES,
};
pub use work::Work;
