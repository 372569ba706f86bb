//! Decay of the fault statistics (kernel-numa-balancing.md §11.2).

use crate::numa::rules::FaultStats;

/// New MEM average: half the old one, rounded up (down in 3.13), plus the pages recorded since.
#[inline]
pub fn decay_mem(stats: FaultStats, average: u64, recorded: u64) -> u64 {
    let half = if stats == FaultStats::V313 { average / 2 } else { average - average / 2 };
    half.wrapping_add(recorded)
}

/// Share of CPU time in 1/65536: ⌊runtime·2¹⁶/(period+1)⌋.
#[inline]
pub fn cpu_share(runtime: u64, period: u64) -> u64 {
    (runtime << 16) / period.wrapping_add(1).max(1)
}

/// New CPU average: half the old one, rounded up, plus the pages recorded, normalised by all faults of the interval.
#[inline]
pub fn decay_cpu(average: u64, recorded: u64, share: u64, faults: u64) -> u64 {
    let weight = share.wrapping_mul(recorded) / faults.wrapping_add(1).max(1);
    weight.wrapping_add(average - average / 2)
}
