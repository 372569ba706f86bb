//! How many tasks more than its share a node may keep: the "load-balancer NUMA rule".
//!
//! Problem: communicating tasks should stay on one node, bandwidth-hungry ones should spread; the kernel cannot tell
//! them apart and changed its mind five times between 5.6 and 6.0. Three questions make a rule; each variant answers
//! them in its own file and [`Rule`] is the visible list:
//! * what is a domain's threshold `imb_numa_nr` (from the *undegenerated* tower, kernel-scheduler.md §5.1);
//! * does a forked task stay on the local node (§5.2);
//! * how many tasks does the balancer move between nodes (§5.3).
//!
//! A fourth, whether NUMA balancing may move a task to an idle CPU of another node at once (§5.4), is answered by
//! [`numa::imbalance`](crate::numa::imbalance).
//!
//! Units: tasks and CPUs. Invariant: rules are pure and only ever see both sides having spare CPUs.

mod fixed2;
mod k511;
mod k517s;
mod k518;
mod k60;
mod none;
mod v3;

/// Default tolerated imbalance while below the threshold (`NUMA_IMBALANCE_MIN`).
pub const NUMA_IMBALANCE_MIN: i64 = 2;

/// Sizes the threshold is computed from: the first domain above the shared caches and the cache below it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeShape {
    /// CPUs of a last-level cache (λ).
    pub llc: u32,
    /// CPUs of the first domain that is not one cache (φ, normally a node).
    pub node: u32,
    /// Online nodes, memory-only ones included (N).
    pub nodes: u32,
}

/// Threshold of the first domain above the caches, and whether domains above it scale it by their size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Threshold {
    /// Value of the first domain.
    pub base: u32,
    /// Whether it grows with the span of the domains above.
    pub scaled: bool,
}

/// The two groups a forked task chooses between, both with spare CPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ForkSides {
    /// Tasks of the local group.
    pub local_nr: u32,
    /// Idle CPUs of the local group.
    pub local_idle: u32,
    /// Idle CPUs of the idlest other group.
    pub idlest_idle: u32,
    /// CPUs of the local group.
    pub local_weight: u32,
    /// CPUs of the local group the task may use.
    pub local_allowed: u32,
    /// CPUs of the domain.
    pub span_weight: u32,
    /// Threshold of the domain.
    pub imb_numa_nr: u32,
}

/// The two groups of a balance pass, both with spare CPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PullSides {
    /// Tasks of the pulling group.
    pub local_nr: u32,
    /// CPUs of the pulling group.
    pub local_weight: u32,
    /// Tasks of the busiest group.
    pub busiest_nr: u32,
    /// CPUs of the busiest group.
    pub busiest_weight: u32,
    /// Threshold of the domain.
    pub imb_numa_nr: u32,
}

/// The variants, oldest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// Nothing is tolerated; but from 5.5 on a fork stays while the node has an idle CPU.
    None,
    /// 5.6 to 5.10: two tasks.
    Fixed2,
    /// 5.11 to 5.17: a quarter.
    K511,
    /// The quarter as corrected in stable 5.15, 5.16 and 5.17.
    K517s,
    /// "Adjust NUMA imbalance for multiple LLCs" as posted in version 3.
    V3,
    /// The same series as merged in 5.18.
    K518,
    /// 6.0 and later.
    K60,
}

/// `x` within the minimum counts as balanced while `allowed`, else it stands.
pub(super) fn forgive(x: i64, allowed: bool) -> i64 {
    if allowed && x <= NUMA_IMBALANCE_MIN {
        0
    } else {
        x
    }
}

impl Rule {
    /// Every variant with the word that selects it.
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
    /// The words, in order.
    pub fn names() -> [&'static str; 7] {
        Self::ALL.map(|(n, _)| n)
    }
    /// Threshold from the sizes of a node; `None` for rules without one (their `imb_numa_nr` is 0).
    pub fn threshold(self, shape: NodeShape) -> Option<Threshold> {
        match self {
            Rule::None | Rule::Fixed2 | Rule::K511 | Rule::K517s => None,
            Rule::V3 => Some(v3::threshold(shape)),
            Rule::K518 => Some(k518::threshold(shape)),
            Rule::K60 => Some(k60::threshold(shape)),
        }
    }
    /// Whether a forked or exec'ed task stays local although the other node may have more idle CPUs.
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
    /// Tasks to move between nodes when the raw difference (tasks, or idle CPUs) is `raw`.
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
        // find_idlest_group has stayed with an idle CPU since groups have types (57abff067a08, 5.5).
        for rule in [Rule::None, Rule::Fixed2] {
            assert!(rule.fork_stays(&fork), "{rule:?}: until 5.10 any idle CPU keeps a fork on its node");
            assert!(!rule.fork_stays(&ForkSides { local_idle: 0, ..fork }), "{rule:?}");
        }
    }
}
