//! As `cow_mapcount1`, and the first such page ends the scan of the VMA for this pass (suggested by M. Gorman in
//! review, never merged). The accounting of the partial chunk is in `scan::walk`.

use super::{cow_mapcount1, Verdict};
use crate::numa::page::PageFacts;

/// Ends the VMA at a page of a COW mapping that is mapped other than once.
pub fn verdict(page: &PageFacts) -> Verdict {
    if cow_mapcount1::is_shared_cow(page) {
        Verdict::SkipVma
    } else {
        Verdict::Mark
    }
}
