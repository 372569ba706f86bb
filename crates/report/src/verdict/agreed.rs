//! The sentences of an agreement, and its JSON.

use super::agreement::{Agreement, Verdict, Way};
use super::call::Call;
use super::finding::measurements;
use crate::data::Comparison;
use crate::trust;
use numalab_model::experiment::Prediction;
use serde_json::{json, Value};

impl Agreement {
    /// The answer in one sentence or two.
    pub(super) fn answer(&self, c: &Comparison) -> String {
        let (base, all) = (c.baseline_name(), self.every());
        let names: Vec<&str> = self.ways.iter().map(|w| c.kernels[w.kernel].name.as_str()).collect();
        match self.verdict {
            Verdict::Take(k) => format!("Take {}: it beats {base} {all}.", c.kernels[k].name),
            Verdict::Keep => {
                let verb = if names.len() == 1 { "is" } else { "are" };
                format!("Keep {base}: {} {verb} worse {all}.", super::answer::join(&names, "and"))
            }
            Verdict::Even => {
                format!("Take either: {} gives the same as {base} {all}.", super::answer::join(&names, "or"))
            }
            Verdict::NoVerdict => format!("No verdict: {}.", self.why_not(c)),
        }
    }

    /// Why there is no verdict.
    fn why_not(&self, c: &Comparison) -> String {
        let named = |is: &dyn Fn(&&Way) -> bool| -> Vec<&str> {
            self.ways.iter().filter(is).map(|w| c.kernels[w.kernel].name.as_str()).collect()
        };
        let parted = named(&|w| w.disagrees());
        if parted.is_empty() {
            let comma = if self.settled { "," } else { "" };
            return format!("no column is clearly better than {}{comma} {}", c.baseline_name(), self.every());
        }
        let what = if self.settled { "sizes" } else { "sizes and times" };
        format!("the simulated {what} disagree about {}", super::answer::join(&parted, "and"))
    }

    /// "in all 4 simulated sizes and times", "once settled, in all 2 simulated sizes".
    fn every(&self) -> String {
        let n = self.ways.first().map_or(0, |w| w.deciding().count());
        match self.settled {
            true if n == 1 => "once settled".into(),
            true if n == 2 => "once settled, in both simulated sizes".into(),
            true => format!("once settled, in all {n} simulated sizes"),
            false if n == 1 => "over the simulated time".into(),
            false => format!("in all {n} simulated sizes and times"),
        }
    }

    /// How sure the verdict is: the range over sizes and times of each way, the runs, and the model's error.
    pub(super) fn how_sure(&self, c: &Comparison) -> String {
        let mut out: Vec<String> = self.ways.iter().filter_map(|w| self.range_of(c, w)).collect();
        let measured = c.workloads.first().map(measurements).unwrap_or_default();
        let error = measured.first().zip(c.others().next()).and_then(|(m, k)| trust::of_comparison(c, m, k));
        let runs = c.workloads.iter().filter_map(|w| measurements(w).first().map(|m| m.of(c.baseline).len())).min();
        let runs = match runs.unwrap_or(0) {
            1 => "1 run a side".to_string(),
            n => format!("{n} runs a side"),
        };
        let beyond =
            error.map_or(String::new(), |e| format!(", and by more than the model's own error ({})", e.text()));
        out.push(format!("Clear is what parts all runs ({runs}){beyond}."));
        out.extend(self.too_short(c));
        out.push("Predictions of the simulator, not measurements.".into());
        out.join(" ")
    }

    /// Which runs balancing had too little time in, as a sentence; `None` without such.
    fn too_short(&self, c: &Comparison) -> Option<String> {
        let mut deciding = self.ways.iter().flat_map(|w| w.deciding().map(move |cell| (w.kernel, cell.workload)));
        let is_short = |(kernel, workload): &(usize, usize)| {
            c.workloads.get(*workload).is_some_and(|w| w.too_short(*kernel) || w.too_short(c.baseline))
        };
        let (_, workload) = deciding.find(is_short)?;
        let name = &c.workloads[workload].name;
        Some(format!("Runs of {name} are too short for balancing to act, so nothing is clear there."))
    }

    /// The range of a way as a sentence: "interleave: 6.6 % worse to 61.1 % better, by size and time."
    fn range_of(&self, c: &Comparison, way: &Way) -> Option<String> {
        let (low, high) = way.range()?;
        let call = match () {
            () if way.all(Call::Better) => "clearly better in all",
            () if way.all(Call::Worse) => "clearly worse in all",
            () if way.all(Call::Even) => "the same in all",
            () if way.disagrees() => "sizes and times disagree",
            () => "not clear in all",
        };
        let call = if way.deciding().count() == 1 { call.trim_end_matches(" in all") } else { call };
        let (name, low, high) = (&c.kernels[way.kernel].name, gain(low), gain(high));
        Some(if low == high { format!("{name}: {low}, {call}.") } else { format!("{name}: {low} to {high}, {call}.") })
    }

    /// The agreement as JSON (docs/reference/json.md).
    pub(super) fn json(&self, c: &Comparison, p: &Prediction) -> Value {
        let name = |k: usize| c.kernels[k].name.as_str();
        let take = match self.verdict {
            Verdict::Take(k) => Some(name(k)),
            Verdict::Keep => Some(c.baseline_name()),
            Verdict::Even | Verdict::NoVerdict => None,
        };
        let simulated = p.simulated.iter().enumerate().map(|(i, s)| {
            let ways = self.ways.iter().map(|w| {
                let cell = &w.cells[i];
                json!({
                    "kernel": name(w.kernel), "gain_percent": cell.gain_percent, "call": cell.call.word(),
                    "decides": cell.decides,
                })
            });
            json!({
                "workload": s.workload, "memory_bytes": s.memory_bytes, "threads": s.threads,
                "time_s": s.time_ms as f64 / 1000.0,
                "settled_after_s": s.settled_after_ms.map(|ms| ms as f64 / 1000.0), "kernels": ways.collect::<Vec<_>>(),
            })
        });
        json!({
            "text": p.text(), "cut": p.is_cut(), "asked": {"memory_bytes": p.memory_bytes, "threads": p.threads},
            "simulated": simulated.collect::<Vec<_>>(), "verdict": self.verdict.word(), "take": take,
        })
    }
}

/// A gain in words: "6.6 % worse".
fn gain(percent: f64) -> String {
    format!("{:.1} % {}", percent.abs(), if percent < 0.0 { "worse" } else { "better" })
}
