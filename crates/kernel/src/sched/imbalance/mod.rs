//! How many tasks more than its share a node may keep: the "load-balancer NUMA rule".
//!
//! Problem: communicating tasks should stay on one node and bandwidth-hungry ones should spread. The kernel cannot tell
//! them apart, and its rule changed five times between 5.6 and 6.0.
//!
//! Approach: a rule answers four questions ([`ImbalanceRule`]), each rule in one file. [`Rule`] is the visible list: a new
//! rule is its file and its line there.
//!
//! * What is a domain's threshold `imb_numa_nr`? It comes from the *undegenerated* tower (kernel-scheduler.md §5.1).
//! * Does a forked task stay on the local node (§5.2; kernel: `allow_numa_imbalance`)?
//! * How many tasks does the balancer move between nodes (§5.3; kernel: `adjust_numa_imbalance`)?
//! * May NUMA balancing move a task to an idle CPU of another node at once (§5.4, kernel-numa-balancing.md §14.5)?
//!
//! Units: tasks and CPUs. Invariants: rules are pure, and both sides have CPUs to spare.

mod allowance;
mod fixed_2;
mod imb_5_18;
mod imb_6_0;
mod imb_v3;
mod imb_v4;
mod none;
mod pair_5_6;
mod pct_2019;
mod quarter_5_11;
mod quarter_5_17s;
mod rule;
mod sides;

pub use allowance::{Allowance, Answer, Compare, Halve, ImbTunables};
pub use rule::Rule;
pub use sides::{
    ForkSides, ImbalancePolicy, ImbalanceRule, NodeShape, PlacementLoad, PullSides, Terms, Threshold,
    NUMA_IMBALANCE_MIN,
};
