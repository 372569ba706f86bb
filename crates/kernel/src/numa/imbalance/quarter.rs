//! 5.11 to 5.17, the "25 % rule": up to two tasks of imbalance while fewer than a quarter of the CPUs run something.
//! The three users count at different places, which 5.18 found inconsistent.

use super::{unless_tolerated, BalanceLoad, ForkLoad, PlacementLoad};

/// Whether so many tasks still leave an imbalance tolerable.
pub(super) fn tolerates(running: u32, weight: u32) -> bool {
    running < weight / 4
}

/// Counts the destination.
pub fn placement(l: &PlacementLoad) -> u32 {
    unless_tolerated(l.imbalance, tolerates(l.dst_running, l.dst_weight))
}

/// Counts the busiest group, after halving.
pub fn balance(l: &BalanceLoad) -> u32 {
    unless_tolerated(l.difference >> 1, tolerates(l.busiest_running, l.busiest_weight))
}

/// Counts the local group without the new task, against the whole domain.
pub fn fork_stays(l: &ForkLoad) -> bool {
    tolerates(l.local_running, l.domain_weight)
}
