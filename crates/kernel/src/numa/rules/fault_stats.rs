//! What is remembered of hint faults.

use numalab_base::words;

words! {
    /// What is remembered of hint faults.
    pub enum FaultStatsRole {
        /// Per thread at faults and per process at scans, by page node.
        AutoNuma = "autonuma" ("AutoNUMA, 2012"),
        /// Per thread by page node; the busiest becomes the home node.
        SchedNuma = "schednuma" ("schednuma, October 2012"),
        /// Nothing.
        None = "none" ("3.8"),
        /// Faults by page node, private and shared, decay rounding down, groups.
        V313 = "v313" ("3.13"),
        /// Also by the faulting CPU's node, decay rounding up.
        V315 = "v315" ("3.15 on"),
    }
}

/// The statistics of 3.8 and later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultStats {
    /// No statistics: 3.8 only notes that a pass ended.
    None,
    /// 3.13: memory faults only, decay rounding down.
    V313,
    /// 3.15: memory and CPU faults, decay rounding up.
    V315,
}

impl FaultStatsRole {
    /// What the mechanism of 3.8 and later keeps. It keeps nothing beside a design of 2012.
    pub fn kernel(self) -> FaultStats {
        match self {
            Self::AutoNuma | Self::SchedNuma | Self::None => FaultStats::None,
            Self::V313 => FaultStats::V313,
            Self::V315 => FaultStats::V315,
        }
    }
}
