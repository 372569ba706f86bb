//! Limits of one pass of reclaim (`struct scan_control`).

use super::files::FileRules;

/// Pages that one round of direct reclaim frees, and that one step scans.
pub const SWAP_CLUSTER_MAX: u64 = 32;
/// Priority of the first pass, which scans `1 / 2^12` of each list.
pub const DEF_PRIORITY: u32 = 12;

/// Limits of one pass of reclaim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ScanControl {
    /// Number of freed pages after which it stops.
    pub target: u64,
    /// Scan priority: it scans `1 / 2^priority` of each list.
    pub priority: u32,
    /// What it may do to file pages.
    pub files: FileRules,
    /// Whether it may reclaim anonymous pages.
    pub may_swap: bool,
    /// Whether kswapd runs it; this selects the counters.
    pub kswapd: bool,
}
