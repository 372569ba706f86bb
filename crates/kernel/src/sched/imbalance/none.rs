//! No allowance in the balancer: nodes are balanced like any other group (to 5.5). Forks: as in `fixed2`, where groups
//! have types (5.5); before, `balance::v311` asks nothing of this role.

/// Half of the difference.
pub(super) fn tasks_to_move(raw: i64) -> i64 {
    raw >> 1
}
