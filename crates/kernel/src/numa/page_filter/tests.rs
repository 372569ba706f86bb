//! The parts of every filter against the tests of the kernel, one by one.

use super::{PageFilter, PageFilterKind, PageFilterTunables, PagePolicy, Verdict};
use crate::numa::page::PageFacts;

#[test]
fn limits_are_read_by_the_filter_that_has_one() {
    let set = PageFilterTunables { mapcount_limit: 0, mapcount_limit_refuses_migration: true, ..Default::default() };
    let page = PageFacts::private_anon(0);
    for kind in PageFilterKind::ALL {
        let (own, with) = (PageFilter::new(*kind, &PageFilterTunables::default()), PageFilter::new(*kind, &set));
        let reads = *kind == PageFilterKind::MapcountThreshold;
        assert_eq!(own.verdict(&page), Verdict::Mark, "{kind:?}");
        assert_eq!(with.verdict(&page) == Verdict::Skip, reads, "{kind:?}");
        assert_eq!(with.refusal(&page).is_some(), reads, "{kind:?}");
        assert_eq!(with.marks_all_exclusive_anon(), !reads, "{kind:?}");
    }
}

#[test]
fn a_filter_of_the_caller_answers_in_place_of_the_role() {
    struct NotNode1;
    impl PagePolicy for NotNode1 {
        fn verdict(&self, page: &PageFacts) -> Verdict {
            Verdict::skip_if(page.nid == 1)
        }
    }
    let own = PageFilter::NONE.with_policy(&NotNode1);
    assert_eq!([0, 1].map(|nid| own.verdict(&PageFacts::private_anon(nid))), [Verdict::Mark, Verdict::Skip]);
    assert_eq!(own.verdict_huge(&PageFacts::private_anon_huge(1)), Verdict::Skip);
    assert!(own.is_of_caller() && !own.marks_all_exclusive_anon());
}
