//! RFC V3 of May 2023, "Fix disjoint set vma scan regression" (on 6.4-rc2, not merged): instead of two free passes a VMA
//! has a budget of unconditional visits, 1 + half its size in scan windows, which is never refilled. Visits by threads
//! that did fault in the VMA use the budget up too.

use super::parts::{FreeVisits, Parts};
use super::v64;
use numalab_base::words::Variant;

/// The variant.
pub const VARIANT: Variant<Parts> = Variant {
    word: "rfc_v3",
    releases: "RFC V3, May 2023",
    doc: "As v64; the free passes become a budget per VMA, 1 + size/scan size/2.",
    parts: Parts { free_visits: FreeVisits::Budget, ..v64::VARIANT.parts },
};
