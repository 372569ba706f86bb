//! Decision tables, numbered vectors and scenarios of thp-and-allocation.md, executed on the whole memory side.
//!
//! Vectors that concern one function are tested beside it; a test here names the vector or table row it holds.

// Helpers of tests may unwrap as tests do; the lint's exception covers only functions marked #[test].
#![allow(clippy::unwrap_used)]

#[path = "../hw/machines.rs"]
#[allow(dead_code)]
mod machines;

mod base_pages;
mod budget;
mod compaction;
mod daemons;
mod frames;
mod huge_faults;
mod ladders;
mod lists;
mod lru_batch;
mod node_reclaim;
mod policies;
mod sharing;
mod tiers;
mod world;
mod zones;
