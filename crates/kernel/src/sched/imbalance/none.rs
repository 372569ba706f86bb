//! Nothing is tolerated in the balancer: nodes are balanced like any other groups (to 5.5). Forks follow `fixed2` in
//! 5.5; before, groups have no types and `balance::v311` does not ask this rule.

/// Half of the difference.
pub(super) fn tasks_to_move(raw: i64) -> i64 {
    raw >> 1
}
