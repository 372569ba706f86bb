//! The series as merged in 5.18 (2cfb7a1b031b and e496132ebedd): one task per cache, a quarter of a one-cache node, which
//! may be 0.

use super::parts::{Fork, Halve, NodeThreshold, Of, Parts, Placement, Pull, Terms};
use numalab_base::words::Variant;

/// The variant.
pub const VARIANT: Variant<Parts> = Variant {
    word: "imb_5_18",
    releases: "5.18",
    doc: "imb_numa_nr as merged: the LLCs of a node, or a quarter of its CPUs.",
    parts: Parts {
        threshold: Some(NodeThreshold { of: Of::Caches { node_part: 4 }, floor: 0, scaled: true }),
        fork: Fork::Floats(|s| Terms { count: s.local_nr + 1, limit: s.imb_numa_nr, up_to: true }),
        pull: Pull::Floats {
            terms: |s| Terms { count: s.local_nr + 1, limit: s.imb_numa_nr, up_to: true },
            halve: Halve::First,
        },
        placement: Placement::Floats(|l| Terms { count: l.dst_running, limit: l.imb_numa_nr, up_to: true }),
        in_words: |d| format!("imb_numa_nr {0}: up to {0}, the new one counted", d.imb_numa_nr),
    },
};
