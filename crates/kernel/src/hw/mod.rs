//! The modelled hardware: what an access, a copy, a flush and a cache miss cost on a [`Machine`].
//!
//! * [`contention`] latency and rate of threads that share DRAM and links;
//! * [`cache`] last-level caches shared by running threads, and the private L2;
//! * [`reuse_window`] how long a line stays in a cache, and which skewed accesses hit;
//! * [`clock`] core clock by the number of busy cores;
//! * [`smt`] hardware threads of one core;
//! * [`tlb`] TLB reach, page walks, random accesses;
//! * [`page_walker`] walks by the hardware that makes them;
//! * [`cost`] kernel operations: shoot-downs, faults, copies, migrations, scans.
//!
//! Times are ns and rates GB/s (10^9 B/s), so that 1 GB/s is one byte per ns. Indices are the dense ones of the
//! machine. This module does not know which kernel runs, and has no clock.
//!
//! [`Machine`]: numalab_nouns::machine::Machine

pub mod cache;
pub mod clock;
pub mod contention;
pub mod cost;
pub mod page_walker;
pub mod reuse_window;
pub mod smt;
pub mod tlb;
