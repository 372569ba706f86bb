//! NUMA imbalance that task placement tolerates, through history (kernel-numa-balancing.md §14.5, §16): may a task move
//! to a node with spare capacity at once?
//!
//! The load balancer and fork ask the same of the scheduler, whose rules, thresholds included, are those of
//! [`sched::imbalance`](crate::sched::imbalance); the role `imbalance` selects both. One file per rule.

pub mod fixed2;
pub mod imb_numa_nr;
pub mod quarter;
pub mod v3;

use numalab_base::words;

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

impl ImbalanceModel {
    /// Imbalance that counts against a task move to a node with spare capacity; `None` if the model decides by load
    /// instead.
    pub fn placement(self, l: &PlacementLoad) -> Option<u32> {
        match self {
            Self::None => None,
            Self::Fixed2 => Some(fixed2::placement(l)),
            Self::Quarter | Self::QuarterDst => Some(quarter::placement(l)),
            Self::V3 => Some(v3::placement(l)),
            Self::ImbNumaNr4 | Self::ImbNumaNr8 => Some(imb_numa_nr::placement(l)),
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
