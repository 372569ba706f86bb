//! No filter (up to 6.3): every thread scans every suitable VMA, and VMAs carry no state.

use super::parts::Parts;
use numalab_base::words::Variant;

/// The variant.
pub const VARIANT: Variant<Parts> =
    Variant { word: "off", releases: "up to 6.3", doc: "Every suitable VMA.", parts: Parts::NONE };
