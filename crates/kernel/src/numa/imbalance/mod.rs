//! NUMA imbalance the scheduler tolerates, through history (kernel-numa-balancing.md §14.5, §16).
//!
//! Three users share a rule: task placement (may a task move to a node with spare capacity at once?), load balance
//! between nodes (how many tasks to move), and fork or wake-up (stay on the local node?). The releases differ in the
//! threshold, in which side is counted and in whether halving comes first. One file per model.

pub mod fixed2;
pub mod imb_numa_nr_4;
pub mod imb_numa_nr_8;
pub mod none;
pub mod quarter;
pub mod quarter_dst;
pub mod v3;

use super::words::words;

/// Imbalance of a pair of communicating tasks, always tolerated below the threshold.
pub const NUMA_IMBALANCE_MIN: u32 = 2;

words! {
    /// The models.
    pub enum ImbalanceModel {
        /// Nothing is tolerated (until 5.5).
        None = "none",
        /// Two tasks (5.7 to 5.10).
        Fixed2 = "fixed2",
        /// A quarter of the node, counted at different places (5.11 to 5.17).
        Quarter = "quarter",
        /// A quarter of the node, counted at the destination (stable 5.15 to 5.17 from April 2022).
        QuarterDst = "quarter_dst",
        /// Half a last-level cache, divided by caches and nodes (posted December 2021, not merged).
        V3 = "v3",
        /// Caches per node, or a quarter of a node with one (5.18).
        ImbNumaNr4 = "imb_numa_nr_4",
        /// Caches per node, or an eighth of a node with one (6.0 on).
        ImbNumaNr8 = "imb_numa_nr_8",
    }
}

/// Spans that give a NUMA domain its `imb_numa_nr`. They are those of the complete level list, before levels without
/// effect are removed: the first domain above the LLC spans one node (§14.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DomainSpans {
    /// CPUs of a last-level cache.
    pub llc: u32,
    /// CPUs of the first domain above it, normally a node.
    pub node: u32,
    /// CPUs of the first NUMA domain.
    pub first_numa: u32,
    /// CPUs of the domain at hand.
    pub domain: u32,
    /// Online nodes, memory-only ones included.
    pub nodes: u32,
}

impl DomainSpans {
    /// Last-level caches per node.
    pub fn llcs(&self) -> u32 {
        self.node.checked_div(self.llc).unwrap_or(0)
    }
    /// Factor of outer domains: max(1, ⌊span/span of the first NUMA domain⌋).
    pub fn outer_factor(&self) -> u32 {
        self.domain.checked_div(self.first_numa).unwrap_or(0).max(1)
    }
}

/// A(imb, running, N): nothing below or at the threshold if no more than two (`adjust_numa_imbalance`, 6.0).
#[inline]
pub fn adjust(imbalance: u32, running: u32, threshold: u32) -> u32 {
    if running > threshold || imbalance > NUMA_IMBALANCE_MIN {
        imbalance
    } else {
        0
    }
}

/// Task placement: may a task move to `dst`?
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

/// Load balance between groups of a NUMA domain, "move tasks" path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BalanceLoad {
    /// Raw difference in tasks or idle CPUs.
    pub difference: u32,
    /// Fair tasks of the busiest group.
    pub busiest_running: u32,
    /// CPUs of the busiest group.
    pub busiest_weight: u32,
    /// Fair tasks of the local group.
    pub local_running: u32,
    /// CPUs of the local group.
    pub local_weight: u32,
    /// `imb_numa_nr` of the domain.
    pub imb_numa_nr: u32,
}

/// Fork, exec or wake-up in a NUMA domain where both groups have spare capacity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ForkLoad {
    /// Fair tasks of the local group.
    pub local_running: u32,
    /// CPUs of the local group.
    pub local_weight: u32,
    /// Idle CPUs of the local group.
    pub local_idle: u32,
    /// Idle CPUs of the idlest group.
    pub idlest_idle: u32,
    /// CPUs of the domain.
    pub domain_weight: u32,
    /// `imb_numa_nr` of the domain.
    pub imb_numa_nr: u32,
    /// CPUs of the local group the task may use, if it is restricted.
    pub allowed_local: Option<u32>,
}

impl ImbalanceModel {
    /// `imb_numa_nr` of a NUMA domain; 0 where the model has none.
    pub fn imb_numa_nr(self, spans: &DomainSpans) -> u32 {
        match self {
            Self::None | Self::Fixed2 | Self::Quarter | Self::QuarterDst => 0,
            Self::V3 => v3::imb_numa_nr(spans),
            Self::ImbNumaNr4 => imb_numa_nr_4::imb_numa_nr(spans),
            Self::ImbNumaNr8 => imb_numa_nr_8::imb_numa_nr(spans),
        }
    }

    /// Imbalance that counts against a task move to a node with spare capacity; `None` if the model decides by load
    /// instead.
    pub fn placement(self, l: &PlacementLoad) -> Option<u32> {
        match self {
            Self::None => none::placement(),
            Self::Fixed2 => Some(fixed2::placement(l)),
            Self::Quarter | Self::QuarterDst => Some(quarter::placement(l)),
            Self::V3 => Some(v3::placement(l)),
            Self::ImbNumaNr4 => Some(imb_numa_nr_4::placement(l)),
            Self::ImbNumaNr8 => Some(imb_numa_nr_8::placement(l)),
        }
    }

    /// Tasks the load balancer moves between nodes, halved.
    pub fn balance(self, l: &BalanceLoad) -> u32 {
        match self {
            Self::None => none::balance(l),
            Self::Fixed2 => fixed2::balance(l),
            Self::Quarter => quarter::balance(l),
            Self::QuarterDst => quarter_dst::balance(l),
            Self::V3 => v3::balance(l),
            Self::ImbNumaNr4 => imb_numa_nr_4::balance(l),
            Self::ImbNumaNr8 => imb_numa_nr_8::balance(l),
        }
    }

    /// Whether fork or wake-up stays on the local node without comparing idle CPUs.
    pub fn fork_stays(self, l: &ForkLoad) -> bool {
        match self {
            Self::None | Self::Fixed2 => none::fork_stays(l),
            Self::Quarter => quarter::fork_stays(l),
            Self::QuarterDst => quarter_dst::fork_stays(l),
            Self::V3 => v3::fork_stays(l),
            Self::ImbNumaNr4 => imb_numa_nr_4::fork_stays(l),
            Self::ImbNumaNr8 => imb_numa_nr_8::fork_stays(l),
        }
    }
}

/// 0 if tolerated and no more than two, else the imbalance.
fn unless_tolerated(imbalance: u32, tolerated: bool) -> u32 {
    if tolerated && imbalance <= NUMA_IMBALANCE_MIN {
        0
    } else {
        imbalance
    }
}
