//! How many tasks more than its share a node may keep: the "load-balancer NUMA rule".
//!
//! Problem: communicating tasks should stay on one node and bandwidth-hungry ones should spread. The kernel cannot tell
//! them apart, and its rule changed five times between 5.6 and 6.0. A rule answers three questions, each in its own
//! file:
//!
//! * What is a domain's threshold `imb_numa_nr`? It comes from the *undegenerated* tower (kernel-scheduler.md §5.1).
//! * Does a forked task stay on the local node (§5.2; kernel: `allow_numa_imbalance`)?
//! * How many tasks does the balancer move between nodes (§5.3; kernel: `adjust_numa_imbalance`)?
//!
//! A fourth question is whether NUMA balancing may move a task to an idle CPU of another node at once (§5.4);
//! [`numa::imbalance`](crate::numa::imbalance) answers it.
//!
//! Units: tasks and CPUs. Invariants: rules are pure, and both sides have CPUs to spare.

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
