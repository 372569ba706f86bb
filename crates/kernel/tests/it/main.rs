//! All tests of this crate that use it from outside, one program: a module a subject.
#![allow(clippy::unwrap_used)]

mod after_6_12;
mod damon;
mod hw;
mod linux_vectors;
mod lists;
mod mm;
mod numa;
mod release_switches;
mod releases;
mod sched_balance;
mod sched_common;
mod sched_domains;
mod sched_fork;
mod sched_loads;
mod sched_pelt;
mod sched_time;
mod sched_towers;
