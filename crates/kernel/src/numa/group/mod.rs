//! NUMA groups: tasks that share memory are placed together (kernel-numa-balancing.md §13).
//!
//! A task that takes a shared fault looks at the task now running on the CPU that faulted before; if that one's
//! group is larger (or equal and older), it joins. Groups never split; tasks leave on exec and exit.
//! The kernel breaks ties by address; here creation order stands for address order.

mod numa_group;
mod preferred_group_nid;
mod task_numa_group;

pub use numa_group::{Groups, NumaGroup, ACTIVE_NODE_FRACTION};
