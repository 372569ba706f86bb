//! The answer of several outcomes, in the words of the command.

use numalab_model::record::Outcome;
use numalab_report::collect::{collect, WorkloadRuns};
use numalab_report::columns;
use numalab_report::data::Kernel;
use numalab_report::derive;
use numalab_report::origin::{made_by, Origin};
use numalab_report::settled;
use numalab_report::text::answer;
use numalab_report::verdict::decide;
use serde::Deserialize;
use serde_json::{json, Value};

/// Outcomes to be compared.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Compared {
    /// Name of the machine.
    pub machine: String,
    /// Name of the workload.
    pub workload: String,
    /// Seeds of the runs of each kernel.
    pub seeds: Vec<u64>,
    /// Kernels and the outcomes of their runs, the baseline first.
    pub kernels: Vec<(String, Vec<Outcome>)>,
}

/// Label and sentence of each line that `numalab run` would print below its runs.
///
/// # Errors
/// None in practice: the built-in columns are valid.
pub fn answer(c: &Compared) -> Result<Value, String> {
    let kernel = |name: &str| Kernel { mark: "sim".into(), ..Kernel::named(name) };
    let kernels = c.kernels.iter().map(|k| kernel(&k.0)).collect();
    let runs = c.kernels.iter().map(|k| k.1.iter().collect()).collect();
    let workloads = [WorkloadRuns { name: c.workload.clone(), runs }];
    let mut comparison = collect(kernels, 0, &workloads);
    derive::apply(&mut comparison, &columns::built_in().map_err(|e| e.to_string())?);
    let count = c.kernels.iter().map(|k| k.1.len()).sum();
    comparison.origin = Some(Origin {
        machines: vec![c.machine.clone()],
        workloads: vec![c.workload.clone()],
        runs_each: c.kernels.first().map(|k| k.1.len()),
        recorded: count,
        asked: count,
        seeds: c.seeds.clone(),
        backends: vec!["sim".into()],
        versions: vec![made_by("sim", numalab_sim::VERSION)],
        ..Origin::default()
    });
    comparison.axes.push(("machine".into(), c.machine.clone()));
    settled::add(&mut comparison, &workloads.each_ref().map(settled::of_runs));
    let decision = decide(&comparison);
    Ok(answer::lines(&comparison, &decision).into_iter().map(|(label, text)| json!([label, text])).collect())
}
