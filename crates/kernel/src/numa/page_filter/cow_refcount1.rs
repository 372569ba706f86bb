//! 5.17 to 6.9: in COW mappings only pages with a single reference. Pages in the swap cache or page cache, pinned or
//! otherwise held are skipped even if mapped once.

use super::Verdict;
use crate::numa::page::PageFacts;

/// Skips a page of a COW mapping with other than one reference.
pub fn verdict(page: &PageFacts) -> Verdict {
    Verdict::skip_if(page.is_cow() && page.refcount != 1)
}
