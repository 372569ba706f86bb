//! What the scheduler did.

/// What the scheduler did, for reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Balance passes that looked at their groups.
    pub passes: u64,
    /// Passes whose CPU was not the designated one.
    pub not_designated: u64,
    /// Tasks pulled by passes.
    pub pulled: u64,
    /// Running tasks pushed after failed passes.
    pub active: u64,
    /// Balance runs on behalf of tickless idle CPUs.
    pub nohz_runs: u64,
    /// Times a CPU went idle without searching.
    pub newidle_skipped: u64,
    /// Times a task waiting on a queue was refused as cache-hot or for NUMA locality.
    pub hot_refused: u64,
}
