//! 5.7 to 5.10: a source with at most two tasks is left alone, a pair of communicating tasks; sizes play no part.

use super::{PlacementLoad, NUMA_IMBALANCE_MIN};

/// Counts the source.
pub fn placement(l: &PlacementLoad) -> u32 {
    if l.src_running <= NUMA_IMBALANCE_MIN {
        0
    } else {
        l.imbalance
    }
}
