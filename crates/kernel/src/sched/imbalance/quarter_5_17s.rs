//! The 25 % rule made consistent (stable backport of 2cfb7a1b031b): the local group decides, with the new task counted.
//! NUMA balancing is as in 5.11.

use super::parts::{Fork, Halve, Parts, Pull, Terms};
use super::quarter_5_11;
use numalab_base::words::Variant;

/// The variant.
pub const VARIANT: Variant<Parts> = Variant {
    word: "quarter_5_17s",
    releases: "stable 5.15.33, 5.16.19, 5.17.2",
    doc: "Up to a quarter of the CPUs, counted at the destination.",
    parts: Parts {
        fork: Fork::Floats(|s| Terms { count: s.local_nr + 1, limit: s.local_weight / 4, up_to: false }),
        pull: Pull::Floats {
            terms: |s| Terms { count: s.local_nr + 1, limit: s.local_weight / 4, up_to: false },
            halve: Halve::First,
        },
        in_words: |d| format!("up to {} tasks, the new one counted", (d.group_weight / 4).saturating_sub(1)),
        ..quarter_5_11::VARIANT.parts
    },
};
