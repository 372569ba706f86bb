//! The newly-idle search that a CPU has under way.

use crate::sched::domains::DomId;

/// The newly-idle search that a CPU has under way.
#[derive(Clone, Copy, Debug)]
pub(in crate::sched) struct NewidleSearch {
    /// Domain that is being searched; the domains up to `end` follow.
    pub at: DomId,
    pub end: DomId,
    /// Average idle period when the search began, ns.
    pub avg_idle_ns: u64,
    /// Weight of a success (NI_RANDOM).
    pub weight: u32,
    /// Time of the finished passes, ns.
    pub cost_ns: u64,
    /// When the pass under way ends, ns.
    pub until_ns: u64,
    /// When the CPU is to balance next, jiffies.
    pub next: u64,
    /// Number of finished passes, and CPUs looked at in all of them.
    pub passes: u32,
    pub cpus: u32,
}
