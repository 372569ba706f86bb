//! The visible list of page filters.

use super::rule::{PagePolicy, PageRule, Verdict};
use super::tunables::PageFilterTunables;
use super::{
    can_map_prot_numa, cow_mapcount1, cow_refcount1, cow_shared_or_pinned, cow_skip_vma, mapcount1_any,
    mapcount_threshold, none,
};
use crate::numa::counters::Refusal;
use crate::numa::page::PageFacts;
use numalab_base::hook::Hook;
use numalab_base::words;

/// Declares the enum of filters, and calls the file of each.
macro_rules! page_filters {
    (
        $( #[doc = $doc:literal] )+
        pub enum $name:ident {
            $( $( #[doc = $vdoc:literal] )+ $variant:ident = $word:literal $( ($releases:literal) )? in $file:ident, )+
        }
    ) => {
        words! {
            $( #[doc = $doc] )+
            pub enum $name { $( $( #[doc = $vdoc] )+ $variant = $word $( ($releases) )?, )+ }
        }
        impl $name {
            /// A page that waits in an LRU batch is skipped, because the batch holds a reference.
            #[inline]
            pub const fn counts_references(self) -> bool {
                match self { $( Self::$variant => <$file::$variant as PageRule>::COUNTS_REFERENCES, )+ }
            }
            #[inline]
            fn verdict(self, page: &PageFacts, t: &PageFilterTunables) -> Verdict {
                match self { $( Self::$variant => $file::$variant::verdict(page, t), )+ }
            }
            #[inline]
            fn verdict_huge(self, page: &PageFacts) -> Verdict {
                match self { $( Self::$variant => $file::$variant::verdict_huge(page), )+ }
            }
            #[inline]
            fn refusal(self, page: &PageFacts, t: &PageFilterTunables) -> Option<Refusal> {
                match self { $( Self::$variant => $file::$variant::refusal(page, t), )+ }
            }
            #[inline]
            fn marks_all_exclusive_anon(self, t: &PageFilterTunables) -> bool {
                match self { $( Self::$variant => $file::$variant::marks_all_exclusive_anon(t), )+ }
            }
        }
    };
}

page_filters! {
    /// Which pages a scan leaves unmarked.
    pub enum PageFilterKind {
        /// No page is spared.
        None = "none" ("3.13 to 4.15") in none,
        /// Pages not mapped exactly once, in any mapping.
        Mapcount1Any = "mapcount1_any" ("3.8") in mapcount1_any,
        /// Pages of copy-on-write mappings not mapped exactly once.
        CowMapcount1 = "cow_mapcount1" ("4.16 to 5.16") in cow_mapcount1,
        /// As cow_mapcount1, and the rest of the VMA too.
        CowSkipVma = "cow_skip_vma" ("proposed 2018") in cow_skip_vma,
        /// Pages mapped more often than a limit.
        MapcountThreshold = "mapcount_threshold" ("proposed 2018") in mapcount_threshold,
        /// Pages of copy-on-write mappings with more than one reference.
        CowRefcount1 = "cow_refcount1" ("5.17 to 6.9") in cow_refcount1,
        /// Pages of copy-on-write mappings that are shared or may be pinned.
        CowSharedOrPinned = "cow_shared_or_pinned" ("6.10 to 6.18") in cow_shared_or_pinned,
        /// Shared pages of copy-on-write mappings, and pages that may be pinned in any mapping.
        CanMapProtNuma = "can_map_prot_numa" ("6.19 on") in can_map_prot_numa,
    }
}

/// A page filter with its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageFilter {
    /// Which filter.
    pub kind: PageFilterKind,
    /// Parameters of `mapcount_threshold`.
    pub tunables: PageFilterTunables,
    policy: Option<Hook<dyn PagePolicy>>,
}

impl PageFilter {
    /// The filter that spares no page.
    pub const NONE: Self = Self {
        kind: PageFilterKind::None,
        tunables: PageFilterTunables {
            mapcount_limit: 0,
            mapcount_limit_cow_only: false,
            mapcount_limit_refuses_migration: false,
        },
        policy: None,
    };

    /// A filter with the parameters of its group.
    pub fn new(kind: PageFilterKind, tunables: &PageFilterTunables) -> Self {
        Self { kind, tunables: *tunables, policy: None }
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

    /// Verdict on the page of a base-page entry.
    #[inline]
    pub fn verdict(&self, page: &PageFacts) -> Verdict {
        match self.policy {
            Some(Hook(policy)) => policy.verdict(page),
            None => self.kind.verdict(page, &self.tunables),
        }
    }

    /// Verdict on the page of a huge entry.
    #[inline]
    pub fn verdict_huge(&self, page: &PageFacts) -> Verdict {
        match self.policy {
            Some(Hook(policy)) => policy.verdict(page),
            None => self.kind.verdict_huge(page),
        }
    }

    /// Why a page is not migrated at a hint fault, if this filter also refuses there.
    #[inline]
    pub fn refusal(&self, page: &PageFacts) -> Option<Refusal> {
        self.kind.refusal(page, &self.tunables)
    }

    /// Whether every private anonymous page with mapcount 1, one reference and no pin is marked, so that whole bitmaps of
    /// such pages can be marked at once.
    pub fn marks_all_exclusive_anon(&self) -> bool {
        self.policy.is_none() && self.kind.marks_all_exclusive_anon(&self.tunables)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The file of a filter that spares pages of one node.
    mod not_node_1 {
        use super::*;

        pub struct NotNode1;

        impl PageRule for NotNode1 {
            fn verdict(page: &PageFacts, _t: &PageFilterTunables) -> Verdict {
                Verdict::skip_if(page.nid == 1)
            }
        }
    }

    page_filters! {
        /// A list of its own.
        pub enum Toys {
            /// No page is spared.
            None = "none" in none,
            /// Pages of node 1.
            NotNode1 = "not_node_1" in not_node_1,
        }
    }

    #[test]
    fn a_filter_is_one_file_and_one_line() {
        let (toy, t) = (Toys::parse("not_node_1").unwrap(), PageFilterTunables::default());
        let verdicts = [0, 1].map(|nid| toy.verdict(&PageFacts::private_anon(nid), &t));
        assert_eq!(verdicts, [Verdict::Mark, Verdict::Skip]);
        let page = PageFacts::private_anon(1);
        assert_eq!((toy.verdict_huge(&page), toy.refusal(&page, &t)), (Verdict::Mark, None));
        assert!(toy.marks_all_exclusive_anon(&t) && !toy.counts_references());
        assert_eq!(Toys::None.verdict(&page, &t), Verdict::Mark);
    }
}
