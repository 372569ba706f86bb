//! A page filter as a run has it: the parts of its role with the parameters of its group, or a filter of the caller.

use super::parts::{Parts, Scope, Shared, Verdict};
use super::tunables::PageFilterTunables;
use super::PageFilterKind;
use crate::numa::counters::Refusal;
use crate::numa::page::PageFacts;
use numalab_base::hook::Hook;

/// A page filter of the caller, in place of the one of the role. It is asked for base pages and huge pages, never at hint
/// faults.
pub trait PagePolicy: Sync {
    /// Verdict on the page of an entry.
    fn verdict(&self, page: &PageFacts) -> Verdict;
}

/// A page filter with its parameters. Every question is asked per page or per range, so none allocates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageFilter {
    /// The filter that the role names.
    pub kind: PageFilterKind,
    parts: Parts,
    mapcount_limit: u32,
    policy: Option<Hook<dyn PagePolicy>>,
}

impl PageFilter {
    /// The filter that spares no page.
    pub const NONE: Self = Self { kind: PageFilterKind::None, parts: Parts::NONE, mapcount_limit: 0, policy: None };

    /// A filter with the parameters of its group, which only filters with a limit of mappings read.
    pub fn new(kind: PageFilterKind, set: &PageFilterTunables) -> Self {
        let mut parts = *kind.parts();
        if parts.shared == Shared::MappedAboveLimit {
            parts.shared_in = if set.mapcount_limit_cow_only { Scope::Cow } else { Scope::Any };
            parts.refuses = set.mapcount_limit_refuses_migration.then_some(Refusal::MapcountLimit);
        }
        Self { kind, parts, mapcount_limit: set.mapcount_limit, policy: None }
    }

    /// A filter of the caller. Whether a page is refused at a hint fault stays with the role.
    #[must_use]
    pub fn with_policy(self, policy: &'static dyn PagePolicy) -> Self {
        Self { policy: Some(Hook(policy)), ..self }
    }

    /// Whether it is a filter of the caller, which may answer anything about any page.
    #[inline]
    pub fn is_of_caller(&self) -> bool {
        self.policy.is_some()
    }

    /// The parts.
    #[inline]
    pub fn parts(&self) -> &Parts {
        &self.parts
    }

    #[inline]
    fn spares(&self, page: &PageFacts) -> bool {
        self.parts.spares(page, self.mapcount_limit)
    }

    #[inline]
    fn own_verdict(&self, page: &PageFacts) -> Verdict {
        if self.parts.ends_vma && self.spares(page) {
            return Verdict::SkipVma;
        }
        Verdict::skip_if(self.spares(page))
    }

    /// Verdict on the page of a base-page entry.
    #[inline]
    pub fn verdict(&self, page: &PageFacts) -> Verdict {
        match self.policy {
            Some(Hook(policy)) => policy.verdict(page),
            None => self.own_verdict(page),
        }
    }

    /// Verdict on the page of a huge entry.
    #[inline]
    pub fn verdict_huge(&self, page: &PageFacts) -> Verdict {
        match self.policy {
            Some(Hook(policy)) => policy.verdict(page),
            None if self.parts.huge_entries => self.own_verdict(page),
            None => Verdict::Mark,
        }
    }

    /// Why a page is not migrated at a hint fault, if this filter also refuses there.
    #[inline]
    pub fn refusal(&self, page: &PageFacts) -> Option<Refusal> {
        self.parts.refuses.filter(|_| self.spares(page))
    }

    /// Whether every private anonymous page with mapcount 1, one reference and no pin is marked, so that whole bitmaps of
    /// such pages can be marked at once.
    pub fn marks_all_exclusive_anon(&self) -> bool {
        self.policy.is_none() && !self.spares(&PageFacts::private_anon(0))
    }
}
