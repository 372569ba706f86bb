//! 6.19 on: pages of COW mappings that more than one process maps are left alone, and pages that may be pinned for DMA
//! in any mapping (kernel: `folio_can_map_prot_numa`).

use super::rule::{PageRule, Verdict};
use super::tunables::PageFilterTunables;
use crate::numa::page::PageFacts;

/// The filter of 6.19.
pub struct CanMapProtNuma;

impl PageRule for CanMapProtNuma {
    /// Skips a shared page of a COW mapping, and any page that may be pinned.
    fn verdict(page: &PageFacts, _t: &PageFilterTunables) -> Verdict {
        Verdict::skip_if((page.is_cow() && page.likely_mapped_shared()) || page.maybe_dma_pinned())
    }
}
