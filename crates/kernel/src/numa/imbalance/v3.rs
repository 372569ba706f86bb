//! "Adjust NUMA imbalance for multiple LLCs", v3 (posted December 2021 on 5.16-rc1, not merged): strict comparisons.

use super::{unless_tolerated, PlacementLoad};

/// Counts the destination.
pub fn placement(l: &PlacementLoad) -> u32 {
    unless_tolerated(l.imbalance, l.dst_running < l.imb_numa_nr)
}
