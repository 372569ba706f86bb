//! The NUMA imbalance rules by name.

use super::sides::{ForkSides, NodeShape, PullSides, Threshold};
use super::{fixed2, k511, k517s, k518, k60, none, v3};

/// The NUMA imbalance rules, oldest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// Nothing is tolerated in the balancer. From 5.5 on a fork stays while the node has an idle CPU.
    None,
    /// 5.6 to 5.10: two tasks.
    Fixed2,
    /// 5.11 to 5.17: a quarter.
    K511,
    /// The quarter as corrected in stable 5.15, 5.16 and 5.17.
    K517s,
    /// "Adjust NUMA imbalance for multiple LLCs" as posted in version 3.
    V3,
    /// "Adjust NUMA imbalance for multiple LLCs" as merged in 5.18.
    K518,
    /// 6.0 and later.
    K60,
}

impl Rule {
    /// Every variant with its word.
    pub const ALL: [(&'static str, Rule); 7] = [
        ("none", Rule::None),
        ("fixed2", Rule::Fixed2),
        ("k511", Rule::K511),
        ("k517s", Rule::K517s),
        ("v3", Rule::V3),
        ("k518", Rule::K518),
        ("k60", Rule::K60),
    ];
    /// The variant called `name`.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(n, _)| *n == name).map(|(_, r)| *r)
    }
    /// The words, in the order of [`Rule::ALL`].
    pub fn names() -> [&'static str; 7] {
        Self::ALL.map(|(n, _)| n)
    }
    /// Threshold from the sizes of a node; `None` for rules without one, whose `imb_numa_nr` is 0.
    pub fn threshold(self, shape: NodeShape) -> Option<Threshold> {
        match self {
            Rule::None | Rule::Fixed2 | Rule::K511 | Rule::K517s => None,
            Rule::V3 => Some(v3::threshold(shape)),
            Rule::K518 => Some(k518::threshold(shape)),
            Rule::K60 => Some(k60::threshold(shape)),
        }
    }
    /// Whether a forked task stays local although the other node may have more idle CPUs.
    pub fn fork_stays(self, s: &ForkSides) -> bool {
        match self {
            Rule::None | Rule::Fixed2 => fixed2::fork_stays(s),
            Rule::K511 => k511::fork_stays(s),
            Rule::K517s => k517s::fork_stays(s),
            Rule::V3 => v3::fork_stays(s),
            Rule::K518 => k518::fork_stays(s),
            Rule::K60 => k60::fork_stays(s),
        }
    }
    /// Number of tasks to move between nodes when the difference, in tasks or idle CPUs, is `raw`.
    pub fn tasks_to_move(self, raw: i64, s: &PullSides) -> i64 {
        match self {
            Rule::None => none::tasks_to_move(raw),
            Rule::Fixed2 => fixed2::tasks_to_move(raw, s),
            Rule::K511 => k511::tasks_to_move(raw, s),
            Rule::K517s => k517s::tasks_to_move(raw, s),
            Rule::V3 => v3::tasks_to_move(raw, s),
            Rule::K518 => k518::tasks_to_move(raw, s),
            Rule::K60 => k60::tasks_to_move(raw, s),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PULL: PullSides =
        PullSides { local_nr: 0, local_weight: 16, busiest_nr: 2, busiest_weight: 16, imb_numa_nr: 2 };

    #[test]
    fn no_rule_halves_and_fixed2_spares_pairs() {
        assert_eq!((Rule::None.tasks_to_move(2, &PULL), Rule::Fixed2.tasks_to_move(2, &PULL)), (1, 0));
        let three = PullSides { busiest_nr: 3, ..PULL };
        assert_eq!((Rule::None.tasks_to_move(3, &three), Rule::Fixed2.tasks_to_move(3, &three)), (1, 1));
        let fork = ForkSides {
            local_nr: 5,
            local_idle: 1,
            idlest_idle: 9,
            local_weight: 8,
            local_allowed: 8,
            span_weight: 16,
            imb_numa_nr: 0,
        };
        // find_idlest_group stays with an idle CPU since groups have types (57abff067a08, 5.5).
        for rule in [Rule::None, Rule::Fixed2] {
            assert!(rule.fork_stays(&fork), "{rule:?}: until 5.10 any idle CPU keeps a fork on its node");
            assert!(!rule.fork_stays(&ForkSides { local_idle: 0, ..fork }), "{rule:?}");
        }
    }
}
