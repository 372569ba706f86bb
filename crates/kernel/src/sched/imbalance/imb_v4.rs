//! "Adjust NUMA imbalance for multiple LLCs", version 4 of December 2021: version 3 with another threshold. Not merged in
//! this form.

use super::imb_v3;
use super::parts::{NodeThreshold, Of, Parts};
use numalab_base::words::Variant;

/// The variant.
pub const VARIANT: Variant<Parts> = Variant {
    word: "imb_v4",
    releases: "",
    doc: "imb_numa_nr as posted in v4: a quarter of the square of an LLC by its node, at least 2.",
    parts: Parts {
        threshold: Some(NodeThreshold { of: Of::SquareOfCache, floor: 2, scaled: true }),
        ..imb_v3::VARIANT.parts
    },
};
