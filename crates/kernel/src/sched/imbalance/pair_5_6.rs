//! 5.6: the balancer takes nothing from a group of at most two tasks (b396f52326de). NUMA balancing places by load until
//! 5.7.

use super::fixed_2;
use super::parts::{Parts, Placement};
use numalab_base::words::Variant;

/// The variant.
pub const VARIANT: Variant<Parts> = Variant {
    word: "pair_5_6",
    releases: "5.6",
    doc: "The balancer spares pairs; NUMA balancing places by load.",
    parts: Parts { placement: Placement::ByLoad, ..fixed_2::VARIANT.parts },
};
