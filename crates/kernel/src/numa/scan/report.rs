//! The arguments and the report of a scan work.

use crate::numa::jiffies::Jiffies;

/// When and where a scan work runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScanArgs {
    /// Time at entry, jiffies.
    pub now: Jiffies,
    /// Node of the CPU it runs on.
    pub this_node: usize,
    /// Resident pages of the mm (file, anonymous and shmem).
    pub rss_pages: u64,
}

/// How a scan work ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ScanEnd {
    /// There was nothing to do: the task exits or has no mm.
    #[default]
    NoTask,
    /// 3.8: no thread of the mm has run on a second node yet.
    FirstNode,
    /// The cpuset has one memory node: nothing could move (6.16, traced as `sched_skip_cpuset_numa`).
    SingleNodeCpuset,
    /// The gate was closed, or has only been armed.
    NotDue,
    /// The node is rate-limited, so nothing is marked.
    RateLimited,
    /// The mm's lock was not free. The period is used up.
    Locked,
    /// The address space was walked.
    Walked,
}

/// What a scan work did, for charging its cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScanReport {
    /// How the work ended.
    pub end: ScanEnd,
    /// VMAs looked at, scanned or not. A forced second round counts again.
    pub vmas_visited: u64,
    /// VMAs of which at least one chunk was walked.
    pub vmas_scanned: u64,
    /// Calls of [`ScanSpace::mark`](super::ScanSpace::mark).
    pub chunks: u64,
    /// Total length of the chunks, pages.
    pub pages_walked: u64,
    /// Pages charged to the scan budget.
    pub pages_charged: u64,
    /// Base pages marked.
    pub updates: u64,
    /// Huge entries marked.
    pub huge: u64,
    /// The walk was repeated to force an inactive VMA.
    pub forced: bool,
    /// Number of passes completed.
    pub resets: u32,
    /// The walk came to the end of the list, and so ends the last of these passes.
    pub list_ended: bool,
}
