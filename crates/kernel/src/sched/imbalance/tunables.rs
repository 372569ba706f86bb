//! Tunables that replace single parts of an imbalance rule.
//!
//! A role names a whole rule. These take one of its answers from another rule, or change the numbers of a floating rule,
//! so that every state between two releases and every posted version can be composed.

use super::parts::{Halve, Of, Pull, NUMA_IMBALANCE_MIN};
use super::Rule;
use numalab_base::tunable::Needs;
use numalab_base::words::OrRole;
use numalab_base::{words, words_where};

words! {
    /// Up to which count a floating rule tolerates an imbalance.
    pub enum Compare {
        /// While the count is below the limit (v3 to v5 of the series of 2021).
        Below = "below",
        /// While the count is not above the limit (v6, 5.18 on).
        UpTo = "up_to",
    }
}

const fn floats(rule: Rule) -> bool {
    matches!(rule.parts().pull, Pull::Floats { .. })
}

const fn has_threshold(rule: Rule) -> bool {
    rule.parts().threshold.is_some()
}

const fn has_node_part(rule: Rule) -> bool {
    matches!(&rule.parts().threshold, Some(t) if matches!(t.of, Of::Caches { .. }))
}

numalab_base::tunables! {
    /// Single decisions of the NUMA imbalance (kernel-scheduler.md §5).
    pub struct ImbTunables: "imb" {
        /// Whose threshold `imb_numa_nr` domains have.
        threshold: OrRole<Rule> = OrRole::ByRole, "", "model";
        /// Whose rule decides whether a fork stays on its node.
        fork: OrRole<Rule> = OrRole::ByRole, "", "model";
        /// Whose rule decides what the balancer leaves alone (5.6: b396f52326de).
        pull: OrRole<Rule> = OrRole::ByRole, "", "model";
        /// Whose rule decides what NUMA balancing leaves alone (5.7: fb86f5b21192).
        placement: OrRole<Rule> = OrRole::ByRole, "", "model";
        /// Whether the limit itself is tolerated.
        compare: OrRole<Compare> = OrRole::ByRole, "", "model", read when "imbalance" is words_where!(Rule, floats);
        /// Imbalance that is forgiven below the limit (NUMA_IMBALANCE_MIN).
        forgive: u32 = 2, "tasks", "model", range 0..=65_536, read when "imbalance" is words_where!(Rule, floats),
            read when "imb.forgive_to_limit" is Needs::OneOf(&["false"]);
        /// Any imbalance up to the limit is forgiven.
        forgive_to_limit: bool = false, "", "model", read when "imbalance" is words_where!(Rule, floats);
        /// When the balancer halves the difference.
        halve: OrRole<Halve> = OrRole::ByRole, "", "model", read when "imbalance" is words_where!(Rule, floats);
        /// Part of a node with one cache that the threshold is: 4 in 5.18, 8 since 6.0. 0: as in the rule.
        node_part: u32 = 0, "", "model", range 0..=65_536, read when "imbalance" is words_where!(Rule, has_node_part);
        /// Least threshold: 0 in 5.18, 1 since 6.0, 2 in v4. -1: as in the rule.
        floor: i64 = -1, "tasks", "model", range -1..=65_536,
            read when "imbalance" is words_where!(Rule, has_threshold);
    }
}

const _: () = assert!(NUMA_IMBALANCE_MIN == 2, "the default of imb.forgive");
