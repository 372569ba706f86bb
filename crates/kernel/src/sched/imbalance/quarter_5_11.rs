//! The 25 % rule of 5.11 to 5.17 (commits 7d2b5dd0bcc4 and its fork-time companion).
//!
//! The threshold follows the size of the groups: of the *source* group in the balancer, of the whole *domain* at fork.

use super::sides::{adjust_numa_imbalance, ForkSides, ImbalanceRule, PlacementLoad, PullSides, Terms};

/// The rule of 5.11.
pub struct Quarter511;

impl ImbalanceRule for Quarter511 {
    /// Stays local while the local group has fewer tasks than a quarter of the domain's CPUs.
    fn fork_stays(s: &ForkSides) -> bool {
        s.local_nr < s.span_weight / 4
    }

    /// Half of the difference. Up to two are tolerated while the source has fewer tasks than a quarter of its CPUs.
    fn tasks_to_move(raw: i64, s: &PullSides) -> i64 {
        adjust_numa_imbalance(raw >> 1, s.busiest_nr < s.busiest_weight / 4)
    }

    /// Up to two are tolerated while the destination runs fewer tasks than a quarter of its CPUs.
    fn placement(l: &PlacementLoad) -> Option<u32> {
        Some(l.unless(l.dst_running < l.dst_weight / 4))
    }

    fn fork_terms(s: &ForkSides) -> Option<Terms> {
        Some(Terms { count: s.local_nr, limit: s.span_weight / 4, up_to: false })
    }

    fn pull_terms(s: &PullSides) -> Option<Terms> {
        Some(Terms { count: s.busiest_nr, limit: s.busiest_weight / 4, up_to: false })
    }

    fn placement_terms(l: &PlacementLoad) -> Option<Terms> {
        Some(Terms { count: l.dst_running, limit: l.dst_weight / 4, up_to: false })
    }
}
