//! 6.12: as 6.8, and a VMA that was not completed for more passes than the process has threads is free.

use super::parts::Parts;
use super::v68;
use numalab_base::words::Variant;

/// The variant.
pub const VARIANT: Variant<Parts> = Variant {
    word: "v612",
    releases: "6.12",
    doc: "As v68; a VMA left alone for as many passes as there are threads is open to all.",
    parts: Parts { starvation: true, ..v68::VARIANT.parts },
};
