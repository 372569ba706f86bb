//! A scheduling domain, its groups, and a last-level cache (kernel: `struct sched_domain`, `struct sched_group`).

use super::constants::BusyInterval;
use super::flags::Flags;
use super::level::Level;
use super::ring::Ring;
use numalab_base::cpu_set::CpuSet;

/// Index of a domain (of one CPU at one level) in [`Domains::domain`](super::Domains::domain).
pub type DomId = u32;

/// Capacity of a CPU of a symmetric machine.
pub const CAPACITY: u64 = 1024;

/// A scheduling domain of one CPU.
#[derive(Clone, Debug)]
pub struct Domain {
    /// The CPU that the domain belongs to.
    pub cpu: u32,
    /// Level of the domain.
    pub level: Level,
    /// Flags of the domain.
    pub flags: Flags,
    /// CPUs of the domain.
    pub span: CpuSet,
    /// Number of CPUs.
    pub weight: u32,
    /// Shortest balance interval, ms: the number of CPUs in the level's mask, or 1 inside a node before 3.16.
    pub interval_ms: u32,
    /// Longest balance interval, ms.
    pub max_interval_ms: u32,
    /// Balance interval of a busy CPU.
    pub busy: BusyInterval,
    /// Groups in ring order, the CPU's own group first.
    pub groups: Ring,
    /// How much busier a group must be to count as imbalanced, percent.
    pub imbalance_pct: u32,
    /// Failed passes before cache-hot tasks move. Running tasks move after two more.
    pub cache_nice_tries: u32,
    /// Tasks tolerated on the local node, computed on the undegenerated tower. Read on NUMA domains only.
    pub imb_numa_nr: u32,
}

/// A group of a domain.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// CPUs of the group.
    pub span: CpuSet,
    /// The nodes that it consists of; empty if it has only a part of a node.
    pub nodes: Box<[u32]>,
    /// The caches that it consists of; empty if it has only a part of one, or whole nodes.
    pub caches: Box<[u32]>,
    /// Number of CPUs.
    pub weight: u32,
    /// Flags of the child domain that the group was made from.
    pub flags: Flags,
    /// Number of SMT cores.
    pub cores: u32,
    /// CPUs that may balance on behalf of the group.
    pub balance_mask: CpuSet,
    /// Lowest CPU of `balance_mask`.
    pub balance_cpu: u32,
    /// Capacity record, which carries the `imbalance` flag (`sgc`). Groups of one level with one balance CPU share it.
    pub record: u32,
}

/// What every pass over a domain reads, in one place. Most passes find that another CPU balances, and end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sched) struct Lead {
    /// CPU that balances for the domain's own group while no CPU is idle; `None` if the domain has no groups.
    pub balance_cpu: Option<u32>,
    /// Capacity record of the parent's own group.
    pub parent_record: Option<u32>,
    /// The domain's own group lies in the node of its CPU.
    pub in_node: bool,
}

/// A last-level cache as the scheduler sees it (`sd_llc`).
#[derive(Clone, Debug)]
pub struct Cache {
    /// CPUs that share the cache.
    pub span: CpuSet,
    /// Number of CPUs (`llc_size`).
    pub size: u32,
    /// Whether a domain with SHARE_LLC exists. A cache of one CPU has none.
    pub has_domain: bool,
}
