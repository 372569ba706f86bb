//! "mm: numa: do not trap faults on shared data section pages" (4.16 to 5.16): in private mappings that may be written,
//! only pages mapped once are marked. A data segment shared by forked processes no longer bounces between nodes.

use super::parts::{Parts, Scope, Shared};
use numalab_base::words::Variant;

/// The variant.
pub const VARIANT: Variant<Parts> = Variant {
    word: "cow_mapcount1",
    releases: "4.16 to 5.16",
    doc: "Pages of copy-on-write mappings not mapped exactly once.",
    parts: Parts { shared: Shared::NotMappedOnce, shared_in: Scope::Cow, ..Parts::NONE },
};
