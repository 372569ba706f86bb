//! 6.4, "numa scan enhancement": every VMA is free for the first two passes of the mm. Later a thread scans only VMAs in
//! which it faulted lately. VMAs of threads that never win the scan may remain unscanned for ever.
//!
//! Windows shift only for VMAs that passed the filter; there are no completion marks and no forced scan.

use super::parts::{FreeVisits, Parts};
use numalab_base::words::Variant;

/// The variant.
pub const VARIANT: Variant<Parts> = Variant {
    word: "v64",
    releases: "6.4",
    doc: "Only VMAs the thread touched lately, after two free passes of the address space.",
    parts: Parts { state: true, delay: true, pid_filter: true, free_visits: FreeVisits::Mm, ..Parts::NONE },
};
