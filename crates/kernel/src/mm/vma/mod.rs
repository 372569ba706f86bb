//! A mapping of an address space and its page-table entries.
//!
//! * `mapping` the mapping, its chunks and pages; `chunk` 2 MiB of it; `kind` what backs it;
//! * `frame_map` pageblocks, swap slots and page tables of its pages;
//! * `check` what must hold of all that; `exclusive` pages that no other mapping can have;
//! * `pending` which pages an access would fault on; `page_state` the state of one page;
//! * `marking` PROT_NONE marking for NUMA hinting;
//! * `sharing` fork, copy-on-write, unmapping; `shared_runs` many shared pages at once; `shared_slots` their swap
//!   slots;
//! * `folios` large folios below 2 MiB (`folio_orders`);
//! * `huge` splitting, collapsing and swapping out huge pages;
//! * `deferred_split` huge pages of which a part is mapped (`partly_mapped_thp`);
//! * `zero_page` entries that map the zero page (`zero_entries`);
//! * `accessed` accessed bits (`access_runs`), `access_sample` whether a page is accessed within a short time.

mod access_runs;
mod access_sample;
mod accessed;
pub(in crate::mm) mod chunk;
mod deferred_split;
mod entry_runs;
mod exclusive;
mod folio_orders;
mod folios;
pub(in crate::mm) mod frame_map;
mod huge;
pub(in crate::mm) mod kind;
pub(in crate::mm) mod mapping;
mod marking;
mod page_state;
mod partly_mapped_thp;
mod pending;
mod recount;
mod shared_runs;
mod shared_slots;
pub(in crate::mm) mod sharing;
mod zero_entries;
mod zero_page_entries;

pub use access_sample::AccessSample;
pub use chunk::{Chunk, ChunkKind};
pub use folios::MAX_FOLIO_ORDER;
pub use frame_map::FrameMap;
pub use kind::VmaKind;
pub use mapping::Vma;
pub use marking::{HeldPages, MarkOutcome};
pub use page_state::PageState;
pub use pending::{PendingKind, PendingPages};
pub(in crate::mm) use shared_runs::for_runs;
pub use sharing::CopiedEntries;
