//! The numbered vectors, scenarios and pitfalls of kernel-numa-balancing.md §18 and §19, and the version table §16.
//!
//! Expected values are those of the specification; a test's rows carry their numbers (P1, A7, S4, ...).

// Helpers of tests may unwrap as tests do; the lint's exception covers only functions marked #[test].
#![allow(clippy::unwrap_used)]

mod adaptation;
mod after_6_12;
mod balance;
mod faults;
mod groups;
mod machine;
mod marking;
mod migration;
mod mock;
mod node_types;
mod page_filters;
mod periods;
mod pitfalls;
mod placement;
mod placement_before_v419;
mod pull;
mod releases;
mod scan;
mod scenarios;
mod tiering;
mod topology;
mod trigger;
mod vma_filters;
