//! When a scan work runs, and what it did.

use crate::numa::time::Jiffies;

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
    /// Nothing to do: exiting, no mm.
    #[default]
    NoTask,
    /// 3.8: no thread of the mm has run on a second node yet.
    FirstNode,
    /// The gate was closed (or has only been armed).
    NotDue,
    /// The node is rate-limited, so nothing is marked.
    RateLimited,
    /// The mm's lock was not free; the period is consumed.
    Locked,
    /// The address space was walked.
    Walked,
}

/// What a scan work did, so that its cost can be charged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScanReport {
    /// How it ended.
    pub end: ScanEnd,
    /// VMAs looked at, scanned or not (a forced retry counts again).
    pub vmas_visited: u64,
    /// VMAs of which at least one chunk was walked.
    pub vmas_scanned: u64,
    /// Calls of [`ScanSpace::mark`](super::ScanSpace::mark).
    pub chunks: u64,
    /// Length of the chunks, pages.
    pub pages_walked: u64,
    /// Pages charged to the scan budget.
    pub pages_charged: u64,
    /// Base pages marked.
    pub updates: u64,
    /// Huge entries marked.
    pub huge: u64,
    /// The walk was repeated to force an inactive VMA.
    pub forced: bool,
    /// Passes completed.
    pub resets: u32,
    /// The last of them ends with the walk, which came to the end of the list.
    pub list_ended: bool,
}
