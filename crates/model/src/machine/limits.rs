//! What a machine may have at most, and the ranges that several sections of its file share.

use super::cpulist;
use std::ops::RangeInclusive;

/// Most nodes of a machine (the kernel's largest `NODES_SHIFT` is 10).
pub const MAX_NODES: usize = numalab_base::node_mask::MAX_NODES;

/// Most logical CPUs of a machine.
pub const MAX_CPUS: usize = cpulist::MAX_COUNT;

/// Most memory of all nodes together, bytes: what Linux maps with four levels of page tables
/// (Documentation/arch/x86/x86_64/mm.rst). The simulator itself needs some 6 MiB for each TiB of it.
pub const MAX_MEMORY: u64 = 64 << 40;

/// Legal bandwidths, GB/s. With less than the least a run would not end.
pub(super) const GBPS: RangeInclusive<f64> = 0.01..=1e6;

/// Legal clocks, GHz. As for every range here, the least value is below that of every real machine; with less,
/// simulating a second could take hours.
pub(super) const GHZ: RangeInclusive<f64> = 0.1..=20.0;
