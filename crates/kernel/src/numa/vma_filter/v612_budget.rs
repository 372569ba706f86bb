//! 6.12 with the idea of RFC V3 of 2023: instead of two free passes a VMA has a budget of unconditional visits that grows
//! with its size. `catalog/guest/disjoint-vma-budget.patch` is the same rule as a patch of the real kernel.

use super::parts::{FreeVisits, Parts};
use super::v612;
use numalab_base::words::Variant;

/// The variant.
pub const VARIANT: Variant<Parts> = Variant {
    word: "v612_budget",
    releases: "catalog/guest/disjoint-vma-budget.patch",
    doc: "As v612; the free passes become the budget of rfc_v3.",
    parts: Parts { free_visits: FreeVisits::Budget, ..v612::VARIANT.parts },
};
