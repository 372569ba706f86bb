//! Decision tables, numbered vectors and scenarios of thp-and-allocation.md, tested on all of memory management.
//!
//! Vectors of one function are tested beside it. A test here names the vector or table row that it checks.

// Helpers of tests may unwrap as tests do; the exception of the lint covers only functions marked #[test].
#![allow(clippy::unwrap_used)]

use crate::hw::machines;

mod base_pages;
mod budget;
mod compaction;
mod daemons;
mod frames;
mod huge_faults;
mod hugetlb;
mod ladders;
mod lists;
mod lru_batch;
mod node_reclaim;
mod policies;
mod runs;
pub(crate) mod setup;
mod sharing;
mod tiers;
mod zones;
