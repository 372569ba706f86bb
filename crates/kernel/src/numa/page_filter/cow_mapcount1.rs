//! "mm: numa: do not trap faults on shared data section pages" (4.16 to 5.16): in private mappings that may be
//! written, only pages mapped once. A data segment shared by forked processes no longer bounces between nodes.

use super::Verdict;
use crate::numa::page::PageFacts;

/// Skips a page of a COW mapping that is mapped other than once.
pub fn verdict(page: &PageFacts) -> Verdict {
    Verdict::skip_if(is_shared_cow(page))
}

/// The test itself.
pub(super) fn is_shared_cow(page: &PageFacts) -> bool {
    page.is_cow() && page.mapcount != 1
}
