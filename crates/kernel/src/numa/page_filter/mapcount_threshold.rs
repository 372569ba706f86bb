//! Only pages mapped at most T times are marked (suggested by C. Lameter, never merged). Code mapped by hundreds of
//! processes stays where it is, while a segment shared by fewer than T workers remains migratable.

use super::rule::{PageRule, Verdict};
use super::tunables::PageFilterTunables;
use crate::numa::counters::Refusal;
use crate::numa::page::PageFacts;

/// The filter as suggested.
pub struct MapcountThreshold;

impl PageRule for MapcountThreshold {
    /// Skips a page mapped more than T times.
    fn verdict(page: &PageFacts, t: &PageFilterTunables) -> Verdict {
        Verdict::skip_if(above_limit(page, t))
    }

    fn refusal(page: &PageFacts, t: &PageFilterTunables) -> Option<Refusal> {
        (t.mapcount_limit_refuses_migration && above_limit(page, t)).then_some(Refusal::MapcountLimit)
    }

    fn marks_all_exclusive_anon(t: &PageFilterTunables) -> bool {
        t.mapcount_limit >= 1
    }
}

fn above_limit(page: &PageFacts, t: &PageFilterTunables) -> bool {
    let in_scope = !t.mapcount_limit_cow_only || page.is_cow();
    in_scope && page.mapcount > t.mapcount_limit
}
