//! "Adjust NUMA imbalance for multiple LLCs", version 2 of 25 November 2021. Not merged in this form.
//!
//! The threshold is the number of caches of a node divided by the number of nodes, at least 1, the same at every level.
//! The balancer counts the *source*, as in v3.

use super::imb_v3;
use super::parts::{NodeThreshold, Of, Parts, Scale};
use numalab_base::words::Variant;

/// The variant.
pub const VARIANT: Variant<Parts> = Variant {
    word: "imb_v2",
    releases: "",
    doc: "imb_numa_nr as posted in v2: the LLCs of a node shared out over the nodes.",
    parts: Parts {
        threshold: Some(NodeThreshold { of: Of::CachesByNodes, floor: 1, scale: Scale::Same }),
        ..imb_v3::VARIANT.parts
    },
};
