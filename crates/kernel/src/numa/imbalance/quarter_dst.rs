//! Stable 5.15 to 5.17 from April 2022: the 25 % rule with every user counting the destination and the new task.

use super::quarter::tolerates;
use super::{unless_tolerated, BalanceLoad, ForkLoad};

/// Counts the local group with the task to come, after halving.
pub fn balance(l: &BalanceLoad) -> u32 {
    unless_tolerated(l.difference >> 1, tolerates(l.local_running + 1, l.local_weight))
}

/// Counts the local group with the new task.
pub fn fork_stays(l: &ForkLoad) -> bool {
    tolerates(l.local_running + 1, l.local_weight)
}
