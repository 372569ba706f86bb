//! Task placement: moving a task, or swapping two, towards preferred nodes (kernel-numa-balancing.md §14.1, §14.2).
//!
//! The search looks at the preferred node first. It looks at others only if that fails or the task's group spans nodes.
//! It works on sums per node and remembers the best CPU so far; the host carries the choice out. As in the kernel, the
//! distance used for another node is that to the destination examined *before* it. `before_v419` has the search before
//! 4.19.

mod before_v419;
pub mod node_stats;
mod numa_migrate_preferred;
mod search;
mod task_numa_compare;
mod task_numa_migrate;
mod update_numa_stats;

pub use task_numa_compare::{biased, moves_to_nobody, swap_matters, SMALLIMP};
pub use task_numa_migrate::placement_imbalance_pct;
pub use update_numa_stats::load_too_imbalanced;
