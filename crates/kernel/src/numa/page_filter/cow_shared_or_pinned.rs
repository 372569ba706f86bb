//! 6.10 on: in COW mappings neither pages that may be pinned for DMA nor pages that are likely mapped shared.

use super::Verdict;
use crate::numa::page::PageFacts;

/// Skips a page of a COW mapping that may be pinned or is likely shared.
pub fn verdict(page: &PageFacts) -> Verdict {
    Verdict::skip_if(page.is_cow() && (page.maybe_dma_pinned() || page.likely_mapped_shared()))
}
