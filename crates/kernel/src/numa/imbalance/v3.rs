//! "Adjust NUMA imbalance for multiple LLCs", v3 (posted December 2021 on 5.16-rc1, not merged): the threshold is half
//! a last-level cache divided by caches per node and nodes, at least 1, with strict comparisons.

use super::{unless_tolerated, BalanceLoad, DomainSpans, ForkLoad, PlacementLoad};

/// max(1, ⌊⌊llc/2⌋ / (caches per node · nodes)⌋), the same at every NUMA level.
pub fn imb_numa_nr(s: &DomainSpans) -> u32 {
    (s.llc / 2).checked_div(s.llcs() * s.nodes).unwrap_or(0).max(1)
}

/// Counts the destination.
pub fn placement(l: &PlacementLoad) -> u32 {
    unless_tolerated(l.imbalance, l.dst_running < l.imb_numa_nr)
}

/// Counts the busiest group, after halving.
pub fn balance(l: &BalanceLoad) -> u32 {
    unless_tolerated(l.difference >> 1, l.busiest_running < l.imb_numa_nr)
}

/// Counts the local group without the new task.
pub fn fork_stays(l: &ForkLoad) -> bool {
    l.local_running < l.imb_numa_nr
}
