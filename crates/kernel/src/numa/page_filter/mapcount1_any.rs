//! Only pages mapped exactly once are marked, in every kind of mapping (3.8; also the test of the first series' own
//! walker). Kernels with this test refuse at fault time as well.

use super::parts::{Parts, Scope, Shared};
use crate::numa::counters::Refusal;
use numalab_base::words::Variant;

/// The variant.
pub const VARIANT: Variant<Parts> = Variant {
    word: "mapcount1_any",
    releases: "3.8",
    doc: "Pages not mapped exactly once, in any mapping.",
    parts: Parts {
        shared: Shared::NotMappedOnce,
        shared_in: Scope::Any,
        huge_entries: true,
        refuses: Some(Refusal::MapcountNotOne),
        ..Parts::NONE
    },
};
