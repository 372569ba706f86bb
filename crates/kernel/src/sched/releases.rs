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
//! measured cost (9bd721c55c8a), and since 3.17 searches only if some CPU has two tasks (4486edd12b5a). Since 4.17
//! (554c8aa8ecad) a CPU that is expected to idle for less than a tick keeps its tick. Zen got a limit of
//! its own for fork, exec and wake-ups across nodes, 32 instead of 30, with 5.4 (a55c7454a8c8).

use super::config::SchedConfig;
use crate::tunable::{Group, SetError};

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
/// 57abff067a08); from then to 6.5 the balancer is 6.1's. What the steps before were is told in `balance::v311`.
/// Which of two CPUs a wake-up chose before 3.11 is not modelled: the newest rule stands for it.
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
            ("newidle", "v37"),
            ("domain_constants", "v37"),
            ("idle_tick", "false"),
            // `RECLAIM_DISTANCE` was a constant.
            ("node_reclaim_distance", "30"),
        ],
    ),
    row(3, 9, &[("idle_scan", "idle_groups")]),
    row(3, 11, &[("balancer", "v311"), ("wake_affine", "v311")]),
    row(3, 12, &[("wake_wide", "true")]),
    row(3, 13, &[("newidle", "v313")]),
    row(3, 16, &[("domain_constants", "v316")]),
    row(3, 17, &[("newidle", "v317")]),
    row(3, 18, &[("balancer", "v318"), ("wake_affine", "v318")]),
    row(4, 1, &[("balancer", "v41")]),
    row(4, 9, &[("idle_scan", "sis_prop_v413")]),
    row(4, 13, &[("balancer", "v413")]),
    row(4, 14, &[("wake_affine", "v414")]),
    row(4, 16, &[("recent_used_cpu", "waker"), ("wake_affine", "v416")]),
    row(4, 17, &[("idle_tick", "true"), ("balancer", "v417"), ("wake_affine", "v417")]),
    row(4, 20, &[("balancer", "v420")]),
    row(5, 0, &[("balancer", "v50")]),
    // The machine's own from here on.
    row(5, 4, &[("node_reclaim_distance", "0")]),
    row(5, 5, &[("balancer", "types")]),
    row(5, 7, &[("imbalance", "fixed2")]),
    row(5, 10, &[("domain_constants", "v510")]),
    row(5, 11, &[("imbalance", "k511"), ("wake_affine", "v511")]),
    row(5, 14, &[("idle_scan", "sis_prop")]),
    row(5, 15, &[("recent_used_cpu", "previous")]),
    row(5, 16, &[("newidle", "v516")]),
    row(5, 18, &[("imbalance", "k518")]),
    row(6, 0, &[("imbalance", "k60"), ("idle_scan", "sis_util")]),
    row(6, 6, &[("form", "v612")]),
];

/// Settings of the mainline release `major.minor`.
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
