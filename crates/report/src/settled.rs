//! What a program does once it has settled, as workloads of their own beside those that were run.
//!
//! Problem: a prediction over some seconds scores the move of memory as much as what it leads to. Approach: where every
//! run of a size has settled ([`Settled`]), its settled rates are compared too, or the means over the time that was
//! asked about. So is the way there: the means until the last way had settled. Units: those of the score a second.
//! Invariant: a size of which one run has not settled has no such workload.

use crate::collect::WorkloadRuns;
use crate::data::{Comparison, Metric, Workload};
use numalab_model::experiment::Simulated;
use numalab_model::record::{Outcome, Settled, Status};
use numalab_stats::{describe, Better};

/// How each completed run of a workload had settled, by kernel: `None` for a run that had not.
pub type SettledRuns = Vec<Vec<Option<Settled>>>;

/// How the runs of a workload had settled.
pub fn of_runs(w: &WorkloadRuns<'_>) -> SettledRuns {
    let completed = |o: &&&Outcome| o.status == Status::Completed;
    w.runs.iter().map(|runs| runs.iter().filter(completed).map(|o| o.settled.clone()).collect()).collect()
}

/// Adds the settled workloads of a prediction to a comparison, and to its list of what was simulated. `runs` has those
/// of each workload.
pub fn add(c: &mut Comparison, runs: &[SettledRuns]) {
    let Some(prediction) = c.origin.as_ref().and_then(|o| o.prediction.clone()) else { return };
    for simulated in &prediction.simulated {
        let Some(at) = c.workloads.iter().position(|w| w.program() == simulated.workload) else { continue };
        let Some(of) = runs.get(at).and_then(settled_runs) else { continue };
        let slowest_ms = slowest_ms(&of);
        let horizon_ms = prediction.horizon_ms;
        let name = match horizon_ms {
            None => format!("{} once settled", simulated.workload),
            Some(ms) => format!("{} over {}", simulated.workload, Simulated::time_text(ms)),
        };
        let settled = Simulated {
            workload: name,
            time_ms: horizon_ms.unwrap_or(simulated.time_ms),
            settled_after_ms: Some(slowest_ms),
            ..simulated.clone()
        };
        let way_there = Simulated {
            workload: format!("{} until settled", simulated.workload),
            time_ms: slowest_ms,
            until_settled: true,
            ..simulated.clone()
        };
        let has_way = slowest_ms > 0 && horizon_ms.is_none_or(|ms| slowest_ms < ms);
        let entries = [(has_way.then_some(way_there), Some(slowest_ms)), (Some(settled), horizon_ms)];
        for (entry, mean_over_ms) in entries.into_iter().filter_map(|(entry, over)| Some((entry?, over))) {
            let workload = workload(&c.workloads[at], &entry.workload, &of, mean_over_ms);
            if workload.metrics.is_empty() {
                continue;
            }
            if let Some(p) = c.origin.as_mut().and_then(|o| o.prediction.as_mut()) {
                p.simulated.push(entry);
            }
            c.workloads.push(workload);
        }
    }
}

/// How the runs of each kernel had settled; `None` if there is a completed run that had not, or a kernel without any.
fn settled_runs(runs: &SettledRuns) -> Option<Vec<Vec<&Settled>>> {
    let mut out = Vec::new();
    for kernel in runs {
        let all: Vec<&Settled> = kernel.iter().map(Option::as_ref).collect::<Option<_>>()?;
        if all.is_empty() {
            return None;
        }
        out.push(all);
    }
    Some(out).filter(|all| !all.is_empty())
}

