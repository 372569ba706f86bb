//! `--metric NAME`: a comparison of some of the figures only.
//!
//! Every figure (score, time, derived column, counter, reason) becomes a metric of the smaller comparison, so counters
//! get statistics, percentages and stars too. Holm's correction then counts the remaining rows.

use numalab_model::spec::{nearest, SpecError};

use crate::data::{Comparison, Metric, Workload};
use crate::figures::every_metric;

/// Name of the option, the place in error messages.
const PLACE: &str = "--metric";

/// The comparison with the named figures only, in the order of `names`. `WORKLOAD/METRIC` takes a figure of a single
/// workload.
///
/// # Errors
/// A name that no workload has, with the nearest valid name.
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
    let e = SpecError::plain(
        PLACE,
        format!("no metric `{name}`"),
        "a metric, derived column, counter or reason of this comparison, or WORKLOAD/METRIC",
    );
    SpecError { nearest: suggestion(c, name), ..e }
}

/// The nearest valid name in the form that was given. If no workload has a similar name, the metric alone is suggested.
fn suggestion(c: &Comparison, name: &str) -> Option<String> {
    let Some((place, metric)) = name.rsplit_once('/') else { return near(name, &c.workloads) };
    // With several machines a workload is called `PROGRAM on MACHINE`, which is not similar to PROGRAM.
    let program = nearest(place, c.workloads.iter().map(Workload::program));
    let meant = nearest(place, c.workloads.iter().map(|w| w.name.as_str()).filter(|_| place.contains(" on ")));
    let meant = c.workloads.iter().find(|w| match &meant {
        Some(whole) => *whole == w.name,
        None => program.as_deref() == Some(w.program()),
    });
    match meant {
        Some(w) => near(metric, [w]).map(|m| format!("{}/{m}", w.name)),
        None => near(metric, &c.workloads),
    }
}

/// The nearest name of a metric of these workloads.
fn near<'a>(name: &str, workloads: impl IntoIterator<Item = &'a Workload>) -> Option<String> {
    let metrics: Vec<Metric> = workloads.into_iter().flat_map(every_metric).collect();
    nearest(name, metrics.iter().map(|m| m.name.as_str()))
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

    #[test]
    fn the_whole_form_is_suggested() {
        let near = |c: &Comparison, name: &str| select(c, &[name.into()]).unwrap_err().nearest;
        let mut c = comparison();
        c.workloads[0].name = "numa02".into();
        c.workloads[1].name = "stream".into();
        assert_eq!(near(&c, "nuam02/elapsed").as_deref(), Some("numa02/elapsed"));
        assert_eq!(near(&c, "stream/elapsd").as_deref(), Some("stream/elapsed"));
        assert_eq!(near(&c, "strem/numa_hint_fault").as_deref(), Some("stream/numa_hint_faults"));
        assert_eq!(near(&c, "elapsd").as_deref(), Some("elapsed"));
        assert_eq!(near(&c, "xyz/elapsed").as_deref(), Some("elapsed"), "no workload is near");
        assert_eq!(near(&c, "numa02/xyz"), None);
        for (w, machine) in c.workloads.iter_mut().zip(["2x1x2x1", "4x1x2x1"]) {
            w.name = format!("numa02 on {machine}");
            w.machine = Some(machine.into());
        }
        assert_eq!(near(&c, "numa02/elapsed").as_deref(), Some("numa02 on 2x1x2x1/elapsed"));
        assert_eq!(near(&c, "nuam02/elapsed").as_deref(), Some("numa02 on 2x1x2x1/elapsed"));
        assert_eq!(near(&c, "numa02 on 4x1x2x2/elapsed").as_deref(), Some("numa02 on 4x1x2x1/elapsed"));
    }
}
