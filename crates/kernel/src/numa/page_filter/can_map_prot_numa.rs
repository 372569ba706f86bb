//! 6.19 on: pages of COW mappings that more than one process maps are left alone, and pages that may be pinned for DMA
//! in any mapping (kernel: `folio_can_map_prot_numa`).

use super::cow_shared_or_pinned;
use super::parts::{Parts, Scope};
use numalab_base::words::Variant;

/// The variant.
pub const VARIANT: Variant<Parts> = Variant {
    word: "can_map_prot_numa",
    releases: "6.19 on",
    doc: "Shared pages of copy-on-write mappings, and pages that may be pinned in any mapping.",
    parts: Parts { pinned_in: Scope::Any, ..cow_shared_or_pinned::VARIANT.parts },
};
