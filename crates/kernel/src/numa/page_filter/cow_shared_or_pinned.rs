//! 6.10 on: in COW mappings neither pages that may be pinned for DMA nor pages that are likely mapped shared are marked.

use super::rule::{PageRule, Verdict};
use super::tunables::PageFilterTunables;
use crate::numa::page::PageFacts;

/// The filter of 6.10.
pub struct CowSharedOrPinned;

impl PageRule for CowSharedOrPinned {
    /// Skips a page of a COW mapping that may be pinned or is likely shared.
    fn verdict(page: &PageFacts, _t: &PageFilterTunables) -> Verdict {
        Verdict::skip_if(page.is_cow() && (page.maybe_dma_pinned() || page.likely_mapped_shared()))
    }
}
