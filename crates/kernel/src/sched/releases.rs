//! Kernel releases as settings of the scheduler: each row says what a release changed (kernel-scheduler.md §3.4, §5.5,
//! §10). For tests, which name more releases than the catalog has kernels; runs resolve the catalog's files, and a test of
//! the registry holds every one of them against its row.
//!
//! The idle search: whole idle groups only until 4.9 rewrote it (10e2f1acd010), with the previous CPU tried first since
//! 3.9 (e0a79f529d5b); SIS_PROP since 4.13 (1ad3aaf3fcd2), with an aged idle time since 5.14 (94aafc3ee31d); SIS_UTIL
//! since 6.0 (70fb5ccf2ebb). A recently used CPU is tried since 4.16 (32e839dd3ba5). 4.9 to 4.12 searched the whole
//! cache, 4.9 and 4.10 only if that seemed cheap; no catalog kernel is one of them, and their row is 4.13's. Up to 5.14
//! the recently used CPU was the one where the task last woke another (89aafd67f28c; its release is from memory).
//! Wake-ups ask about many partners since 3.12 (62470419e993; 4.3 gave the question today's form, used for all). A CPU
//! that runs dry compared its idle time with `sched_migration_cost` until 5.16 (c5b0a7eefc70), since 3.13 also with the
//! measured cost (9bd721c55c8a), and since 3.17 searches only if some CPU has two tasks (4486edd12b5a). A busy CPU had idle ones balance if a thread of
//! its core was busy until 3.13 counted the CPUs of its cache (37dc6b50cee9). Balancing takes tasks in the order in which they last ran since 4.15
//! (93824900a2e2, committed in October 2017). Since 4.17
//! (554c8aa8ecad) a CPU that is expected to idle for less than a tick keeps its tick. Zen got a limit of
//! its own for fork, exec and wake-ups across nodes, 32 instead of 30, with 5.4 (a55c7454a8c8).
//!
//! One row is about how kernels are built: `detach_tasks` lets a newly idle CPU go with one task if the kernel has
//! CONFIG_PREEMPTION (CONFIG_PREEMPT before 5.3). Server distributions built PREEMPT_VOLUNTARY or PREEMPT_NONE, where it
//! takes the whole imbalance, until PREEMPT_DYNAMIC (5.12) gave one image all three ways and needs that option for it.

use super::config::SchedConfig;
use numalab_base::tunable::{Group, SetError};

/// A release and what it changed against the ones before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Release {
    /// First release with the changes: major, minor.
    pub since: (u32, u32),
    /// Key and value.
    pub changes: &'static [(&'static str, &'static str)],
}

const fn row(major: u32, minor: u32, changes: &'static [(&'static str, &'static str)]) -> Release {
    Release { since: (major, minor), changes }
}

