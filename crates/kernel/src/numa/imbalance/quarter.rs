//! 5.11 to 5.17, the "25 % rule": up to two tasks of imbalance while fewer than a quarter of the CPUs run something.

use super::{unless_tolerated, PlacementLoad};

/// Counts the destination.
pub fn placement(l: &PlacementLoad) -> u32 {
    unless_tolerated(l.imbalance, l.dst_running < l.dst_weight / 4)
}
