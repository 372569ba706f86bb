//! The comparison of a kernel with the simulator: for every counter, reason and node, the values of both and their
//! ratio.

use super::shares::{self, Share};
use super::{calibrate, Compared, Measured};
use numalab_model::counters::BALANCING;
use numalab_model::record::{Outcome, Series, Status};
use numalab_report::order::unique;
use numalab_stats::describe;
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
/// Largest factor outside the kernel's own range at which a figure counts as close.
pub const CLOSE: f64 = 1.25;
/// Largest factor outside the kernel's own range at which a figure counts as near.
pub const NEAR: f64 = 2.0;

/// A figure of the kernel and of the simulator.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// Counter, reason, score, or `pages on nodeN`.
    pub name: String,
    /// Smallest of the kernel's runs.
    pub min: f64,
    /// Median of the kernel's runs.
    pub median: f64,
    /// Largest of the kernel's runs.
    pub max: f64,
    /// Median of the simulator's runs.
    pub simulated: f64,
}

impl Row {
    /// The simulated value divided by the kernel's median; `None` if the median is 0.
    pub fn ratio(&self) -> Option<f64> {
        (self.median != 0.0).then(|| self.simulated / self.median)
    }
    /// Distance of the simulated value from the kernel's own range: 1 inside the range, else the factor to its nearer
    /// end.
    pub fn off_by(&self) -> f64 {
        let (low, high) = (self.min, self.max);
        if (low..=high).contains(&self.simulated) {
            return 1.0;
        }
        let end = if self.simulated < low { low } else { high };
        let (small, large) = if end < self.simulated { (end, self.simulated) } else { (self.simulated, end) };
        if small > 0.0 {
            large / small
        } else {
            f64::INFINITY
        }
    }
    /// The distance as a character: `=` inside, `+` close, `~` near, `!` further off.
    pub fn mark(&self) -> char {
        match self.off_by() {
            1.0 => '=',
            d if d <= CLOSE => '+',
            d if d <= NEAR => '~',
            _ => '!',
        }
    }
}

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

/// Compares the completed runs of both sides by workload. With runs `by_turns`, in which the CPUs of the model take turns, the
/// guest's clock is the host's: only what is counted is compared, and shares are added.
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

