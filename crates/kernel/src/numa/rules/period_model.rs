//! Who scans, and by which bounds and adaptation of the scan period.

use numalab_base::tunable::Needs;
use numalab_base::words;

words! {
    /// Who scans address spaces and how fast: the form of the scan period's adaptation.
    pub enum ScanRole {
        /// Nobody.
        None = "none" ("before 3.8"),
        /// knuma_scand: one daemon for the machine, 128 MiB per 100 ms, 10 s of sleep after each pass.
        AutoNuma = "autonuma" ("AutoNUMA, 2012"),
        /// Task work at the tick, 256 MB per process and 200 ms.
        SchedNuma = "schednuma" ("schednuma, October 2012"),
        /// Task work at the tick, period per task from 100 ms, longer with every fault that migrates nothing.
        V38 = "v38" ("3.8"),
        /// Period scaled by RSS, adapted once per pass; local share threshold 3 of 10.
        V313 = "v313" ("3.13"),
        /// As v313 with threshold 7 of 10.
        V317 = "v317" ("3.17"),
        /// As v317; failed migrations double the period.
        V40 = "v40" ("4.0"),
        /// Private share first, then local share, threshold 7 of 10.
        V414 = "v414" ("4.14 on"),
    }
}

/// Bounds and adaptation of the scan period of 3.8 and later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PeriodModel {
    /// 3.8: fixed bounds, slower with every fault that did not migrate.
    V38,
    /// 3.13: by locality, threshold 3.
    V313,
    /// 3.17: by locality, threshold 7.
    V317,
    /// 4.0: as 3.17, but failed migrations double the period.
    V40,
    /// 4.14: private ratio first, then locality; bounds scaled by the group.
    V414,
}

impl ScanRole {
    /// The condition that threads scan at their ticks, as in 3.8 and later.
    pub const TASK_WORK: Needs = Self::V38.or_later();

    /// The period of 3.8 and later. Nothing asks it where nobody scans, or where a design of 2012 does.
    pub fn kernel(self) -> PeriodModel {
        match self {
            Self::None | Self::AutoNuma | Self::SchedNuma | Self::V38 => PeriodModel::V38,
            Self::V313 => PeriodModel::V313,
            Self::V317 => PeriodModel::V317,
            Self::V40 => PeriodModel::V40,
            Self::V414 => PeriodModel::V414,
        }
    }
}