/// The rows, oldest first. Loads per capacity were compared until Vincent Guittot's rework in 5.5 (0b0695f2b34a,
/// 57abff067a08); [`Balancer`](super::rules::Balancer) tells what followed; from 5.12 to 6.5 the balancer is 6.1's. What the steps before were is told in `balance::v311`.
/// A wake-up chose between two CPUs in 3.7 as in 3.11, by weights.
pub const RELEASES: &[Release] = &[
    row(
        0,
        0,
        &[
            ("form", "v61"),
            ("balancer", "v37"),
            ("imbalance", "none"),
            ("idle_scan", "idle_groups_v37"),
            ("recent_used_cpu", "off"),
            ("wake_wide", "false"),
            ("wake_affine", "v311"),
            ("newidle", "v37"),
            ("nohz_kick", "v37"),
            ("queue_order", "v37"),
            ("domain_constants", "v37"),
            ("idle_tick", "false"),
            ("preempt_full", "false"),
            ("fork_counts_allowed", "false"),
            ("below_average", "false"),
            ("relax_util", "false"),
            // `RECLAIM_DISTANCE` was a constant.
            ("node_reclaim_distance", "30"),
        ],
    ),
    row(3, 9, &[("idle_scan", "idle_groups")]),
    row(3, 11, &[("balancer", "v311")]),
    row(3, 12, &[("wake_wide", "true")]),
    row(3, 13, &[("newidle", "v313"), ("nohz_kick", "v313")]),
    row(3, 16, &[("domain_constants", "v316")]),
    row(3, 17, &[("newidle", "v317")]),
    row(3, 18, &[("balancer", "v318"), ("wake_affine", "v318")]),
    row(4, 1, &[("balancer", "v41")]),
    row(4, 9, &[("idle_scan", "sis_prop_v413")]),
    row(4, 13, &[("balancer", "v413")]),
    row(4, 14, &[("wake_affine", "v414")]),
    row(4, 15, &[("queue_order", "v415")]),
    row(4, 16, &[("recent_used_cpu", "waker"), ("wake_affine", "v416")]),
    row(4, 17, &[("idle_tick", "true"), ("balancer", "v417"), ("wake_affine", "v417")]),
    row(4, 20, &[("balancer", "v420")]),
    row(5, 0, &[("balancer", "v50")]),
    // The machine's own from here on.
    row(5, 4, &[("node_reclaim_distance", "0")]),
    row(5, 5, &[("balancer", "v55")]),
    // The balancer's half (b396f52326de). That of NUMA balancing came a release later (from memory); no catalog kernel is 5.6.
    row(5, 6, &[("imbalance", "fixed2"), ("balancer", "v56")]),
    row(5, 7, &[("balancer", "v57")]),
    row(5, 9, &[("balancer", "v59")]),
    row(5, 10, &[("domain_constants", "v510"), ("balancer", "v510")]),
    row(5, 11, &[("imbalance", "k511"), ("wake_affine", "v511")]),
    row(5, 12, &[("preempt_full", "true"), ("balancer", "types")]),
    row(5, 14, &[("idle_scan", "sis_prop")]),
    row(5, 15, &[("recent_used_cpu", "previous")]),
    row(5, 16, &[("newidle", "v516")]),
    row(5, 18, &[("imbalance", "k518")]),
    row(6, 0, &[("imbalance", "k60"), ("idle_scan", "sis_util")]),
    // As in its stable tree, which took these over.
    row(6, 1, &[("below_average", "true"), ("relax_util", "true")]),
    row(6, 2, &[("below_average", "false"), ("relax_util", "false")]),
    row(6, 3, &[("below_average", "true")]),
    row(6, 6, &[("form", "v612"), ("complete_eevdf", "false"), ("base_slice_ns", "750000")]),
    row(6, 8, &[("relax_util", "true")]),
    // The last two as in its stable tree; mainline has them since 6.15 and 6.18.
    row(6, 12, &[("complete_eevdf", "true"), ("base_slice_ns", "700000"), ("fork_counts_allowed", "true")]),
];

/// Settings of the release `major.minor`: mainline's, but for 6.1 and 6.12, which are their stable trees as packaged
/// (6.1.192, 6.12.117).
///
/// # Errors
/// A row that sets what no declaration allows (a test goes through all rows).
pub fn settings(major: u32, minor: u32) -> Result<SchedConfig, SetError> {
    let mut config = SchedConfig::default();
    let rows = RELEASES.iter().filter(|r| r.since <= (major, minor));
    for (key, value) in rows.flat_map(|r| r.changes) {
        config.set(key, value)?;
    }
    Ok(config)
}

#[cfg(test)]
mod tests {
    use super::settings;

    #[test]
    fn distribution_kernels_are_preemptible_from_5_12_on() {
        let got = [(3, 7), (4, 15), (5, 5), (5, 11), (5, 12), (6, 12)];
        let got = got.map(|(major, minor)| settings(major, minor).unwrap().preempt_full);
        assert_eq!(got, [false, false, false, false, true, true]);
    }

    #[test]
    fn pairs_are_left_alone_from_5_6_on() {
        assert_eq!([5, 6, 7].map(|minor| settings(5, minor).unwrap().imbalance), ["none", "fixed2", "fixed2"]);
    }
}
