//! Tickless idle CPUs (`nohz`).

use crate::sched::cpuset::CpuSet;

/// Tickless idle CPUs and when they are next served.
#[derive(Clone, Debug)]
pub(in crate::sched) struct Nohz {
    pub set: CpuSet,
    /// Copy of `set` while it is walked.
    pub walk: CpuSet,
    pub next_balance: u64,
    pub next_blocked: u64,
    pub has_blocked: bool,
    pub needs_update: bool,
}

impl Nohz {
    /// All of `cpus` CPUs idle with their tick stopped.
    pub fn new(cpus: usize) -> Self {
        Self {
            set: CpuSet::full(cpus),
            walk: CpuSet::empty(cpus),
            next_balance: 0,
            next_blocked: 0,
            has_blocked: false,
            needs_update: false,
        }
    }
}
