//! The 25 % rule of 5.11 to 5.17 (commits 7d2b5dd0bcc4 and its fork-time companion).
//!
//! The threshold follows the size of the groups: of the *source* group in the balancer, of the whole *domain* at fork, of
//! the destination in NUMA balancing.

use super::parts::{Fork, Halve, Parts, Placement, Pull, Terms};
use numalab_base::words::Variant;

/// The variant.
pub const VARIANT: Variant<Parts> = Variant {
    word: "quarter_5_11",
    releases: "5.11 to 5.17",
    doc: "Up to a quarter of the CPUs, counted at the source.",
    parts: Parts {
        threshold: None,
        fork: Fork::Floats(|s| Terms { count: s.local_nr, limit: s.span_weight / 4, up_to: false }),
        pull: Pull::Floats {
            terms: |s| Terms { count: s.busiest_nr, limit: s.busiest_weight / 4, up_to: false },
            halve: Halve::First,
        },
        placement: Placement::Floats(|l| Terms { count: l.dst_running, limit: l.dst_weight / 4, up_to: false }),
        in_words: |d| {
            let (fork, source) = (d.weight / 4, d.group_weight / 4);
            format!("fork stays below {fork} tasks; balancing spares a source below {source}")
        },
    },
};
