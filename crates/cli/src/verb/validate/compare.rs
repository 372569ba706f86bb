//! The comparison of a kernel with the simulator: for every counter, reason and node, the values of both.

use super::measured::Measured;
use super::placement::{by_fullness, pages_on_nodes};
use super::row::{rows, Row};
use super::shares::{self, Share};
use numalab_model::record::{Outcome, Status};
use numalab_report::order::unique;
use serde::Serialize;

/// Counters to compare, in the order of the table. A counter that one side lacks is left out.
const COUNTERS: [&str; 16] = [
    "numa_pte_updates",
    "numa_huge_pte_updates",
    "numa_hint_faults",
    "numa_hint_faults_local",
    "numa_pages_migrated",
    "pgmigrate_success",
    "pgmigrate_fail",
    "thp_migration_success",
    "thp_migration_fail",
    "numa_hit",
    "numa_local",
    "numa_other",
    "pgfault",
    "pgreuse",
    "thp_fault_alloc",
    "task_waits",
];
/// The rows of a workload.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Workload {
    /// Name.
    pub name: String,
    /// Figures that both sides have, without those that are 0 on both.
    pub rows: Vec<Row>,
    /// Pages at the end of each process, on the fullest node, the next one, and so on.
    pub placement: Vec<Row>,
    /// With timing `counters`: what does not depend on the clock.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub shares: Vec<Share>,
}

/// Compares the completed runs of both sides by workload. With runs `by_turns`, in which the CPUs of the model take
/// turns, the guest's clock is the host's: only what is counted is compared, and shares are added.
pub fn compare(kernel: &[Measured], model: &[Measured], by_turns: Option<&[Measured]>) -> Vec<Workload> {
    let times = by_turns.is_none();
    let names = unique(kernel.iter().map(|m| m.input.plan.workload.name.as_str()));
    let counts =
        |m: &&Measured, name: &str| m.outcome.status == Status::Completed && m.input.plan.workload.name == name;
    let of =
        |side: &'_ [Measured], name: &str, f: &dyn Fn(&Outcome) -> Vec<(String, f64)>| -> Vec<Vec<(String, f64)>> {
            side.iter().filter(|m| counts(m, name)).map(|m| f(&m.outcome)).collect()
        };
    let shares_of = |name: &str, by_turns: &[Measured]| {
        let [kernel, model, by_turns] =
            [kernel, model, by_turns].map(|side| side.iter().filter(|m| counts(m, name)).collect::<Vec<_>>());
        shares::compare(&kernel, &model, &by_turns)
    };
    let workload = |name: &&str| Workload {
        name: (*name).into(),
        shares: by_turns.map(|runs| shares_of(name, runs)).unwrap_or_default(),
        rows: rows(&of(kernel, name, &|o| figures(o, times)), &of(model, name, &|o| figures(o, times))),
        placement: rows(&of(kernel, name, &by_fullness), &of(model, name, &by_fullness)),
    };
    names.iter().map(workload).collect()
}

/// Every figure of an outcome that can be compared, by name; with its times and scores only if `times` is set.
fn figures(o: &Outcome, times: bool) -> Vec<(String, f64)> {
    let scalars = o.scalars.iter().filter(|_| times);
    let mut out: Vec<(String, f64)> = scalars.map(|s| (format!("{} [{}]", s.name, s.unit), s.value)).collect();
    let counter = |name: &&str| o.counters.iter().find(|c| c.0 == **name).map(|c| (c.0.clone(), c.1 as f64));
    out.extend(COUNTERS.iter().filter_map(counter));
    out.extend(o.reasons.iter().map(|r| (r.0.clone(), r.1 as f64)));
    out.extend(pages_on_nodes(o));
    out
}

#[cfg(test)]
mod tests {
    use super::super::captured;
    use super::super::measured::timeouts;
    use super::*;
    use crate::context::Context;
    use numalab_model::catalog::Kind;
    use numalab_model::counters::BALANCING;
    use numalab_model::record::Scalar;

    #[test]
    fn every_compared_counter_is_in_the_dictionary() {
        for name in COUNTERS.iter().chain(&BALANCING) {
            assert!(numalab_model::counters::find(name).is_some(), "{name}");
        }
    }

    /// Two runs of a workload. The first completed and took 5 s of user time; the second is as given.
    fn side(second: Status, user_s: f64) -> Vec<Measured> {
        let context = Context::new(None).unwrap();
        let file = context.catalog.get(Kind::Experiment, "validate").unwrap();
        let mut experiment = numalab_model::experiment::parse(&file.label, &file.text).unwrap().1;
        experiment.workloads.truncate(1);
        experiment.params.retain(|p| p.workload.as_deref() == Some("numa01"));
        experiment.iterations = 2;
        let mut out = captured::plans(&context, &experiment);
        for (m, value) in out.iter_mut().zip([5.0, user_s]) {
            m.outcome.scalars =
                vec![Scalar { name: "user_s".into(), value, unit: "s".into(), higher_is_better: false }];
        }
        out[1].outcome.status = second;
        out
    }

    #[test]
    fn a_run_that_reached_its_limit_is_named_and_not_compared() {
        let (cut, whole) = (side(Status::Timeout, 1.0), side(Status::Completed, 5.0));
        for (kernel, model) in [(&cut, &whole), (&whole, &cut)] {
            let row = &compare(kernel, model, None)[0].rows[0];
            assert_eq!((row.min, row.max, row.simulated), (5.0, 5.0, 5.0), "{row:?}");
        }
        let late = timeouts("never", whole.iter().chain(&cut));
        assert_eq!(late.len(), 1);
        assert!(late[0].contains(" numa01 6.12 seed 2 with huge pages never"), "{late:?}");
    }
}
