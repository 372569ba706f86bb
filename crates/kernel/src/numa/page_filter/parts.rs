//! The parts that a page filter is made of: which pages are shared, where that spares them, and what follows.

use crate::numa::counters::Refusal;
use crate::numa::page::PageFacts;

/// What a filter consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parts {
    /// Which pages are shared.
    pub shared: Shared,
    /// In which mappings a shared page is spared.
    pub shared_in: Scope,
    /// In which mappings a page is spared that may be pinned for DMA.
    pub pinned_in: Scope,
    /// The first page that is spared ends the scan of its VMA.
    pub ends_vma: bool,
    /// Huge entries are asked too. Most filters have no test there.
    pub huge_entries: bool,
    /// Why a spared page is not migrated at a hint fault either, if the filter also refuses there.
    pub refuses: Option<Refusal>,
}

/// Which pages are shared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shared {
    /// None.
    Never,
    /// Those that are not mapped exactly once.
    NotMappedOnce,
    /// Those mapped more often than the limit that is set (`page_filter.mapcount_limit`).
    MappedAboveLimit,
    /// Those with more or fewer than one reference. An LRU batch holds a reference of a page that waits in it.
    NotHeldOnce,
    /// Those that more than one address space maps by the kernel's estimate.
    LikelyMappedShared,
}

/// In which mappings a page is spared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// In none.
    None,
    /// In private ones that may become writable (`is_cow_mapping`).
    Cow,
    /// In every one.
    Any,
}

impl Scope {
    #[inline]
    fn has(self, page: &PageFacts) -> bool {
        match self {
            Self::None => false,
            Self::Cow => page.is_cow(),
            Self::Any => true,
        }
    }
}

impl Parts {
    /// No page is spared.
    pub const NONE: Self = Self {
        shared: Shared::Never,
        shared_in: Scope::None,
        pinned_in: Scope::None,
        ends_vma: false,
        huge_entries: false,
        refuses: None,
    };
    /// A page that waits in an LRU batch is skipped, because the batch holds a reference.
    #[inline]
    pub const fn counts_references(&self) -> bool {
        matches!(self.shared, Shared::NotHeldOnce)
    }
    /// Whether the page is spared. `limit`: mappings above which a page is shared, for filters with such a limit.
    #[inline]
    pub fn spares(&self, page: &PageFacts, limit: u32) -> bool {
        let shared = || match self.shared {
            Shared::Never => false,
            Shared::NotMappedOnce => page.mapcount != 1,
            Shared::MappedAboveLimit => page.mapcount > limit,
            Shared::NotHeldOnce => page.refcount != 1,
            Shared::LikelyMappedShared => page.likely_mapped_shared(),
        };
        (self.shared_in.has(page) && shared()) || (self.pinned_in.has(page) && page.maybe_dma_pinned())
    }
}

/// What the scanner does with an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Make it PROT_NONE.
    Mark,
    /// Leave it and go on.
    Skip,
    /// Leave it and the rest of the VMA.
    SkipVma,
}

impl Verdict {
    pub(crate) fn skip_if(skip: bool) -> Self {
        if skip {
            Self::Skip
        } else {
            Self::Mark
        }
    }
}
