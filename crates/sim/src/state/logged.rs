//! What mechanisms tell the logs.

use numalab_kernel::numa::counters::{NumaReasons, SkipReason};
use numalab_kernel::numa::MigrateResult;

/// A hint fault that has been handled.
pub struct Fault {
    pub task: u32,
    pub cpu: usize,
    pub vma: usize,
    pub address: u64,
    /// Node of the page before the fault.
    pub node: usize,
    pub pages: u32,
    pub clock_ns: u64,
    pub ns: u64,
    pub result: MigrateResult,
}

/// What a scan did to a mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Visit {
    /// Mapping id.
    pub vma: u32,
    /// Why the scan passed over the mapping, if it did.
    pub skipped: Option<SkipReason>,
    /// Pages marked.
    pub updates: u64,
}

/// What the balancer had counted before a hint fault.
#[derive(Clone, Copy, Debug)]
pub struct Before {
    pub(crate) reasons: NumaReasons,
    pub(crate) preferred: Option<usize>,
}
