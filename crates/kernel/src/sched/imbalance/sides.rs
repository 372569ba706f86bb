//! What an imbalance rule is: four questions, and their arguments.

/// Imbalance tolerated below the threshold, in tasks or idle CPUs (`NUMA_IMBALANCE_MIN`).
pub const NUMA_IMBALANCE_MIN: i64 = 2;

/// A NUMA imbalance rule.
pub trait ImbalanceRule {
    /// Threshold from the sizes of a node; `None` for rules without one, whose `imb_numa_nr` is 0.
    fn threshold(_shape: NodeShape) -> Option<Threshold> {
        None
    }
    /// The terms on which a floating rule keeps a fork.
    fn fork_terms(_s: &ForkSides) -> Option<Terms> {
        None
    }
    /// The terms on which the balancer of a floating rule tolerates an imbalance.
    fn pull_terms(_s: &PullSides) -> Option<Terms> {
        None
    }
    /// The terms on which NUMA balancing with a floating rule tolerates an imbalance.
    fn placement_terms(_l: &PlacementLoad) -> Option<Terms> {
        None
    }
    /// Whether a forked task stays local although the other node may have more idle CPUs.
    fn fork_stays(s: &ForkSides) -> bool;
    /// Number of tasks to move between nodes when the difference, in tasks or idle CPUs, is `raw`.
    fn tasks_to_move(raw: i64, s: &PullSides) -> i64;
    /// Imbalance that counts against a move of NUMA balancing to a node with spare capacity. `None` if task placement
    /// decides by load instead.
    fn placement(l: &PlacementLoad) -> Option<u32>;
}

/// An imbalance rule of the caller, in place of the one of the role. `None` leaves the answer to the role.
pub trait ImbalancePolicy: Sync {
    /// See [`ImbalanceRule::fork_stays`].
    fn fork_stays(&self, _s: &ForkSides) -> Option<bool> {
        None
    }
    /// See [`ImbalanceRule::tasks_to_move`].
    fn tasks_to_move(&self, _raw: i64, _s: &PullSides) -> Option<i64> {
        None
    }
    /// See [`ImbalanceRule::placement`].
    fn placement(&self, _l: &PlacementLoad) -> Option<u32> {
        None
    }
}

/// The sizes a threshold is computed from: the first domain above the shared caches, and the cache below it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeShape {
    /// CPUs of a last-level cache (λ).
    pub llc: u32,
    /// CPUs of the first domain that is not one cache (φ), normally a node.
    pub node: u32,
    /// Online nodes, including memory-only ones (N).
    pub nodes: u32,
}

/// Threshold of the first domain above the caches, and whether the domains above scale it by their size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Threshold {
    /// Threshold of the first domain.
    pub base: u32,
    /// Whether the threshold grows with the span of the domains above.
    pub scaled: bool,
}

/// When a floating rule tolerates an imbalance: while a count of tasks is below a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms {
    /// Tasks that count.
    pub count: u32,
    /// Limit.
    pub limit: u32,
    /// The limit itself is tolerated.
    pub up_to: bool,
}

/// The two groups a forked task chooses between. Both have CPUs to spare.
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

/// The two groups of a balance pass. Both have CPUs to spare.
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
    /// `imbalance_pct` of the domain.
    pub imbalance_pct: u32,
    /// Threshold of the domain.
    pub imb_numa_nr: u32,
}

/// The two nodes of a move by NUMA balancing (`task_numa_find_cpu`). The destination has spare capacity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlacementLoad {
    /// max(0, dst_running − src_running), both after the move.
    pub imbalance: u32,
    /// Fair tasks on the destination after the move.
    pub dst_running: u32,
    /// Fair tasks on the source after the move.
    pub src_running: u32,
    /// CPUs of the destination node.
    pub dst_weight: u32,
    /// `imb_numa_nr` of the source CPU's lowest NUMA domain.
    pub imb_numa_nr: u32,
}

impl PlacementLoad {
    /// 0 if the imbalance is within the minimum and `allowed`, else the imbalance.
    pub(super) fn unless(&self, allowed: bool) -> u32 {
        adjust_numa_imbalance(i64::from(self.imbalance), allowed) as u32
    }
}

/// 0 if the imbalance `x` is within the minimum and `allowed`, else `x`.
pub(super) fn adjust_numa_imbalance(x: i64, allowed: bool) -> i64 {
    if allowed && x <= NUMA_IMBALANCE_MIN {
        0
    } else {
        x
    }
}
