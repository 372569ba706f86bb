//! What a page filter is: a question about each page that the scanner meets, and three about the rest of the kernel.

use super::tunables::PageFilterTunables;
use crate::numa::counters::Refusal;
use crate::numa::page::PageFacts;

/// A page filter. Every question is asked per page or per range, so none may allocate.
pub trait PageRule {
    /// A page that waits in an LRU batch is skipped, because the batch holds a reference.
    const COUNTS_REFERENCES: bool = false;
    /// Verdict on the page of a base-page entry.
    fn verdict(page: &PageFacts, t: &PageFilterTunables) -> Verdict;
    /// Verdict on the page of a huge entry. Most filters have no test there.
    fn verdict_huge(_page: &PageFacts) -> Verdict {
        Verdict::Mark
    }
    /// Why a page is not migrated at a hint fault, if this filter also refuses there.
    fn refusal(_page: &PageFacts, _t: &PageFilterTunables) -> Option<Refusal> {
        None
    }
    /// Whether every private anonymous page with mapcount 1, one reference and no pin is marked, so that whole bitmaps of
    /// such pages can be marked at once.
    fn marks_all_exclusive_anon(_t: &PageFilterTunables) -> bool {
        true
    }
}

/// A page filter of the caller, in place of the one of the role. It is asked for base pages and huge pages, never at hint
/// faults.
pub trait PagePolicy: Sync {
    /// Verdict on the page of an entry.
    fn verdict(&self, page: &PageFacts) -> Verdict;
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
