//! No allowance (until 5.5): placement weighs loads, the balancer evens out, fork stays while any local CPU is idle.

use super::{BalanceLoad, ForkLoad};

/// Placement decides by load.
pub fn placement() -> Option<u32> {
    None
}

/// Half the difference.
pub fn balance(l: &BalanceLoad) -> u32 {
    l.difference >> 1
}

/// Any idle CPU keeps the task local (until 5.10).
pub fn fork_stays(l: &ForkLoad) -> bool {
    l.local_idle > 0
}
