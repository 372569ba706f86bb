//! `advise --out` of a measurement: each measured run as a record, as `run` keeps its own.
//!
//! Ways are columns and rounds are iterations, so `compare`, `report` and Python read the directory as that of an
//! experiment.

use super::args::Args;
use crate::context::{named, Context};
use crate::failure::Failure;
use crate::service::measured_program::{running_kernel, unknown_workload};
use numalab_base::plain_name::plain_name;
use numalab_host::advise::session::Sample;
use numalab_host::advise::Way;
use numalab_host::procfs::Roots;
use numalab_model::experiment::{Axes, Cell, Experiment};
use numalab_model::machine::{from_toml, import};
use numalab_model::plan::{Backend, PlanInput, SourceFile};
use numalab_model::record::{Outcome, Scalar, Store};
use numalab_stats::Better;
use std::path::Path;
use std::sync::Arc;

/// Name of the list of runs.
const EXPERIMENT: &str = "advise";
/// Name of a score that is the user's own.
const METRIC: &str = "metric";

/// A measured run: its round from 1, its way, and what was measured.
pub type Measured = (usize, Way, Sample);

/// Refuses a directory that holds runs already, before anything is measured.
///
/// # Errors
/// There are some.
pub fn check(args: &Args) -> Result<(), Failure> {
    match &args.out {
        Some(dir) if dir.join("experiment.json").exists() => Err(Failure::usage(format!(
            "command line: `--out` is {}, which holds runs already; expected a new directory",
            dir.display()
        ))),
        _ => Ok(()),
    }
}

/// Writes the runs to the directory of `--out`, if it is given. `program` is what was measured.
///
/// # Errors
/// The directory cannot be written.
pub fn keep(context: &Context, args: &Args, program: &str, all: &[Measured]) -> Result<(), Failure> {
    let (Some(dir), false) = (&args.out, all.is_empty()) else { return Ok(()) };
    let text = import::sysfs(Path::new("/"), "host")?;
    let machine = Arc::new(from_toml("host.toml", &text)?);
    let workload = Arc::new(unknown_workload(&plain(program)));
    let source = SourceFile { place: "machines/host.toml".into(), bytes: text.as_bytes().into() };
    let mut columns: Vec<&str> = Vec::new();
    let mut cells = Vec::new();
    for (round, way, _) in all {
        if !columns.contains(&way.name()) {
            columns.push(way.name());
        }
        let kernel = Arc::new(running_kernel(context, &Roots::default(), Some(way.name()))?);
        let version = format!("{} {}", env!("CARGO_PKG_VERSION"), kernel.image.as_deref().unwrap_or_default());
        let backend = Backend { name: "host", version: &version };
        let conditions = vec![("advised".to_string(), program.to_string()), ("way".to_string(), in_words(way))];
        let seed = *round as u64;
        let input = PlanInput::new(backend, Arc::clone(&machine), kernel, Arc::clone(&workload), seed)?;
        let input = input.under(conditions)?.with_sources([source.clone()].into());
        cells.push(Cell { iteration: *round as u32 - 1, input });
    }
    let experiment = Experiment {
        name: EXPERIMENT.into(),
        title: format!("What was measured of {}", plain(program)),
        about: String::new(),
        machines: vec![named(EXPERIMENT, &machine.name)],
        kernels: columns.iter().map(|c| named(EXPERIMENT, c)).collect(),
        workloads: vec![named(EXPERIMENT, &workload.name)],
        baseline: None,
        iterations: all.iter().map(|m| m.0 as u32).max().unwrap_or(1),
        seed: 1,
        sets: vec![],
        params: vec![],
        axes: Axes::default(),
    };
    // The list is in the order of columns.
    let place = |way: &Way| columns.iter().position(|c| *c == way.name());
    let mut order: Vec<usize> = (0..all.len()).collect();
    order.sort_by_key(|&i| (place(&all[i].1), all[i].0));
    let cells: Vec<Cell> = order.iter().map(|&i| cells[i].clone()).collect();
    let store = Store::create(dir, &experiment, &cells)?;
    for (cell, &i) in cells.iter().zip(&order) {
        store.put(&cell.input, &outcome(args, all[i].2))?;
    }
    Ok(store.settle()?)
}

/// A sample as the outcome of a run.
fn outcome(args: &Args, sample: Sample) -> Outcome {
    let scalar = |name: &str, value, unit: &str, higher_is_better| Scalar {
        name: name.into(),
        value,
        unit: unit.into(),
        higher_is_better,
    };
    let is_time = args.metric_cmd.is_none() && args.metric_url.is_none();
    let score = match is_time {
        true => scalar("elapsed_s", sample.score, "s", false),
        false => scalar(METRIC, sample.score, "", args.better() == Better::Higher),
    };
    let costs = sample.costs;
    Outcome {
        scalars: vec![
            score,
            scalar("user_s", costs.user_s, "s", false),
            scalar("system_s", costs.system_s, "s", false),
        ],
        counters: [("numa_hint_faults", costs.hint_faults), ("numa_pages_migrated", costs.moved_bytes / 4096)]
            .map(|(name, value)| (name.into(), value))
            .into(),
        ..Outcome::default()
    }
}

/// A way with the node that it binds to.
fn in_words(way: &Way) -> String {
    way.numactl().map_or_else(|| way.name().to_string(), |options| format!("numactl {options}"))
}

/// The program as the name of a workload: that of its file, in plain characters.
fn plain(program: &str) -> String {
    let first = program.split_whitespace().next().unwrap_or(program);
    let file = if program.starts_with("process ") { program } else { first.rsplit('/').next().unwrap_or(first) };
    plain_name(file, 60, "program")
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn programs_have_plain_names() {
        for (program, name) in
            [("/usr/bin/pgbench -T 30", "pgbench"), ("process 220", "process_220"), ("sh -c x", "sh"), ("", "program")]
        {
            assert_eq!(plain(program), name);
        }
    }
}
