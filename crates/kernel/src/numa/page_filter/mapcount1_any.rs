//! Only pages mapped exactly once, in every kind of mapping (3.8; also the test of the first series' own walker).
//! Kernels with this test refuse at fault time as well: see `Refusal::MapcountNotOne`.

use super::Verdict;
use crate::numa::page::PageFacts;

/// Skips a page mapped other than once.
pub fn verdict(page: &PageFacts) -> Verdict {
    Verdict::skip_if(page.mapcount != 1)
}
