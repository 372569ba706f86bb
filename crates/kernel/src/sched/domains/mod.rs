//! Scheduling domains: which CPUs balance with which, and at what intervals (kernel-scheduler.md §1).
//!
//! Problem: placement and balancing walk a tower of ever larger CPU sets, which is private to each CPU. Its shape and
//! its *removed* levels decide thresholds, flags and intervals.
//!
//! Approach: [`Domains::build`] makes the complete tower from the level list and computes groups and `imb_numa_nr` on
//! it. Only then does it remove levels without effect, in the kernel's order. Domains of a CPU are contiguous, bottom
//! first. Groups of non-NUMA levels are shared; groups of NUMA levels are private to their domain.
//!
//! Distances that differ by direction make towers of different height and domains that overlap. A domain may then have
//! CPUs that none of its groups has, as in the kernel.
//!
//! Units: CPUs; intervals in ms. Invariants: the first group of a domain's ring contains its CPU; a child's span is a
//! subset of its parent's; the top domain of a CPU spans the machine.

mod build;
mod constants;
mod degenerate;
mod describe;
mod distances;
mod domain;
mod flags;
mod groups;
mod layout;
mod level;
mod levels;
mod raw;
mod ring;
pub mod simplify;
mod towers;

pub use constants::BusyInterval;
pub use distances::NumaTopology;
pub use domain::{Cache, DomId, Domain, Group, CAPACITY};
pub use flags::Flags;
pub use level::Level;
pub use ring::{GroupId, Ring};
pub use towers::Domains;
