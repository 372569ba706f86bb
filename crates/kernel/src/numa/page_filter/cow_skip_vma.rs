//! As `cow_mapcount1`, and the first such page ends the scan of the VMA for this pass (suggested by M. Gorman in
//! review, never merged). The accounting of the partial chunk is in `scan::vma_walk`.

use super::cow_mapcount1;
use super::parts::Parts;
use numalab_base::words::Variant;

/// The variant.
pub const VARIANT: Variant<Parts> = Variant {
    word: "cow_skip_vma",
    releases: "proposed 2018",
    doc: "As cow_mapcount1, and the rest of the VMA too.",
    parts: Parts { ends_vma: true, ..cow_mapcount1::VARIANT.parts },
};
