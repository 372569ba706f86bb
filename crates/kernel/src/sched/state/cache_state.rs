//! What the CPUs of a last-level cache share (`struct sched_domain_shared`).

/// What the CPUs of a cache share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sched) struct CacheState {
    /// CPUs that are not tickless.
    pub nr_busy: u32,
    pub has_idle_cores: bool,
    /// CPUs an idle search may visit.
    pub nr_idle_scan: u32,
}

impl CacheState {
    /// A fresh machine is idle: whole cores are free and searches may visit all `size` CPUs.
    pub fn new(size: u32) -> Self {
        Self { nr_busy: 0, has_idle_cores: true, nr_idle_scan: size }
    }
}
