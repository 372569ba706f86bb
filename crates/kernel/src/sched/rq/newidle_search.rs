//! A search for work that a newly idle CPU has under way.

use crate::sched::domains::DomId;

/// A search under way: which domain is looked at, and what the search has come to.
#[derive(Clone, Copy, Debug)]
pub(in crate::sched) struct NewidleSearch {
    /// Domain looked at; the next ones up to `end`.
    pub at: DomId,
    pub end: DomId,
    /// Average idle period when the search began, ns.
    pub avg_idle_ns: u64,
    /// Weight of a success (NI_RANDOM).
    pub weight: u32,
    /// Time of the passes that are over, ns.
    pub cost_ns: u64,
    /// When the CPU is to balance next, jiffies.
    pub next: u64,
    /// Passes that are over, CPUs looked at in all of them, and at most in one.
    pub passes: u32,
    pub cpus: u32,
    pub stretch: u32,
}
