//! 5.17 to 6.9: in COW mappings only pages with a single reference are marked. Pages in the swap cache or page cache, and
//! pages that are pinned or otherwise held, are skipped even if they are mapped once.

use super::rule::{PageRule, Verdict};
use super::tunables::PageFilterTunables;
use crate::numa::page::PageFacts;

/// The filter of 5.17.
pub struct CowRefcount1;

impl PageRule for CowRefcount1 {
    const COUNTS_REFERENCES: bool = true;

    /// Skips a page of a COW mapping that has more or fewer than one reference.
    fn verdict(page: &PageFacts, _t: &PageFilterTunables) -> Verdict {
        Verdict::skip_if(page.is_cow() && page.refcount != 1)
    }
}
