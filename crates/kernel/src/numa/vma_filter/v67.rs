//! 6.7, "Complete scanning of partial and inactive VMAs": the next thread that comes to a VMA in which a work stopped
//! finishes it, completed VMAs are remembered per pass, and a walk that ends forces one inactive VMA.
//!
//! The free passes count from the first pass of the mm, as in 6.4.

use super::parts::Parts;
use super::v64;
use numalab_base::words::Variant;

/// The variant.
pub const VARIANT: Variant<Parts> = Variant {
    word: "v67",
    releases: "6.7",
    doc: "As v64; partly scanned VMAs are finished by any thread, one inactive VMA is forced per walk.",
    parts: Parts {
        shift_before_filter: true,
        completion: true,
        force_inactive: true,
        finish_partial: true,
        ..v64::VARIANT.parts
    },
};
