//! Only pages mapped exactly once are marked, in every kind of mapping (3.8; also the test of the first series' own
//! walker). Kernels with this test refuse at fault time as well.

use super::rule::{PageRule, Verdict};
use super::tunables::PageFilterTunables;
use crate::numa::counters::Refusal;
use crate::numa::page::PageFacts;

/// The filter of 3.8.
pub struct Mapcount1Any;

impl PageRule for Mapcount1Any {
    /// Skips a page that is not mapped exactly once.
    fn verdict(page: &PageFacts, _t: &PageFilterTunables) -> Verdict {
        Verdict::skip_if(page.mapcount != 1)
    }

    fn verdict_huge(page: &PageFacts) -> Verdict {
        Verdict::skip_if(page.mapcount != 1)
    }

    fn refusal(page: &PageFacts, _t: &PageFilterTunables) -> Option<Refusal> {
        (page.mapcount != 1).then_some(Refusal::MapcountNotOne)
    }
}
