//! NUMA groups: tasks that share memory are placed together (kernel-numa-balancing.md §13).
//!
//! At a shared fault a task looks at the task that now runs on the CPU of the last fault. If the group of that task is
//! larger, or equal and older, the faulting task joins it. Groups never split; tasks leave on exec and exit. The kernel
//! breaks ties by address; here creation order stands for address order.

mod active_nodes;
mod numa_group;
mod preferred_group_nid;
mod task_numa_group;

pub use numa_group::{Groups, NumaGroup, ACTIVE_NODE_FRACTION};
pub use preferred_group_nid::preferred_group_nid;
