//! "sched, fair: Allow a small degree of load imbalance between SD_NUMA domains", as posted in December 2019: an
//! allowance in proportion to imbalance_pct. 5.6 merged a fixed one (`pair_5_6`) instead.

use super::parts::{Fork, Parts, Placement, Pull, PullSides, NUMA_IMBALANCE_MIN};
use numalab_base::words::Variant;

/// The variant.
pub const VARIANT: Variant<Parts> = Variant {
    word: "pct_2019",
    releases: "posted in December 2019",
    doc: "The balancer spares a share of the CPUs that follows imbalance_pct.",
    parts: Parts {
        threshold: None,
        fork: Fork::IdleCpu,
        pull: Pull::Own(tasks_to_move),
        placement: Placement::ByLoad,
        in_words: |d| {
            let tolerated = (d.group_weight * d.imbalance_pct.saturating_sub(100) / 200).max(2);
            let most = (d.group_weight / 2).saturating_sub(tolerated);
            format!("{tolerated} tasks while the source is below {most}")
        },
    },
};

/// Half of the difference. Up to half of imbalance_pct of the source's CPUs, at least two, are tolerated while the source
/// has fewer tasks than half of its CPUs less that.
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
