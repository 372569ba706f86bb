//! RFC V3 as its covering letter words it: "total unconditional scans allowed = half of vma_size/scan_size". The fraction
//! is exact, so that even the smallest VMA is visited once.

use super::parts::{FreeVisits, Parts};
use super::rfc_v3;
use numalab_base::words::Variant;

/// The variant.
pub const VARIANT: Variant<Parts> = Variant {
    word: "rfc_v3_cover",
    releases: "",
    doc: "As rfc_v3 with the budget as its covering letter words it, size/scan size/2.",
    parts: Parts { free_visits: FreeVisits::BudgetCover, ..rfc_v3::VARIANT.parts },
};
