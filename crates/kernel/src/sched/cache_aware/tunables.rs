//! The knobs of cache-aware scheduling (debugfs `sched/llc_balancing/`).

use numalab_base::tunable::Needs;
use numalab_base::words;

words! {
    /// Who decides where a task with a preferred node belongs.
    pub enum Precedence {
        /// NUMA balancing: a preferred cache on another node than the preferred one is dropped.
        Numa = "numa" ("7.2"),
        /// The cache: NUMA balancing moves pages only (posted in June 2026, `override_numa_balance`).
        Cache = "cache",
    }
}

const ON: Needs = Needs::OneOf(&["true"]);

numalab_base::tunables! {
    /// Cache-aware scheduling (kernel-after-6.12.md §4.1).
    pub struct CacheAwareTunables: "llc_balancing" {
        /// The load balancer gathers the threads of a process on one cache, where nodes have several (7.2 on).
        enabled: bool = false, "", "debugfs sched/llc_balancing/enabled";
        /// How much larger than a cache a process may be: 0 never, 100 any.
        aggr_tolerance: u32 = 1, "", "debugfs sched/llc_balancing/aggr_tolerance", range 0..=100,
            read when "llc_balancing.enabled" is ON;
        /// Length of an epoch.
        epoch_period_ms: u32 = 10, "ms", "debugfs sched/llc_balancing/epoch_period", range 1..=86_400_000,
            read when "llc_balancing.enabled" is ON;
        /// Epochs without a run of the process after which its preference ends.
        epoch_affinity_timeout: u32 = 5, "epochs", "debugfs sched/llc_balancing/epoch_affinity_timeout",
            range 0..=1_000_000, read when "llc_balancing.enabled" is ON;
        /// Utilisation up to which a cache takes tasks. Without SMT three quarters are used instead of half.
        overaggr_pct: u32 = 50, "%", "debugfs sched/llc_balancing/overaggr_pct", range 0..=100,
            read when "llc_balancing.enabled" is ON;
        /// Lead of one cache over another that counts as an imbalance.
        imb_pct: u32 = 20, "%", "debugfs sched/llc_balancing/imb_pct", range 0..=1000,
            read when "llc_balancing.enabled" is ON;
        /// Who decides about a task with a preferred node.
        precedence: Precedence = Precedence::Numa, "", "debugfs sched/llc_balancing/override_numa_balance (posted)",
            read when "llc_balancing.enabled" is ON;
    }
}
