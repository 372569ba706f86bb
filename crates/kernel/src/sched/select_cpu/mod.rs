//! Placement: the CPU a task starts on at fork, exec and wake-up (kernel-scheduler.md §3).
//!
//! Fork and exec walk down from the highest domain reachable through domains with the flag, choosing the idlest
//! group at each level (`find_dst`). A wake-up chooses between the previous CPU and the waker's (`affine`) and then
//! searches that CPU's cache only (`idle_sibling`).

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
