//! The state that the CPUs of a last-level cache share (kernel: `struct sched_domain_shared`).

/// State of one last-level cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sched) struct CacheState {
    /// Number of CPUs whose tick is on (`nr_busy_cpus`).
    pub nr_busy: u32,
    pub has_idle_cores: bool,
    /// Number of CPUs that an idle search may visit.
    pub nr_idle_scan: u32,
}

impl CacheState {
    /// The state at boot: whole cores are idle and a search may visit all `size` CPUs.
    pub fn new(size: u32) -> Self {
        Self { nr_busy: 0, has_idle_cores: true, nr_idle_scan: size }
    }
}
