//! Counters of what the scheduler did.

/// Counters since the start. They change nothing.
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
    /// Times a queued task was refused as cache-hot or for its NUMA locality.
    pub hot_refused: u64,
}
