//! Page filters: which pages the scanner leaves unmarked for being shared (kernel-numa-balancing.md §8).
//!
//! A filtered page takes no hint fault. It has no statistics and never migrates. The variants differ in what "shared" is
//! measured by (mapcount, reference count, estimate) and in scope (every mapping, or private mappings that may be
//! written). The scanner asks them per base-page entry; only one also looks at huge entries.
//!
//! [`rule`] is the contract, and each variant is one file that implements it. [`PageFilterKind`] is the visible list: a new
//! filter is its file and its line there.

pub mod can_map_prot_numa;
mod cow_mapcount1;
pub mod cow_refcount1;
pub mod cow_shared_or_pinned;
pub mod cow_skip_vma;
mod filters;
pub mod mapcount1_any;
pub mod mapcount_threshold;
pub mod none;
pub mod rule;
mod tunables;

pub use filters::{PageFilter, PageFilterKind};
pub use rule::{PagePolicy, Verdict};
pub use tunables::PageFilterTunables;
