//! Limits of one pass of reclaim (`struct scan_control`).

use super::files::FileRules;

/// Pages that one round of direct reclaim wants (`SWAP_CLUSTER_MAX`).
pub const SWAP_CLUSTER_MAX: u64 = 32;
/// The gentlest pass looks at `1 / 2^12` of each list.
pub const DEF_PRIORITY: u32 = 12;

/// What a pass may do and wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ScanControl {
    /// Pages after which it stops.
    pub target: u64,
    /// Part of the lists it looks at: `1 / 2^priority`.
    pub priority: u32,
    /// File pages.
    pub files: FileRules,
    /// Anonymous pages at all.
    pub may_swap: bool,
    /// In kswapd, for the counters.
    pub kswapd: bool,
}