/// The workload of settled rates, or of the means over so much time from the start. Of scores alone that count units a
/// second, the higher the better.
fn workload(w: &Workload, name: &str, of: &[Vec<&Settled>], mean_over_ms: Option<u64>) -> Workload {
    let rate = |settled: &Settled, name: &str| {
        let r = settled.rates.iter().find(|r| r.name == name)?;
        Some(match mean_over_ms {
            None => r.per_second,
            Some(ms) => {
                let all_s = ms as f64 / 1000.0;
                let before_s = settled.after_s.min(all_s);
                (r.before_per_second * before_s + r.per_second * (all_s - before_s)) / all_s
            }
        })
    };
    let metric = |m: &Metric| {
        let samples: Option<Vec<Vec<f64>>> =
            of.iter().map(|runs| runs.iter().map(|s| rate(s, &m.name)).collect()).collect();
        Some(Metric { samples: samples?, ..m.clone() })
    };
    let counted = w.metrics.iter().filter(|m| m.better == Better::Higher && m.unit.ends_with("/s"));
    Workload {
        name: name.to_string(),
        metrics: counted.filter_map(metric).collect(),
        runs: w.runs.clone(),
        ..Workload::default()
    }
}

/// When the slowest way to run the program had settled, by the median of its runs, ms.
fn slowest_ms(of: &[Vec<&Settled>]) -> u64 {
    let median = |runs: &Vec<&Settled>| describe::median(&runs.iter().map(|s| s.after_s).collect::<Vec<_>>());
    (of.iter().filter_map(median).fold(0.0, f64::max) * 1000.0).round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Kernel;
    use crate::origin::Origin;
    use numalab_model::experiment::Prediction;
    use numalab_model::record::SettledRate;

    fn settled(after_s: f64, before: f64, rate: f64) -> Option<Settled> {
        let rates = vec![SettledRate { name: "swept".into(), per_second: rate, before_per_second: before }];
        Some(Settled { after_s, rates, ..Settled::default() })
    }

    fn comparison(horizon_ms: Option<u64>) -> Comparison {
        let simulated = vec![Simulated {
            workload: "w".into(),
            memory_bytes: 1 << 30,
            threads: 8,
            time_ms: 40_000,
            settled_after_ms: None,
            until_settled: false,
        }];
        let prediction = Prediction { memory_bytes: 64 << 30, threads: 64, simulated, horizon_ms };
        let metrics = vec![Metric::new("swept", "MB/s", true, vec![vec![90.0], vec![95.0]])];
        Comparison {
            kernels: vec![Kernel::named("on"), Kernel::named("interleave")],
            workloads: vec![Workload { name: "w".into(), metrics, ..Workload::default() }],
            origin: Some(Origin { prediction: Some(prediction), ..Origin::default() }),
            ..Comparison::default()
        }
    }

    fn add_to(c: &mut Comparison, on: Option<Settled>, interleave: Option<Settled>) {
        add(c, &[vec![vec![on], vec![interleave]]]);
    }

    #[test]
    fn settled_rates_stand_beside_what_was_run() {
        let mut c = comparison(None);
        add_to(&mut c, settled(14.0, 60.0, 110.0), settled(0.0, 0.0, 100.0));
        assert_eq!((&*c.workloads[1].name, &*c.workloads[2].name), ("w until settled", "w once settled"));
        assert_eq!(c.workloads[1].metrics[0].samples, [[60.0], [100.0]]);
        assert_eq!(c.workloads[2].metrics[0].samples, [[110.0], [100.0]]);
        let p = c.origin.unwrap().prediction.unwrap();
        assert_eq!((p.simulated.len(), p.simulated[2].settled_after_ms), (3, Some(14_000)));
        assert_eq!(p.simulated[1].text(), "1 GiB, 8 threads, first 14 s");
    }

    #[test]
    fn a_horizon_counts_what_it_takes_to_get_there() {
        let mut c = comparison(Some(28_000));
        add_to(&mut c, settled(14.0, 60.0, 110.0), settled(0.0, 0.0, 100.0));
        assert_eq!(c.workloads[2].name, "w over 28 s");
        assert_eq!(c.workloads[2].metrics[0].samples, [[85.0], [100.0]]);
    }

    #[test]
    fn one_run_that_has_not_settled_takes_it_away() {
        let mut c = comparison(None);
        add_to(&mut c, settled(14.0, 60.0, 110.0), None);
        assert_eq!((c.workloads.len(), c.origin.unwrap().prediction.unwrap().simulated.len()), (1, 1));
    }
}
