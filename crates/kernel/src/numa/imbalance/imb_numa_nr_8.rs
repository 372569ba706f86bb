//! 6.0 on: as 5.18 with an eighth of a single-cache node and at least 1; everybody uses A(), and halving comes last.

use super::{adjust, BalanceLoad, DomainSpans, ForkLoad, PlacementLoad};

/// Threshold of a NUMA domain.
pub fn imb_numa_nr(s: &DomainSpans) -> u32 {
    let llcs = s.llcs();
    let base = if llcs == 1 { s.node >> 3 } else { llcs };
    base.max(1) * s.outer_factor()
}

/// Counts the destination.
pub fn placement(l: &PlacementLoad) -> u32 {
    adjust(l.imbalance, l.dst_running, l.imb_numa_nr)
}

/// Counts the local group with the task to come, then halves.
pub fn balance(l: &BalanceLoad) -> u32 {
    adjust(l.difference, l.local_running + 1, l.imb_numa_nr) >> 1
}

/// Counts the local group with the new task; a restricted task lowers the threshold to the CPUs it may use.
pub fn fork_stays(l: &ForkLoad) -> bool {
    let threshold = l.allowed_local.map_or(l.imb_numa_nr, |cpus| cpus.min(l.imb_numa_nr));
    adjust(l.local_idle.abs_diff(l.idlest_idle), l.local_running + 1, threshold) == 0
}
