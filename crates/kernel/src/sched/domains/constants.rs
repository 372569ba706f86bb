//! Intervals and thresholds of a domain by its level and the release (kernel-scheduler.md §1.3 and section 0).
//!
//! Up to 3.15 every level has constants of its own (`SD_SIBLING_INIT`, `SD_MC_INIT`, `SD_CPU_INIT`, and `sd_numa_init`
//! across nodes). Inside a node a busy CPU balances 64 times more rarely than an idle one, and intervals start at 1 ms
//! whatever the number of CPUs. 143e1e28cb40 (3.16) makes one rule of the level's weight for all levels. 5.10 halves
//! the factor and the threshold and subtracts a jiffy (6e7499135db7, 2208cdaa56c9, e4d32e4d5444).

use super::level::Level;
use crate::sched::rules::DomainConstants;

/// How the interval of a busy CPU follows from that of an idle CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BusyInterval {
    /// Factor on the interval (`busy_factor`).
    pub factor: u64,
    /// Jiffies to subtract, so that levels are not due at the same time.
    pub less: u64,
}

/// Constants of one level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LevelConstants {
    /// Shortest interval, ms.
    pub interval_ms: u32,
    /// Longest interval, ms; pinned tasks may exceed it.
    pub max_interval_ms: u32,
    /// Interval of a busy CPU.
    pub busy: BusyInterval,
    /// How much busier a group must be to count as imbalanced, percent.
    pub imbalance_pct: u32,
}

impl DomainConstants {
    /// Constants of a level whose mask has `weight` CPUs, which share a core (`smt`), a cache (`llc`) or neither.
    pub fn of(self, level: Level, weight: u32, smt: bool, llc: bool) -> LevelConstants {
        let by_weight = |factor, less, imbalance_pct| LevelConstants {
            interval_ms: weight,
            max_interval_ms: 2 * weight,
            busy: BusyInterval { factor, less },
            imbalance_pct: if smt { 110 } else { imbalance_pct },
        };
        match self {
            Self::V510 => by_weight(16, 1, 117),
            Self::V316 => by_weight(32, 0, if llc { 117 } else { 125 }),
            Self::V37 if matches!(level, Level::Numa(_)) => by_weight(32, 0, 125),
            Self::V37 => {
                LevelConstants { interval_ms: 1, max_interval_ms: if smt { 2 } else { 4 }, ..by_weight(64, 0, 125) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_of_a_node_of_twelve_threads() {
        let of = |c: DomainConstants| {
            [(Level::Smt, 2, true, true), (Level::Mc, 12, false, true), (Level::Numa(1), 48, false, false)].map(|l| {
                let k = c.of(l.0, l.1, l.2, l.3);
                (k.interval_ms, k.max_interval_ms, k.busy.factor, k.imbalance_pct)
            })
        };
        assert_eq!(of(DomainConstants::V510), [(2, 4, 16, 110), (12, 24, 16, 117), (48, 96, 16, 117)]);
        assert_eq!(of(DomainConstants::V316), [(2, 4, 32, 110), (12, 24, 32, 117), (48, 96, 32, 125)]);
        assert_eq!(of(DomainConstants::V37), [(1, 2, 64, 110), (1, 4, 64, 125), (48, 96, 32, 125)]);
        let less = DomainConstants::ALL.iter().map(|c| c.of(Level::Mc, 12, false, true).busy.less);
        assert_eq!(less.collect::<Vec<_>>(), [0, 0, 1]);
    }
}
