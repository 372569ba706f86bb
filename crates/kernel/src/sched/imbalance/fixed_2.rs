//! 5.7 to 5.10: nothing is pulled from a group of at most two tasks (b396f52326de). A fork stays while the node has an
//! idle CPU, since 5.5 (57abff067a08).

use super::parts::{Fork, Parts, Placement, Pull};
use numalab_base::words::Variant;

/// The variant.
pub const VARIANT: Variant<Parts> = Variant {
    word: "fixed_2",
    releases: "5.7 to 5.10",
    doc: "Pairs are spared by the balancer and by NUMA balancing.",
    parts: Parts {
        threshold: None,
        fork: Fork::IdleCpu,
        pull: Pull::SparePairs,
        placement: Placement::SparePairs,
        in_words: |_| "2 tasks at the source".to_string(),
    },
};
