//! 5.18: `imb_numa_nr` per domain: caches per node, or a quarter of a node with a single cache (which may be 0);
//! outer domains scale with their span. Everybody counts the destination with the task to come.

use super::{unless_tolerated, BalanceLoad, DomainSpans, ForkLoad, PlacementLoad};

/// Threshold of a NUMA domain.
pub fn imb_numa_nr(s: &DomainSpans) -> u32 {
    let llcs = s.llcs();
    let base = if llcs == 1 { s.node >> 2 } else { llcs };
    base * s.outer_factor()
}

/// Counts the destination.
pub fn placement(l: &PlacementLoad) -> u32 {
    unless_tolerated(l.imbalance, l.dst_running <= l.imb_numa_nr)
}

/// Counts the local group with the task to come, after halving.
pub fn balance(l: &BalanceLoad) -> u32 {
    unless_tolerated(l.difference >> 1, l.local_running < l.imb_numa_nr)
}

/// Counts the local group with the new task; the count alone decides.
pub fn fork_stays(l: &ForkLoad) -> bool {
    l.local_running < l.imb_numa_nr
}
