//! RFC V2 of the same series: the budget of V3 with one visit more, refilled in every 16th pass.

use super::parts::{FreeVisits, Parts};
use super::rfc_v3;
use numalab_base::words::Variant;

/// The variant.
pub const VARIANT: Variant<Parts> = Variant {
    word: "rfc_v2",
    releases: "RFC V2",
    doc: "As rfc_v3, one visit more, and the count starts again every 16 passes.",
    parts: Parts { free_visits: FreeVisits::BudgetV2, refill_passes: 16, ..rfc_v3::VARIANT.parts },
};
