//! Page filters: which pages the scanner leaves unmarked for being shared (kernel-numa-balancing.md §8).
//!
//! A filtered page takes no hint fault, hence has no statistics and never migrates. The variants differ in
//! what "shared" is measured by (mapcount, reference count, estimate) and in scope (every mapping, or private
//! mappings that may be written). They are asked per base-page entry; only one also looks at huge entries.

pub mod cow_mapcount1;
pub mod cow_refcount1;
pub mod cow_shared_or_pinned;
pub mod cow_skip_vma;
pub mod mapcount1_any;
pub mod mapcount_threshold;
pub mod none;

pub use mapcount_threshold::PageFilterTunables;

use super::page::PageFacts;
use numalab_base::words;

words! {
    /// The page filters.
    pub enum PageFilterKind {
        /// Every page is marked (3.13 to 4.15).
        None = "none",
        /// Only pages mapped exactly once (3.8).
        Mapcount1Any = "mapcount1_any",
        /// Private writable mappings: only pages mapped once (4.16 to 5.16).
        CowMapcount1 = "cow_mapcount1",
        /// The same, and the first shared page ends the scan of the VMA (suggested, never merged).
        CowSkipVma = "cow_skip_vma",
        /// Only pages mapped at most T times (suggested, never merged).
        MapcountThreshold = "mapcount_threshold",
        /// Private writable mappings: only pages with one reference (5.17 to 6.9).
        CowRefcount1 = "cow_refcount1",
        /// Private writable mappings: neither shared nor pinned (6.10 on).
        CowSharedOrPinned = "cow_shared_or_pinned",
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

/// A page filter with its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageFilter {
    /// Which one.
    pub kind: PageFilterKind,
    /// T of `mapcount_threshold`.
    pub mapcount_limit: u32,
    /// `mapcount_threshold` looks at private writable mappings only.
    pub cow_only: bool,
    /// `mapcount_threshold` also refuses migration at fault time.
    pub refuse_migration: bool,
}

impl PageFilter {
    /// A filter with the parameters of its group.
    pub fn new(kind: PageFilterKind, t: &PageFilterTunables) -> Self {
        Self {
            kind,
            mapcount_limit: t.mapcount_limit,
            cow_only: t.mapcount_limit_cow_only,
            refuse_migration: t.mapcount_limit_refuses_migration,
        }
    }

    /// Verdict on the page of a base-page entry.
    #[inline]
    pub fn verdict(&self, page: &PageFacts) -> Verdict {
        match self.kind {
            PageFilterKind::None => none::verdict(),
            PageFilterKind::Mapcount1Any => mapcount1_any::verdict(page),
            PageFilterKind::CowMapcount1 => cow_mapcount1::verdict(page),
            PageFilterKind::CowSkipVma => cow_skip_vma::verdict(page),
            PageFilterKind::MapcountThreshold => mapcount_threshold::verdict(page, self),
            PageFilterKind::CowRefcount1 => cow_refcount1::verdict(page),
            PageFilterKind::CowSharedOrPinned => cow_shared_or_pinned::verdict(page),
        }
    }

    /// Verdict on the page of a huge entry: only `mapcount1_any` has a test there.
    #[inline]
    pub fn verdict_huge(&self, page: &PageFacts) -> Verdict {
        match self.kind {
            PageFilterKind::Mapcount1Any => mapcount1_any::verdict(page),
            _ => Verdict::Mark,
        }
    }

    /// Whether every private anonymous page with mapcount 1, one reference and no pin is marked, so that
    /// whole bitmaps of such pages can be marked at once.
    pub fn marks_all_exclusive_anon(&self) -> bool {
        match self.kind {
            PageFilterKind::MapcountThreshold => self.mapcount_limit >= 1,
            _ => true,
        }
    }
}
