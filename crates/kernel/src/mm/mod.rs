//! Memory of the modelled kernel: physical memory, page allocation, reclaim, huge pages, page tables, mappings.
//!
//! Problem: millions of pages change owners per modelled second. Yet a sweep over memory without pending faults must
//! cost O(1) per 2 MiB, and a 16 TiB machine must fit in a few GB.
//! Approach: physical memory is counted per zone and per *pageblock* of 512 pages. A page knows its pageblock, but not
//! its position in it. A mapping is an array of [`Chunk`]s of 2 MiB: empty, one huge page, or a [`Block`] with
//! bitmaps. Every chunk also counts its pages per node.
//! Units: pages of 4096 bytes; addresses in bytes.
//! Invariants (checked by [`AddressSpace::check`] and [`PhysicalMemory::check`]): the per-node counts of a chunk add
//! up to its present pages. Marked and read-only pages are present. The free and used pages of a node add up to its
//! managed pages.
//!
//! | part | module |
//! |---|---|
//! | zones, fallback orders, watermarks | [`zone`] |
//! | pageblocks, fragmentation | [`pageblock`] |
//! | use of memory, LRU lists, counters | [`account`], [`counters`] |
//! | requests, fast and slow path | [`alloc`] |
//! | page cache, kswapd, direct and node reclaim, swap, demotion | [`reclaim`] |
//! | compaction, kcompactd | [`compact`] |
//! | memory policies | [`policy`] |
//! | huge pages: settings, locality rules, ladders, latency | [`thp`] |
//! | khugepaged | [`khugepaged`] |
//! | mappings and their page tables | [`vma`], [`block`]; all mappings of a process in [`address_space`] |
//! | pages that several VMAs can map, and their reverse map | [`object`], [`rmap`] |
//! | nodes of 512 pages | [`page_nodes`] |
//! | new pages on their way to the LRU lists | [`lru_batch`] |
//! | the pool of hugetlb pages | [`hugetlb`] |
//! | state read ahead of its use | `read_ahead` |
//! | bytes that all this takes in the simulator | [`state_sizes`] |
//! | settings; the work of an operation and its cost | [`config`], [`work`] |

pub mod account;
pub mod address_space;
pub mod alloc;
pub mod block;
pub mod compact;
pub mod config;
pub mod counters;
pub mod hugetlb;
pub mod kernel_work;
pub mod khugepaged;
pub mod lru_batch;
pub mod object;
pub mod page_nodes;
pub mod pageblock;
pub mod physical_memory;
pub mod policy;
mod read_ahead;
pub mod reclaim;
pub mod rmap;
pub mod state_sizes;
pub mod thp;
mod units;
mod unmapped;
pub mod vma;
pub mod zone;

pub use account::{NodeAccount, PageClass};
pub use address_space::AddressSpace;
pub use alloc::{AllocError, AllocatedPage, Gfp, Request};
pub use block::{Block, NEVER};
pub use config::MmConfig;
pub use counters::{AllocCounters, MmCounters};
pub use kernel_work::Work;
pub use lru_batch::{LruBatches, OwnPage};
pub use object::{Backing, Mapper, PageRef, SharedBlock, SharedMemory, SharedObject};
pub use pageblock::Frame;
pub use physical_memory::PhysicalMemory;
pub use state_sizes::StateSizes;
pub use units::{CHUNK_BYTES, CHUNK_PAGES, PAGE_BYTES};
pub use unmapped::Unmapped;
pub use vma::{
    AccessSample, Chunk, ChunkKind, CopiedEntries, FrameMap, HeldPages, MarkOutcome, PageState, PendingKind,
    PendingPages, Vma, VmaKind, MAX_FOLIO_ORDER,
};