/// The rows of the figures that both sides have.
pub(super) fn rows(kernel: &[Vec<(String, f64)>], model: &[Vec<(String, f64)>]) -> Vec<Row> {
    let values = |side: &[Vec<(String, f64)>], name: &str| -> Vec<f64> {
        side.iter().filter_map(|run| run.iter().find(|f| f.0 == name)).map(|f| f.1).collect()
    };
    let Some(first) = kernel.first() else { return Vec::new() };
    let row = |name: &str| -> Option<Row> {
        let k = values(kernel, name);
        let (min, median, max) = (describe::min(&k)?, describe::median(&k)?, describe::max(&k)?);
        let simulated = describe::median(&values(model, name))?;
        let row = Row { name: name.into(), min, median, max, simulated };
        // Every program is judged by the counters of balancing, zero or not.
        (row.max != 0.0 || row.simulated != 0.0 || BALANCING.contains(&name)).then_some(row)
    };
    first.iter().filter_map(|f| row(&f.0)).collect()
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

/// Pages of the workload on each node at the end of each process: the kernel's own placement if it was read, else the
/// last sample of the process that has pages.
pub(super) fn pages_on_nodes(o: &Outcome) -> Vec<(String, f64)> {
    let find = |name: &str| o.series.iter().find(|s| s.name == name);
    let Some(series) = find("placement").or_else(|| find("process_pages")) else { return Vec::new() };
    let mut sums: Vec<(String, f64)> = Vec::new();
    for (node, last) in last_by_node(series) {
        let name = format!("pages on {node}");
        match sums.iter_mut().find(|s| s.0 == name) {
            Some(s) => s.1 += last,
            None => sums.push((name, last)),
        }
    }
    sums.sort_by(|a, b| a.0.cmp(&b.0));
    sums
}

/// Pages of the workload at the end, with the fullest node first, since chance decides which node that is.
fn by_fullness(o: &Outcome) -> Vec<(String, f64)> {
    let mut pages: Vec<f64> = pages_on_nodes(o).into_iter().map(|p| p.1).collect();
    pages.sort_by(|a, b| b.total_cmp(a));
    pages.into_iter().enumerate().map(|(i, p)| (format!("{}", i + 1), p)).collect()
}

/// Node and last value of every column that counts pages on a node. The columns of one owner (a process, or a region of
/// one) are adjacent. They are read at the last sample in which one of them has pages, since an ended process has none.
fn last_by_node(series: &Series) -> Vec<(&str, f64)> {
    let of_nodes = series.columns.iter().zip(&series.values).filter_map(|(name, values)| {
        let (owner, node) = name.rsplit_once('/').filter(|n| n.1.starts_with("node"))?;
        Some((owner, node, values))
    });
    let columns: Vec<_> = of_nodes.collect();
    let at_end = |of_owner: &[(&str, &str, &Vec<f64>)]| -> Vec<f64> {
        let last = of_owner.iter().filter_map(|(.., v)| v.iter().rposition(|pages| *pages > 0.0)).max();
        of_owner.iter().map(|(.., v)| last.and_then(|i| v.get(i)).map_or(0.0, |pages| *pages)).collect()
    };
    let values = columns.chunk_by(|a, b| a.0 == b.0).flat_map(at_end);
    columns.iter().map(|c| c.1).zip(values).collect()
}

/// The tables of an image and their score.
pub fn text(of: &Compared) -> String {
    let mut out = format!("{} on {} against the simulated {}\n", of.image, of.machine, of.kernel);
    out += &calibrate::text(&of.calibration);
    for side in &of.thp {
        out += &format!("\nhuge pages: {}\n", side.thp);
        out += &tables(&side.workloads);
    }
    for run in &of.timeouts {
        out += &format!("not compared, it reached its limit of time: {run}\n");
    }
    out
}

/// The rows of every workload, and the score.
fn tables(report: &[Workload]) -> String {
    let mut out = String::new();
    for w in report {
        out += &format!(
            "\n{:<30}{:>12}{:>12}{:>12}{:>14}{:>8}\n",
            w.name, "kernel min", "median", "max", "simulated", "ratio"
        );
        for r in &w.rows {
            let ratio = r.ratio().map_or("-".into(), |x| format!("{x:.2}"));
            let (min, median, max, sim) = (short(r.min), short(r.median), short(r.max), short(r.simulated));
            out += &format!("{:<30}{min:>12}{median:>12}{max:>12}{sim:>14}{ratio:>8} {}\n", r.name, r.mark());
        }
        out += &shares::text(&w.shares);
    }
    let all: Vec<&Row> = report.iter().flat_map(|w| &w.rows).collect();
    let within = |limit: f64| all.iter().filter(|r| r.off_by() <= limit).count();
    out += &format!(
        "\n{} figures: {} inside the kernel's own range, {} within {CLOSE} of it, {} within {NEAR}\n",
        all.len(),
        within(1.0),
        within(CLOSE),
        within(NEAR)
    );
    out += "= inside the range   + within 1.25 of it   ~ within 2   ! further off\n";
    let score = shares::score(report.iter().flat_map(|w| &w.shares));
    if !score.is_empty() {
        out += &format!("\n{score}\n* tells them apart\n");
    }
    out
}

/// A figure with two decimals, or none if it is whole or large.
fn short(v: f64) -> String {
    if v.fract() == 0.0 || v.abs() >= 1e5 {
        format!("{v:.0}")
    } else {
        format!("{v:.2}")
    }
}

#[cfg(test)]
mod tests {
    use super::super::{captured, timeouts};
    use super::*;
    use crate::context::Context;
    use numalab_model::catalog::Kind;
    use numalab_model::record::Scalar;

    fn row(min: f64, max: f64, simulated: f64) -> Row {
        Row { name: "x".into(), min, median: (min + max) / 2.0, max, simulated }
    }

    #[test]
    fn every_compared_counter_is_in_the_dictionary() {
        for name in COUNTERS.iter().chain(&BALANCING) {
            assert!(numalab_model::counters::find(name).is_some(), "{name}");
        }
    }

    #[test]
    fn the_kernels_own_spread_is_no_miss() {
        assert_eq!(row(10.0, 20.0, 20.0).off_by(), 1.0);
        assert_eq!(row(10.0, 20.0, 40.0).off_by(), 2.0);
        assert_eq!(row(10.0, 20.0, 5.0).off_by(), 2.0);
        assert_eq!(row(0.0, 0.0, 5.0).off_by(), f64::INFINITY);
        assert_eq!(row(4.0, 6.0, 0.0).off_by(), f64::INFINITY);
        assert_eq!(
            [row(1.0, 2.0, 1.5), row(1.0, 2.0, 2.4), row(1.0, 2.0, 4.0), row(1.0, 2.0, 4.1)].map(|r| r.mark()),
            ['=', '+', '~', '!']
        );
    }

    #[test]
    fn rows_need_both_sides_and_something_to_show() {
        let run = |a: f64, b: f64| {
            vec![("a".to_string(), a), ("zero".into(), 0.0), ("kernel only".into(), 1.0), ("b".into(), b)]
        };
        let kernel = [run(1.0, 5.0), run(3.0, 7.0)];
        let model = [vec![("a".to_string(), 2.5), ("zero".into(), 0.0), ("b".into(), 0.0)]];
        let rows = rows(&kernel, &model);
        assert_eq!(rows.iter().map(|r| r.name.as_str()).collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!((rows[0].min, rows[0].median, rows[0].max, rows[0].ratio()), (1.0, 2.0, 3.0, Some(1.25)));
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

    #[test]
    fn pages_are_summed_over_processes_and_regions() {
        let series = Series {
            name: "placement".into(),
            columns: ["a/x/node0", "a/x/absent", "b/x/node0", "b/x/node1"].map(String::from).to_vec(),
            values: vec![vec![1.0], vec![9.0], vec![2.0], vec![4.0]],
            ..Series::default()
        };
        let o = Outcome { series: vec![series], ..Outcome::default() };
        assert_eq!(pages_on_nodes(&o), [("pages on node0".to_string(), 3.0), ("pages on node1".into(), 4.0)]);
    }

    /// A worker counts the pages of a process when that process ends. The last sample of a run has only the pages of
    /// the last process.
    #[test]
    fn pages_of_a_process_that_ends_early_count() {
        let series = Series {
            name: "process_pages".into(),
            columns: ["first/node0", "first/node1", "last/node0", "last/node1", "idle/node0"]
                .map(String::from)
                .to_vec(),
            values: vec![
                vec![8.0, 3.0, 0.0, 0.0],
                vec![0.0, 5.0, 0.0, 0.0],
                vec![2.0, 2.0, 2.0, 0.0],
                vec![0.0, 0.0, 0.0, 2.0],
                vec![0.0, 0.0, 0.0, 0.0],
            ],
            ..Series::default()
        };
        let o = Outcome { series: vec![series], ..Outcome::default() };
        assert_eq!(pages_on_nodes(&o), [("pages on node0".to_string(), 3.0), ("pages on node1".into(), 7.0)]);
        assert_eq!(by_fullness(&o), [("1".to_string(), 7.0), ("2".into(), 3.0)]);
    }
}
