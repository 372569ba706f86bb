//! Nothing is tolerated in the balancer: nodes are balanced like any other groups (to 5.5). Forks follow `fixed_2` in
//! 5.5; before, groups have no types and `balance::v311` does not ask this rule.

use super::parts::{Fork, Parts, Placement, Pull};
use numalab_base::words::Variant;

/// The variant.
pub const VARIANT: Variant<Parts> = Variant {
    word: "none",
    releases: "before 5.6",
    doc: "No allowance.",
    parts: Parts {
        threshold: None,
        fork: Fork::IdleCpu,
        pull: Pull::All,
        placement: Placement::ByLoad,
        in_words: |_| "nothing".to_string(),
    },
};
