//! 5.7 to 5.10: a source with at most two tasks is left alone, a pair of communicating tasks; sizes play no part.

use super::{BalanceLoad, PlacementLoad, NUMA_IMBALANCE_MIN};

fn adjust(imbalance: u32, src_running: u32) -> u32 {
    if src_running <= NUMA_IMBALANCE_MIN {
        0
    } else {
        imbalance
    }
}

/// Counts the source.
pub fn placement(l: &PlacementLoad) -> u32 {
    adjust(l.imbalance, l.src_running)
}

/// Counts the busiest group, after halving.
pub fn balance(l: &BalanceLoad) -> u32 {
    adjust(l.difference >> 1, l.busiest_running)
}
