//! What a kernel cost on a workload: system time, memory moved, faults.

use crate::data::{Comparison, Workload};
use crate::figures::named_metric;
use crate::format::{plain, unit_for};
use numalab_stats::describe;

/// Figures that count as costs in print order, with words for them before and behind the numbers.
const COSTS: [(&str, &str, &str); 3] = [
    ("system", "system time", "of system time"),
    ("numa_migrated_mib", "memory moved", "moved"),
    ("numa_hint_faults", "hint faults", "hint faults"),
];

/// A cost of a kernel beside that of the baseline: arithmetic means of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Cost {
    /// Name of the figure: a time, a counter or a derived column.
    pub metric: String,
    /// Words for it: "system time".
    pub words: String,
    /// Unit of both numbers; empty for a number of events.
    pub unit: String,
    /// The baseline's mean; `None` if it has no such figure.
    pub baseline: Option<f64>,
    /// The kernel's mean; `None` if it has no such figure.
    pub kernel: Option<f64>,
}

impl Cost {
    /// The cost in words: "system time 0.258 → 2.19 s", or "768 MiB moved" where the baseline has none.
    pub fn text(&self) -> String {
        let largest = [self.baseline, self.kernel].into_iter().flatten().fold(0.0, f64::max);
        let (unit, by) = unit_for(&self.unit, largest);
        let unit = if unit.is_empty() { String::new() } else { format!(" {unit}") };
        let figure = |x: Option<f64>| x.map_or_else(|| "–".to_string(), |x| short(x / by));
        let what = COSTS.iter().find(|c| c.0 == self.metric);
        match (self.baseline, what) {
            (None | Some(0.0), Some((.., alone))) => format!("{}{unit} {alone}", figure(self.kernel)),
            _ => format!("{} {} → {}{unit}", self.words, figure(self.baseline), figure(self.kernel)),
        }
    }
}

/// A figure at a glance: three significant digits, with the suffixes k, M, G, T from 10 000 on.
fn short(x: f64) -> String {
    for (from, one, suffix) in
        [(1e12, 1e12, " T"), (1e9, 1e9, " G"), (1e6, 1e6, " M"), (1e4, 1e3, " k"), (0.0, 1.0, "")]
    {
        if x.abs() >= from {
            return plain(x / one, 3) + suffix;
        }
    }
    plain(x, 3)
}

/// The costs of a kernel. Figures that are 0 or missing on both sides are left out.
pub(super) fn costs(c: &Comparison, w: &Workload, kernel: usize) -> Vec<Cost> {
    let one = |(name, words, _): &(&str, &str, &str)| {
        let m = named_metric(w, name)?;
        let [baseline, mean] = [c.baseline, kernel].map(|k| describe::amean(m.of(k)));
        if baseline.unwrap_or(0.0) == 0.0 && mean.unwrap_or(0.0) == 0.0 {
            return None;
        }
        // The words already say what is counted.
        let unit = if m.unit == "faults" || m.unit == "events" { String::new() } else { m.unit.clone() };
        Some(Cost { metric: (*name).into(), words: (*words).into(), unit, baseline, kernel: mean })
    };
    COSTS.iter().filter_map(one).collect()
}
