//! Kinds of figures whose predictions are off by about as much.

use numalab_model::workload::BEST;
use serde::Serialize;

/// A kind of figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FigureKind {
    /// How long a program takes.
    Elapsed,
    /// Time that programs compute.
    User,
    /// Time in the kernel.
    System,
    /// The best repetition of a loop that is bound by memory bandwidth, as STREAM prints it.
    Bandwidth,
    /// Work per second of a whole run, or counted work.
    Throughput,
    /// Counters of the kernel, and figures made of them.
    Counter,
    /// How much runs differ: deviations and coefficients of variation.
    Spread,
}

impl FigureKind {
    /// All kinds, in print order.
    pub const ALL: [Self; 7] =
        [Self::Elapsed, Self::User, Self::System, Self::Bandwidth, Self::Throughput, Self::Counter, Self::Spread];

    /// Word in files and JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::Elapsed => "elapsed",
            Self::User => "user",
            Self::System => "system",
            Self::Bandwidth => "bandwidth",
            Self::Throughput => "throughput",
            Self::Counter => "counter",
            Self::Spread => "spread",
        }
    }

    /// What such figures are called in a sentence: "elapsed times".
    pub fn plural(self) -> &'static str {
        match self {
            Self::Elapsed => "elapsed times",
            Self::User => "user times",
            Self::System => "system times",
            Self::Bandwidth => "the best of several repetitions",
            Self::Throughput => "throughputs",
            Self::Counter => "counters",
            Self::Spread => "deviations between runs",
        }
    }

    /// Kind of a measurement by its name and unit. `metric` may be an arithmetic expression of such names: an
    /// expression of counters is a counter, and one of times has the kind of the first time that it names.
    pub fn of(metric: &str, unit: &str) -> Self {
        let names = || metric.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '-'));
        let is = |time: &str| names().any(|n| n == time || n.strip_suffix("_s") == Some(time));
        let counter = |n: &str| numalab_model::counters::find(n).is_some();
        match () {
            () if names().any(counter) => Self::Counter,
            () if is("system") && !is("user") => Self::System,
            () if is("user") || is("system") => Self::User,
            () if is("elapsed") => Self::Elapsed,
            () if unit.contains("B/s") && metric.ends_with(BEST) => Self::Bandwidth,
            () if ["pages", "faults", "events", "entries", "allocations", "huge pages"].contains(&unit) => {
                Self::Counter
            }
            () => Self::Throughput,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_of_measurements_and_of_published_rows() {
        for (metric, unit, kind) in [
            ("elapsed", "s", FigureKind::Elapsed),
            ("elapsed_s + 1.02", "s", FigureKind::Elapsed),
            ("system_s", "s", FigureKind::System),
            ("system_s + 0.2", "s", FigureKind::System),
            ("100 * (user_s + system_s) / elapsed_s", "%", FigureKind::User),
            ("copy_best", "MB/s", FigureKind::Bandwidth),
            ("swept", "MB/s", FigureKind::Throughput),
            ("tput_96 / 2", "ops/s", FigureKind::Throughput),
            ("tput-12", "ops/s", FigureKind::Throughput),
            ("max tput", "ops/s", FigureKind::Throughput),
            ("numa_hint_faults", "faults", FigureKind::Counter),
            ("1038 * pgmigrate_success / 1000000", "million word touches", FigureKind::Counter),
            ("swap_ins", "pages", FigureKind::Counter),
        ] {
            assert_eq!(FigureKind::of(metric, unit), kind, "{metric}");
        }
    }
}
