//! 6.8: as 6.7, with the two free passes counted from the pass in which the VMA's state was created.

use super::parts::{FreeVisits, Parts};
use super::v67;
use numalab_base::words::Variant;

/// The variant.
pub const VARIANT: Variant<Parts> = Variant {
    word: "v68",
    releases: "6.8",
    doc: "As v67; the two free passes count from the VMA's own first scan.",
    parts: Parts { free_visits: FreeVisits::Vma, ..v67::VARIANT.parts },
};
