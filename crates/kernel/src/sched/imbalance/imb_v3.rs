//! "Adjust NUMA imbalance for multiple LLCs", version 3 of 1 December 2021, on 5.16-rc1. Not merged in this form.
//!
//! The threshold is half a cache divided by the number of caches of the *machine*, at least 1, the same at every level.
//! With several caches per node it is 1, which in effect tolerates no imbalance. The balancer counts the *source*.

use super::parts::{Fork, Halve, NodeThreshold, Of, Parts, Placement, Pull, Terms};
use numalab_base::words::Variant;

/// The variant.
pub const VARIANT: Variant<Parts> = Variant {
    word: "imb_v3",
    releases: "",
    doc: "imb_numa_nr as posted in v3: half an LLC shared out over the nodes' LLCs.",
    parts: Parts {
        threshold: Some(NodeThreshold { of: Of::HalfCacheByCaches, floor: 1, scaled: false }),
        fork: Fork::Floats(|s| Terms { count: s.local_nr, limit: s.imb_numa_nr, up_to: false }),
        pull: Pull::Floats {
            terms: |s| Terms { count: s.busiest_nr, limit: s.imb_numa_nr, up_to: false },
            halve: Halve::First,
        },
        placement: Placement::Floats(|l| Terms { count: l.dst_running, limit: l.imb_numa_nr, up_to: false }),
        in_words: |d| format!("imb_numa_nr {0}: below {0}", d.imb_numa_nr),
    },
};
