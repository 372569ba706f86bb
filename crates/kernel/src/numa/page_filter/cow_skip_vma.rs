//! As `cow_mapcount1`, and the first such page ends the scan of the VMA for this pass (suggested by M. Gorman in review,
//! never merged). The accounting of the partial chunk is in `scan::walk`.

use super::cow_mapcount1::is_shared_cow;
use super::rule::{PageRule, Verdict};
use super::tunables::PageFilterTunables;
use crate::numa::page::PageFacts;

/// The filter as suggested.
pub struct CowSkipVma;

impl PageRule for CowSkipVma {
    /// Ends the VMA at a page of a COW mapping that is not mapped exactly once.
    fn verdict(page: &PageFacts, _t: &PageFilterTunables) -> Verdict {
        if is_shared_cow(page) {
            Verdict::SkipVma
        } else {
            Verdict::Mark
        }
    }
}
