//! `--metric NAME`: a comparison cut down to some of its figures.
//!
//! Whatever a figure was (score, time, derived column, counter, reason), it becomes a metric of the smaller comparison, so
//! that counters get statistics, percentages and stars too. Holm's correction then counts the rows that are left.

use numalab_model::spec::SpecError;

use crate::data::{Comparison, Metric, Workload};
use crate::json::every_metric;

/// What messages call the place of a name.
const PLACE: &str = "--metric";

/// The figures named, in the order they are named; `WORKLOAD/METRIC` takes one from a single workload.
///
/// # Errors
/// A name that no workload has, with the nearest one.
pub fn select(c: &Comparison, names: &[String]) -> Result<Comparison, SpecError> {
    let mut found = vec![false; names.len()];
    let mut workloads = Vec::new();
    for w in &c.workloads {
        let figures = every_metric(w);
        let mut metrics: Vec<Metric> = Vec::new();
        for (i, name) in names.iter().enumerate() {
            let wanted = |m: &&Metric| m.name == *name || *name == format!("{}/{}", w.name, m.name);
            let Some(m) = figures.iter().find(wanted) else { continue };
            found[i] = true;
            if metrics.iter().all(|old| old.name != m.name) {
                metrics.push(m.clone());
            }
        }
        if !metrics.is_empty() {
            let kept =
                Workload { metrics, counters: Vec::new(), reasons: Vec::new(), derived: Vec::new(), ..w.clone() };
            workloads.push(Workload { durations: vec![None; c.kernels.len()], ..kept });
        }
    }
    if let Some(i) = found.iter().position(|f| !f) {
        return Err(unknown(c, &names[i]));
    }
    Ok(Comparison { workloads, ..c.clone() })
}

fn unknown(c: &Comparison, name: &str) -> SpecError {
    let metrics: Vec<Metric> = c.workloads.iter().flat_map(every_metric).collect();
    let bare = name.rsplit('/').next().unwrap_or(name);
    SpecError::plain(
        PLACE,
        format!("no metric `{name}`"),
        "a metric, derived column, counter or reason of this comparison",
    )
    .near(bare, metrics.iter().map(|m| m.name.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Counter, Kernel};

    fn comparison() -> Comparison {
        let w = |name: &str| Workload {
            name: name.into(),
            metrics: vec![Metric::new("elapsed", "s", false, vec![vec![1.0], vec![2.0]])],
            counters: vec![Counter { name: "numa_hint_faults".into(), samples: vec![vec![5.0], vec![7.0]] }],
            ..Workload::default()
        };
        let kernels = ["a", "b"].map(Kernel::named).to_vec();
        Comparison { kernels, workloads: vec![w("x"), w("y")], ..Comparison::default() }
    }

    fn names(c: &Comparison) -> Vec<String> {
        let one = |w: &Workload| w.metrics.iter().map(|m| format!("{}/{}", w.name, m.name)).collect::<Vec<_>>();
        c.workloads.iter().flat_map(one).collect()
    }

    #[test]
    fn figures_are_kept_by_name_and_counters_become_metrics() {
        let pick = |list: &[&str]| select(&comparison(), &list.iter().map(|n| (*n).into()).collect::<Vec<_>>());
        assert_eq!(names(&pick(&["numa_hint_faults"]).unwrap()), ["x/numa_hint_faults", "y/numa_hint_faults"]);
        assert_eq!(names(&pick(&["y/elapsed", "elapsed"]).unwrap()), ["x/elapsed", "y/elapsed"]);
        assert_eq!(names(&pick(&["y/elapsed"]).unwrap()), ["y/elapsed"]);
        assert!(pick(&["y/elapsed"]).unwrap().workloads[0].counters.is_empty());
        let e = pick(&["elapsed", "numa_hint_fault"]).unwrap_err();
        assert_eq!(e.nearest.as_deref(), Some("numa_hint_faults"), "{e}");
        assert!(pick(&["z/elapsed"]).is_err());
    }
}
