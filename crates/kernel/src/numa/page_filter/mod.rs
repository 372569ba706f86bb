//! Page filters: which pages the scanner leaves unmarked for being shared (kernel-numa-balancing.md §8).
//!
//! A filtered page takes no hint fault. It has no statistics and never migrates. The variants differ in what "shared" is
//! measured by (mapcount, reference count, estimate) and in scope (every mapping, or private mappings that may be
//! written). The scanner asks them per base-page entry; only one also looks at huge entries.
//!
//! [`parts`] says what a filter consists of, and each variant is one file with its [`Parts`]. [`PageFilterKind`] is the
//! visible list: a new filter is its file and its line there. [`rule`] carries the parts out.

pub mod parts;
mod rule;
#[cfg(test)]
mod tests;
mod tunables;

pub use parts::{Parts, Verdict};
pub use rule::{PageFilter, PagePolicy};
pub use tunables::PageFilterTunables;

numalab_base::variants! {
    /// Which pages a scan leaves unmarked.
    pub enum PageFilterKind of Parts {
        None in none,
        Mapcount1Any in mapcount1_any,
        CowMapcount1 in cow_mapcount1,
        CowSkipVma in cow_skip_vma,
        MapcountThreshold in mapcount_threshold,
        CowRefcount1 in cow_refcount1,
        CowSharedOrPinned in cow_shared_or_pinned,
        CanMapProtNuma in can_map_prot_numa,
    }
}
