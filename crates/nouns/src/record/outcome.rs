//! What a backend returns from one run of one plan.

use serde::{Deserialize, Serialize};

/// Text in every warning that a run is too short; a report gives no verdict on such a run.
pub const TOO_SHORT: &str = "too short to tell";

/// Times of every run, as reports call them. Scalars of a record have the same names with their unit: `elapsed_s`.
pub const TIMES: [&str; 4] = ["elapsed", "user", "system", "blocked"];

/// Scores of every simulated run in which enough threads of the workload are woken: the latency that half, and 99 of
/// 100, wake-ups do not exceed, us.
pub const WAKE_UPS: [(&str, u64); 2] = [("wakeup_p50", 50), ("wakeup_p99", 99)];

/// Counters of `/proc/vmstat` that guests and hosts record even when they did not grow, in the order of records.
pub const ALWAYS_RECORDED: [&str; 14] = [
    "numa_pte_updates",
    "numa_huge_pte_updates",
    "numa_hint_faults",
    "numa_hint_faults_local",
    "numa_pages_migrated",
    "pgmigrate_success",
    "pgmigrate_fail",
    "thp_migration_success",
    "thp_migration_fail",
    "thp_migration_split",
    "pgfault",
    "pgmajfault",
    "pgpromote_candidate",
    "pgpromote_success",
];

/// Everything a backend measured in one run of one plan.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// How the run ended.
    pub status: Status,
    /// Named figures: `elapsed_s`, `user_s`, `system_s` and `blocked_s`, then one per score of the workload.
    pub scalars: Vec<Scalar>,
    /// vmstat deltas under the kernel's names, in the order of the counters table.
    pub counters: Vec<(String, u64)>,
    /// Counts of skips and refusals by reason (`skip.pid_inactive`, …).
    pub reasons: Vec<(String, u64)>,
    /// Time series.
    pub series: Vec<Series>,
    /// Effective value of every tunable.
    pub tunables: Vec<EffectiveTunable>,
    /// Warnings for the reader: [`TOO_SHORT`], a feature that is approximated, and the like.
    pub warnings: Vec<String>,
    /// Where the run had settled, if the rest of it was not simulated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settled: Option<Settled>,
}

/// A run whose rest was not simulated, since it had settled. The other figures are those of the whole run, with the
/// rest as the settled stretch was. All times are those of the model.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Settled {
    /// From when on the scores had their settled rates, s from the start.
    pub after_s: f64,
    /// Time that was simulated, s.
    pub simulated_s: f64,
    /// Time that was not, s.
    pub skipped_s: f64,
    /// Settled rate of each score, in the order of the workload's scores.
    pub rates: Vec<SettledRate>,
}

/// The settled rate of a score.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SettledRate {
    /// Name of the score.
    pub name: String,
    /// Its units a second once the run had settled.
    pub per_second: f64,
    /// Its units a second before; 0 if it was settled from the start.
    pub before_per_second: f64,
}

impl Settled {
    /// Whether all times are finite and not below 0, and all rates finite.
    pub fn is_sane(&self) -> bool {
        let times = [self.after_s, self.simulated_s, self.skipped_s];
        let rates = self.rates.iter().flat_map(|r| [r.per_second, r.before_per_second]);
        times.iter().all(|t| t.is_finite() && *t >= 0.0) && rates.into_iter().all(f64::is_finite)
    }
}

/// How a run ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Status {
    /// The workload ended by itself.
    #[default]
    Completed,
    /// The run reached the limit of model time or wall time.
    Timeout,
    /// The workload could not continue (out of memory, guest panic, …), with the reason.
    Failed(String),
}

/// A figure with its unit and direction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scalar {
    /// Name.
    pub name: String,
    /// Value.
    pub value: f64,
    /// Unit.
    pub unit: String,
    /// Whether a larger value is better.
    pub higher_is_better: bool,
}

/// A time series with one or more columns on one time axis.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// Name, e.g. `node_pages` (per process and node) or `hint_faults`.
    pub name: String,
    /// Unit of the values.
    pub unit: String,
    /// Column names, e.g. `main.0/node1`.
    pub columns: Vec<String>,
    /// Sample times from the start of the run, ns.
    pub time_ns: Vec<u64>,
    /// `values[column][sample]`.
    pub values: Vec<Vec<f64>>,
}

/// The value of a tunable that a run used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EffectiveTunable {
    /// `group.key`.
    pub name: String,
    /// Value as text.
    pub value: String,
    /// Unit.
    pub unit: String,
    /// Name the kernel gives it (sysctl, debugfs), or `model`.
    pub kernel_name: String,
}
