//! No filter (3.13 to 4.15): shared pages are marked, fault and migrate like others.

use super::parts::Parts;
use numalab_base::words::Variant;

/// The variant.
pub const VARIANT: Variant<Parts> =
    Variant { word: "none", releases: "3.13 to 4.15", doc: "No page is spared.", parts: Parts::NONE };
