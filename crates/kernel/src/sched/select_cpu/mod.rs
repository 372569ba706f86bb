//! The CPU a task starts on at fork and wake-up (kernel: `select_task_rq_fair`, kernel-scheduler.md §3).
//!
//! A fork walks down from the highest domain that is reachable through domains with SD_BALANCE_FORK, and chooses the
//! idlest group at each level (`find_idlest`). A wake-up chooses between the previous CPU and the waker's
//! (`wake_affine`), and then searches only the cache of that CPU (`select_idle_sibling`).

mod find_idlest;
mod find_idlest_v311;
mod find_idlest_v37;
mod select_idle_sibling;
mod select_task_rq;
mod wake_affine;

pub use find_idlest::load_leaves;
pub use find_idlest_v311::{GroupLoads, Idlest};
pub use find_idlest_v37::fork_leaves;
pub use wake_affine::{is_wide, load_rule, weight_rule, weight_rule_v414};
