//! 6.0 and later (cb29a5c19d2d, 026b98a93bbd, f5b2eeb49991): an eighth of a one-cache node; tolerated before halving.
//!
//! At fork the *difference* of idle CPUs counts, so tasks spread gradually and do not fill the node first. A task with
//! few allowed CPUs in the local group lowers the threshold.

use super::imb_5_18;
use super::parts::{Fork, Halve, NodeThreshold, Of, Parts, Pull, Terms};
use numalab_base::words::Variant;

/// The variant.
pub const VARIANT: Variant<Parts> = Variant {
    word: "imb_6_0",
    releases: "6.0 on",
    doc: "The LLCs of a node, or an eighth of its CPUs, at least 1.",
    parts: Parts {
        threshold: Some(NodeThreshold { of: Of::Caches { node_part: 8 }, floor: 1, scaled: true }),
        fork: Fork::FloatsByIdleCpus(|s| Terms {
            count: s.local_nr + 1,
            limit: s.imb_numa_nr.min(s.local_allowed),
            up_to: true,
        }),
        pull: Pull::Floats {
            terms: |s| Terms { count: s.local_nr + 1, limit: s.imb_numa_nr, up_to: true },
            halve: Halve::Last,
        },
        ..imb_5_18::VARIANT.parts
    },
};
