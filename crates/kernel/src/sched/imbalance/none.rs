//! No allowance: nodes are balanced like any other group (before 5.7).

/// Half of the difference.
pub(super) fn tasks_to_move(raw: i64) -> i64 {
    raw >> 1
}
