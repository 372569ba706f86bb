//! Only pages mapped at most T times (suggested by C. Lameter, never merged): code mapped by hundreds of processes
//! stays where it is, while a segment shared by fewer than T workers remains migratable.

use super::{PageFilter, Verdict};
use crate::numa::page::PageFacts;

numalab_base::tunables! {
    /// Parameters of `mapcount_threshold`.
    pub struct PageFilterTunables: "page_filter" {
        /// T: pages mapped more often are left unmarked.
        mapcount_limit: u32 = 5, "mappings", "model", range 0..=4_294_967_295;
        /// Only private mappings that may be written are filtered.
        mapcount_limit_cow_only: bool = false, "", "model";
        /// Pages above the limit are not migrated at fault time either.
        mapcount_limit_refuses_migration: bool = false, "", "model";
    }
}

/// Skips a page mapped more than T times.
pub fn verdict(page: &PageFacts, filter: &PageFilter) -> Verdict {
    let in_scope = !filter.cow_only || page.is_cow();
    Verdict::skip_if(in_scope && page.mapcount > filter.mapcount_limit)
}
