//! "sched, fair: Allow a small degree of load imbalance between SD_NUMA domains", as posted in December 2019: an
//! allowance in proportion to imbalance_pct. 5.6 merged a fixed one (`pair_5_6`) instead.

use super::fixed_2::Fixed2;
use super::sides::{ForkSides, ImbalanceRule, PlacementLoad, PullSides, NUMA_IMBALANCE_MIN};

/// The rule as posted.
pub struct Pct2019;

impl ImbalanceRule for Pct2019 {
    /// As in 5.5: any idle CPU keeps a fork.
    fn fork_stays(s: &ForkSides) -> bool {
        Fixed2::fork_stays(s)
    }

    /// Half of the difference. Up to half of imbalance_pct of the source's CPUs, at least two, are tolerated while the
    /// source has fewer tasks than half of its CPUs less that.
    fn tasks_to_move(raw: i64, s: &PullSides) -> i64 {
        let share = i64::from(s.busiest_weight) * (i64::from(s.imbalance_pct) - 100) / 100;
        let tolerated = (share >> 1).max(NUMA_IMBALANCE_MIN);
        let most = i64::from(s.busiest_weight >> 1) - tolerated;
        let x = raw >> 1;
        if x <= tolerated && i64::from(s.busiest_nr) < most {
            0
        } else {
            x
        }
    }

    /// Task placement decides by load.
    fn placement(_l: &PlacementLoad) -> Option<u32> {
        None
    }
}
