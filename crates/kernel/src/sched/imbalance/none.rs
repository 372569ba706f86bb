//! Nothing is tolerated in the balancer: nodes are balanced like any other groups (to 5.5). Forks follow `fixed_2` in
//! 5.5; before, groups have no types and `balance::v311` does not ask this rule.

use super::fixed_2::Fixed2;
use super::sides::{ForkSides, ImbalanceRule, PlacementLoad, PullSides};

/// No allowance.
pub struct None;

impl ImbalanceRule for None {
    /// As in 5.6: groups have types since 5.5, and a fork stays while the node has an idle CPU.
    fn fork_stays(s: &ForkSides) -> bool {
        Fixed2::fork_stays(s)
    }

    /// Half of the difference.
    fn tasks_to_move(raw: i64, _s: &PullSides) -> i64 {
        raw >> 1
    }

    /// Task placement decides by load.
    fn placement(_l: &PlacementLoad) -> Option<u32> {
        Option::None
    }
}
