//! "mm: numa: do not trap faults on shared data section pages" (4.16 to 5.16): in private mappings that may be written,
//! only pages mapped once are marked. A data segment shared by forked processes no longer bounces between nodes.

use super::rule::{PageRule, Verdict};
use super::tunables::PageFilterTunables;
use crate::numa::page::PageFacts;

/// The filter of 4.16.
pub struct CowMapcount1;

impl PageRule for CowMapcount1 {
    /// Skips a page of a COW mapping that is not mapped exactly once.
    fn verdict(page: &PageFacts, _t: &PageFilterTunables) -> Verdict {
        Verdict::skip_if(is_shared_cow(page))
    }
}

/// Whether a page belongs to a COW mapping and is not mapped exactly once.
pub(super) fn is_shared_cow(page: &PageFacts) -> bool {
    page.is_cow() && page.mapcount != 1
}
