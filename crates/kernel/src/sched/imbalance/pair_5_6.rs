//! 5.6: the balancer takes nothing from a group of at most two tasks (b396f52326de). NUMA balancing places by load until
//! 5.7.

use super::fixed_2::Fixed2;
use super::sides::{ForkSides, ImbalanceRule, PlacementLoad, PullSides};

/// The rule of 5.6.
pub struct Pair56;

impl ImbalanceRule for Pair56 {
    /// As in 5.7: any idle CPU keeps a fork.
    fn fork_stays(s: &ForkSides) -> bool {
        Fixed2::fork_stays(s)
    }

    /// As in 5.7: nothing from a pair.
    fn tasks_to_move(raw: i64, s: &PullSides) -> i64 {
        Fixed2::tasks_to_move(raw, s)
    }

    /// Task placement decides by load.
    fn placement(_l: &PlacementLoad) -> Option<u32> {
        None
    }
}
