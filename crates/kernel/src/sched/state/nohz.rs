//! Tickless idle CPUs (kernel: `nohz`).

use crate::sched::cpuset::CpuSet;

/// The tickless idle CPUs, and when a busy CPU next has them balanced.
#[derive(Clone, Debug)]
pub(in crate::sched) struct Nohz {
    pub set: CpuSet,
    /// Copy of `set`, used while `nohz_idle_balance` walks it.
    pub walk: CpuSet,
    pub next_balance: u64,
    pub next_blocked: u64,
    pub has_blocked: bool,
    pub needs_update: bool,
}

impl Nohz {
    /// The state at boot: all of `cpus` CPUs are idle with their tick stopped.
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
