//! 6.10 on: in COW mappings neither pages that may be pinned for DMA nor pages that are likely mapped shared are marked.

use super::parts::{Parts, Scope, Shared};
use numalab_base::words::Variant;

/// The variant.
pub const VARIANT: Variant<Parts> = Variant {
    word: "cow_shared_or_pinned",
    releases: "6.10 to 6.18",
    doc: "Pages of copy-on-write mappings that are shared or may be pinned.",
    parts: Parts { shared: Shared::LikelyMappedShared, shared_in: Scope::Cow, pinned_in: Scope::Cow, ..Parts::NONE },
};
