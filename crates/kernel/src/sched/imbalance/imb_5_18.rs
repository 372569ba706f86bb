//! The series as merged in 5.18 (2cfb7a1b031b and e496132ebedd): one task per cache, a quarter of a one-cache node,
//! which may be 0.

use super::parts::{Fork, Halve, NodeThreshold, Of, Parts, Placement, Pull, Scale, Terms};
use numalab_base::words::Variant;

/// The variant.
pub const VARIANT: Variant<Parts> = Variant {
    word: "imb_5_18",
    releases: "5.18",
    doc: "imb_numa_nr as merged: the LLCs of a node, or a quarter of its CPUs.",
    parts: Parts {
        threshold: Some(NodeThreshold { of: Of::Caches { node_part: 4 }, floor: 0, scale: Scale::ByFirstNuma }),
        fork: Fork::Floats(|s| Terms::up_to(s.local_nr + 1, s.imb_numa_nr)),
        pull: Pull::Floats { terms: |s| Terms::up_to(s.local_nr + 1, s.imb_numa_nr), halve: Halve::First },
        placement: Placement::Floats(|l| Terms::up_to(l.dst_running, l.imb_numa_nr)),
        in_words: |d| format!("imb_numa_nr {0}: up to {0}, the new one counted", d.imb_numa_nr),
    },
};
