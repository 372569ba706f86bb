//! Counters of what the scheduler did.

use crate::sched::domains::Level;

/// Counters since the start. They change nothing. Names of schedstat where it has them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Balance passes that looked at their groups.
    pub passes: u64,
    /// Balance passes that ended because another CPU balances for the group (`should_we_balance`).
    pub not_designated: u64,
    /// Tasks pulled by balance passes.
    pub pulled: u64,
    /// Running tasks pushed by active balance.
    pub active: u64,
    /// Balance runs on behalf of tickless idle CPUs.
    pub nohz_runs: u64,
    /// Times a CPU went idle without a newly-idle search.
    pub newidle_skipped: u64,
    /// Those of them whose average idle time was too short for a search.
    pub newidle_too_short: u64,
    /// Newly-idle searches that ended before a domain whose pass costs more than is left of the average idle time.
    pub newidle_too_dear: u64,
    /// Domains that the dice of a newly-idle search left out (NI_RANDOM).
    pub newidle_dice: u64,
    /// Passes of newly-idle searches.
    pub newidle_passes: u64,
    /// Tasks that these passes pulled.
    pub newidle_pulled: u64,
    /// Passes that did not happen because another CPU balanced a domain that one CPU balances at a time
    /// (`sched_balance_running`).
    pub serialized: u64,
    /// Passes that found no group to pull from (`lb_nobusyg`).
    pub no_busy_group: u64,
    /// Passes that found no queue to pull from (`lb_nobusyq`).
    pub no_busy_queue: u64,
    /// Passes that found a queue and moved nothing (`lb_failed`).
    pub failed: u64,
    /// Times a queued task was refused as cache-hot or for its NUMA locality.
    pub hot_refused: u64,
    /// Wake-ups that queued a task (`ttwu_count`).
    pub ttwu_count: u64,
    /// Those that queued it on the waker's CPU (`ttwu_local`).
    pub ttwu_local: u64,
    /// Those that left the queueing to a CPU of another cache (`ttwu_queue_wakelist`).
    pub ttwu_queued: u64,
    /// Wake-ups that waited for the task's last CPU to switch away from it (`on_cpu`).
    pub ttwu_on_cpu: u64,
    /// Times a CPU waited for the lock of a run queue, or for `on_cpu`.
    pub rq_lock_waits: u64,
    /// How long, ns.
    pub rq_lock_wait_ns: u64,
    /// By kind of domain.
    pub levels: [LevelCounters; COUNTED_LEVELS.len()],
}

/// Counters of one kind of domain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LevelCounters {
    /// Passes that looked at their groups (`lb_count` without those of other CPUs).
    pub passes: u64,
    /// Tasks pulled (`lb_gained`).
    pub gained: u64,
}

/// The kinds of domains that are counted apart: inside a core, inside a cache, inside a node, between nodes.
pub const COUNTED_LEVELS: [&str; 4] = ["smt", "mc", "pkg", "numa"];

/// Index of a level in [`COUNTED_LEVELS`].
pub(in crate::sched) fn counted(level: Level) -> usize {
    match level {
        Level::Smt | Level::Cls => 0,
        Level::Mc => 1,
        Level::Pkg | Level::Node => 2,
        Level::Numa(_) => 3,
    }
}
