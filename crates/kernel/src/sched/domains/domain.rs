//! A scheduling domain, its groups and the caches below it.

use super::constants::BusyInterval;
use super::flags::Flags;
use super::level::Level;
use crate::sched::cpuset::CpuSet;

/// Index of a domain (CPU, level) in [`Domains::domain`].
pub type DomId = u32;
/// Index of a group in [`Domains::group`].
pub type GroupId = u32;

/// Capacity of a CPU of a symmetric machine.
pub const CAPACITY: u64 = 1024;

/// A domain of one CPU.
#[derive(Clone, Debug)]
pub struct Domain {
    /// CPU it belongs to.
    pub cpu: u32,
    /// Level.
    pub level: Level,
    /// Flags.
    pub flags: Flags,
    /// CPUs.
    pub span: CpuSet,
    /// Number of CPUs.
    pub weight: u32,
    /// Minimum balance interval, ms: the CPUs of the level's mask, or 1 inside a node before 3.16.
    pub interval_ms: u32,
    /// Maximum balance interval, ms.
    pub max_interval_ms: u32,
    /// Intervals of a busy CPU.
    pub busy: BusyInterval,
    /// Groups in ring order, the own one first.
    pub groups: Vec<GroupId>,
    /// How much busier counts as imbalanced, percent.
    pub imbalance_pct: u32,
    /// Failed passes before hot tasks move; two more before running ones do.
    pub cache_nice_tries: u32,
    /// Tolerated tasks of the local node, computed on the undegenerated tower; read on NUMA domains only.
    pub imb_numa_nr: u32,
}

/// A group of a domain.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// CPUs.
    pub span: CpuSet,
    /// Number of CPUs.
    pub weight: u32,
    /// Flags of the child domain it was made from.
    pub flags: Flags,
    /// Distinct SMT cores.
    pub cores: u32,
    /// CPUs that may balance on behalf of the group.
    pub balance_mask: CpuSet,
    /// Lowest of them.
    pub balance_cpu: u32,
    /// Capacity record (carries the `imbalance` flag); groups of one level with one balance CPU share it.
    pub record: u32,
}

/// What every pass of a domain asks for, in one place: most passes find that another CPU balances, and end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sched) struct Lead {
    /// CPU that balances for the domain's own group, if it has one, while no CPU is idle.
    pub balance_cpu: Option<u32>,
    /// Capacity record of the parent's own group.
    pub parent_record: Option<u32>,
}

/// A last-level cache as the scheduler sees it (`sd_llc`).
#[derive(Clone, Debug)]
pub struct Cache {
    /// CPUs.
    pub span: CpuSet,
    /// Number of CPUs (`llc_size`).
    pub size: u32,
    /// Whether a domain with SHARE_LLC exists (not for a cache of one CPU).
    pub has_domain: bool,
}
