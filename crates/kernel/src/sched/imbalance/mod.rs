//! How many tasks more than its share a node may keep: the "load-balancer NUMA rule".
//!
//! Problem: communicating tasks should stay on one node, bandwidth-hungry ones should spread; the kernel cannot tell
//! them apart and changed its mind five times between 5.6 and 6.0. Three questions make a rule; each variant answers
//! them in its own file and [`Rule`] is the visible list:
//! * what is a domain's threshold `imb_numa_nr` (from the *undegenerated* tower, kernel-scheduler.md §5.1);
//! * does a forked task stay on the local node (§5.2);
//! * how many tasks does the balancer move between nodes (§5.3).
//!
//! A fourth, whether NUMA balancing may move a task to an idle CPU of another node at once (§5.4), is answered by
//! [`numa::imbalance`](crate::numa::imbalance).
//!
//! Units: tasks and CPUs. Invariant: rules are pure and only ever see both sides having spare CPUs.

mod fixed2;
mod k511;
mod k517s;
mod k518;
mod k60;
mod none;
mod rule;
mod sides;
mod v3;

pub use rule::Rule;
pub use sides::{ForkSides, NodeShape, PullSides, Threshold, NUMA_IMBALANCE_MIN};
