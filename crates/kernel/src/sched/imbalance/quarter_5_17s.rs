//! The 25 % rule made consistent (stable backport of 2cfb7a1b031b): the local group decides, with the new task counted.

use super::sides::{adjust_numa_imbalance, ForkSides, ImbalanceRule, PlacementLoad, PullSides, Terms};

/// The rule of the stable trees of April 2022.
pub struct Quarter517s;

impl ImbalanceRule for Quarter517s {
    /// Stays local while the local group, with the child, has fewer tasks than a quarter of its CPUs.
    fn fork_stays(s: &ForkSides) -> bool {
        s.local_nr + 1 < s.local_weight / 4
    }

    /// Half of the difference. Up to two are tolerated while the destination, with one more task, has fewer tasks than a
    /// quarter of its CPUs.
    fn tasks_to_move(raw: i64, s: &PullSides) -> i64 {
        adjust_numa_imbalance(raw >> 1, s.local_nr + 1 < s.local_weight / 4)
    }

    /// As in 5.11: up to two are tolerated while the destination runs fewer tasks than a quarter of its CPUs.
    fn placement(l: &PlacementLoad) -> Option<u32> {
        Some(l.unless(l.dst_running < l.dst_weight / 4))
    }

    fn fork_terms(s: &ForkSides) -> Option<Terms> {
        Some(Terms { count: s.local_nr + 1, limit: s.local_weight / 4, up_to: false })
    }

    fn pull_terms(s: &PullSides) -> Option<Terms> {
        Some(Terms { count: s.local_nr + 1, limit: s.local_weight / 4, up_to: false })
    }

    fn placement_terms(l: &PlacementLoad) -> Option<Terms> {
        Some(Terms { count: l.dst_running, limit: l.dst_weight / 4, up_to: false })
    }
}
