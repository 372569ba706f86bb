//! 5.18 on: up to two tasks of imbalance while the destination runs no more than `imb_numa_nr`.

use super::{adjust, PlacementLoad};

/// Counts the destination.
pub fn placement(l: &PlacementLoad) -> u32 {
    adjust(l.imbalance, l.dst_running, l.imb_numa_nr)
}
