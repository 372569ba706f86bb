//! 5.17 to 6.9: in COW mappings only pages with a single reference are marked. Pages in the swap cache or page cache, and
//! pages that are pinned or otherwise held, are skipped even if they are mapped once.

use super::parts::{Parts, Scope, Shared};
use numalab_base::words::Variant;

/// The variant.
pub const VARIANT: Variant<Parts> = Variant {
    word: "cow_refcount1",
    releases: "5.17 to 6.9",
    doc: "Pages of copy-on-write mappings with more than one reference.",
    parts: Parts { shared: Shared::NotHeldOnce, shared_in: Scope::Cow, ..Parts::NONE },
};
