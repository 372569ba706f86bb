//! The parts that an imbalance rule is made of: a threshold and the answers to three questions, with their arguments.

use numalab_base::words;

/// Imbalance tolerated below the threshold, in tasks or idle CPUs (`NUMA_IMBALANCE_MIN`).
pub const NUMA_IMBALANCE_MIN: i64 = 2;

/// What a rule consists of.
#[derive(Clone, Copy, Debug)]
pub struct Parts {
    /// The threshold `imb_numa_nr` of domains; `None` for rules that have none, whose `imb_numa_nr` is 0.
    pub threshold: Option<NodeThreshold>,
    /// Whether a forked task stays local although the other node may have more idle CPUs.
    pub fork: Fork,
    /// What the balancer leaves alone.
    pub pull: Pull,
    /// What NUMA balancing leaves alone.
    pub placement: Placement,
    /// What is allowed in a domain, in words (`numalab machine show --domains`).
    pub in_words: fn(&DomainSizes) -> String,
}

/// The threshold of the first domain above the caches.
#[derive(Clone, Copy, Debug)]
pub struct NodeThreshold {
    /// What it follows.
    pub of: Of,
    /// The least threshold, tasks.
    pub floor: u32,
    /// How it grows with the span of the domains above.
    pub scale: Scale,
}

/// How the threshold of the domains above follows from that of the first one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// It is the same.
    Same,
    /// It grows with the span of a domain by that of the first NUMA domain (5.18 on).
    ByFirstNuma,
    /// It grows with the span of a domain by that of the node (v4).
    ByNode,
}

/// What a threshold follows. λ, φ and N are the sizes of [`NodeShape`].
#[derive(Clone, Copy, Debug)]
pub enum Of {
    /// ⌊(λ/2) / (⌊φ/λ⌋·N)⌋.
    HalfCacheByCaches,
    /// ⌊⌊φ/λ⌋/N⌋.
    CachesByNodes,
    /// ⌊λ²/φ⌋/4.
    SquareOfCache,
    /// ⌊φ/λ⌋ caches, or φ by `node_part` where a node is one cache.
    Caches {
        /// Part of a node with one cache.
        node_part: u32,
    },
}

impl Of {
    /// The threshold without its floor. `node_part` replaces the part of a one-cache node; 0: that of the rule.
    pub(super) fn bare(self, shape: NodeShape, node_part: u32) -> u32 {
        let caches = shape.node / shape.llc.max(1);
        match self {
            Self::HalfCacheByCaches => (shape.llc >> 1) / (caches.max(1) * shape.nodes.max(1)),
            Self::CachesByNodes => caches / shape.nodes.max(1),
            Self::SquareOfCache => {
                ((u64::from(shape.llc) * u64::from(shape.llc) / u64::from(shape.node.max(1))) >> 2) as u32
            }
            Self::Caches { node_part: own } if caches == 1 => shape.node / if node_part > 0 { node_part } else { own },
            Self::Caches { .. } => caches,
        }
    }
}

/// When a forked task stays local.
#[derive(Clone, Copy, Debug)]
pub enum Fork {
    /// While any local CPU is idle. This holds from 5.5 on, when groups are first compared by type, so also before any
    /// imbalance was allowed (kernel-scheduler.md §5.2).
    IdleCpu,
    /// On these terms.
    Floats(fn(&ForkSides) -> Terms),
    /// While the difference of idle CPUs is tolerated on these terms (6.0 on).
    FloatsByIdleCpus(fn(&ForkSides) -> Terms),
}

/// How many tasks the balancer moves of a difference between nodes, in tasks or idle CPUs.
#[derive(Clone, Copy, Debug)]
pub enum Pull {
    /// Half of it.
    All,
    /// Half of it; nothing from a group of at most two tasks.
    SparePairs,
    /// What this function says.
    Own(fn(i64, &PullSides) -> i64),
    /// Half of it; nothing while it is tolerated on these terms.
    Floats {
        /// The terms.
        terms: fn(&PullSides) -> Terms,
        /// When the difference is halved.
        halve: Halve,
    },
}

/// What counts against a move of NUMA balancing to a node with spare capacity.
#[derive(Clone, Copy, Debug)]
pub enum Placement {
    /// Nothing: task placement decides by load.
    ByLoad,
    /// The imbalance; nothing if the source has at most two tasks, a pair of communicating tasks. Sizes play no part
    /// (5.7 to 5.10).
    SparePairs,
    /// The imbalance; nothing while it is tolerated on these terms.
    Floats(fn(&PlacementLoad) -> Terms),
}

words! {
    /// When the balancer halves the difference.
    pub enum Halve {
        /// Before it asks what is tolerated (up to 5.19).
        First = "first",
        /// Afterwards (6.0: cb29a5c19d2d).
        Last = "last",
    }
}

/// A domain, for [`Parts::in_words`]; CPUs and tasks.
#[derive(Clone, Copy, Debug)]
pub struct DomainSizes {
    /// CPUs of the domain.
    pub weight: u32,
    /// CPUs of its own group.
    pub group_weight: u32,
    /// `imbalance_pct`, %.
    pub imbalance_pct: u32,
    /// Threshold.
    pub imb_numa_nr: u32,
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

/// Threshold of the first domain above the caches, and how the domains above scale it by their size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Threshold {
    /// Threshold of the first domain.
    pub base: u32,
    /// How the threshold grows with the span of the domains above.
    pub scale: Scale,
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
    /// Imbalance that is forgiven meanwhile, tasks or idle CPUs.
    pub forgives: u32,
}

impl Terms {
    /// While `count` is below `limit`. A pair is forgiven.
    pub const fn below(count: u32, limit: u32) -> Self {
        Self { count, limit, up_to: false, forgives: NUMA_IMBALANCE_MIN as u32 }
    }
    /// While `count` is not above `limit`. A pair is forgiven.
    pub const fn up_to(count: u32, limit: u32) -> Self {
        Self { up_to: true, ..Self::below(count, limit) }
    }
    /// The same terms with another imbalance that is forgiven.
    #[must_use]
    pub const fn forgiving(self, forgives: u32) -> Self {
        Self { forgives, ..self }
    }
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
    /// CPUs of the domain.
    pub span_weight: u32,
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
