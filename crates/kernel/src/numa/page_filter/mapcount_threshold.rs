//! Only pages mapped at most T times are marked (suggested by C. Lameter, never merged). Code mapped by hundreds of
//! processes stays where it is, while a segment shared by fewer than T workers remains migratable.

use super::parts::{Parts, Scope, Shared};
use numalab_base::words::Variant;

/// The variant.
pub const VARIANT: Variant<Parts> = Variant {
    word: "mapcount_threshold",
    releases: "proposed 2018",
    doc: "Pages mapped more often than a limit.",
    parts: Parts { shared: Shared::MappedAboveLimit, shared_in: Scope::Any, ..Parts::NONE },
};
