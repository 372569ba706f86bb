//! "Adjust NUMA imbalance for multiple LLCs", version 4 of 10 December 2021. Not merged in this form.
//!
//! A quarter of the square of a cache by its node, at least 2, grows with the span of a domain by that of the node.
//! A fork stays up to that many tasks, itself not counted. The balancer and NUMA balancing keep the limit of 25 % of
//! their CPUs, and below it forgive an imbalance up to the threshold, not only a pair.

use super::parts::{Fork, Halve, NodeThreshold, Of, Parts, Placement, Pull, Scale, Terms};
use numalab_base::words::Variant;

/// The variant.
pub const VARIANT: Variant<Parts> = Variant {
    word: "imb_v4",
    releases: "",
    doc: "imb_numa_nr as posted in v4, which below a quarter of the CPUs is forgiven.",
    parts: Parts {
        threshold: Some(NodeThreshold { of: Of::SquareOfCache, floor: 2, scale: Scale::ByNode }),
        fork: Fork::Floats(|s| Terms::up_to(s.local_nr, s.imb_numa_nr)),
        pull: Pull::Floats {
            terms: |s| Terms::below(s.busiest_nr, s.span_weight / 4).forgiving(s.imb_numa_nr),
            halve: Halve::First,
        },
        placement: Placement::Floats(|l| Terms::below(l.dst_running, l.dst_weight / 4).forgiving(l.imb_numa_nr)),
        in_words: |d| {
            let (most, quarter) = (d.imb_numa_nr, d.weight / 4);
            format!("fork stays up to {most} tasks; balancing forgives {most} of a source below {quarter}")
        },
    },
};
