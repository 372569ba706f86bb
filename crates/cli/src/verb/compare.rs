//! `numalab compare`: the records of an experiment as one report.

use crate::failure::{note, Done, Exit, Failure};
use numalab_model::record::{Outcome, Record, Store};
use numalab_model::spec::SpecError;
use numalab_report::collect::{collect, WorkloadRuns};
use numalab_report::data::{Comparison, Kernel};
use numalab_report::{columns, json, text};
use std::path::PathBuf;

/// Arguments of `compare`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Directory that `numalab run` wrote
    dir: PathBuf,
    /// Kernel to compare with; the experiment's own baseline if not given
    #[arg(long, value_name = "K")]
    baseline: Option<String>,
    /// Print the figures as JSON (docs/json.md)
    #[arg(long)]
    json: bool,
}

/// Prints the comparison; a run without a record is a finding.
///
/// # Errors
/// Not an experiment's directory, an unknown baseline, or a damaged record.
pub fn run(args: &Args) -> Result<Done, Failure> {
    let store = Store::open(&args.dir)?;
    let (comparison, missing) = load(&store, args.baseline.as_deref())?;
    if missing > 0 {
        let all = store.file().runs.len();
        note(&format!(
            "numalab: {missing} of {all} runs have no record yet; `numalab run` with the same arguments resumes"
        ));
    }
    let text = if args.json { as_json(&comparison)? } else { as_text(&comparison) };
    Ok(Done { text, exit: if missing > 0 { Exit::Finding } else { Exit::Ok } })
}

/// The comparison of an experiment's records, and how many runs have none.
///
/// # Errors
/// See [`run`].
pub fn load(store: &Store, baseline: Option<&str>) -> Result<(Comparison, usize), Failure> {
    let runs = &store.file().runs;
    let kernels = in_order(runs.iter().map(|r| r.kernel.as_str()));
    let baseline = baseline.unwrap_or(&store.file().baseline);
    let index = kernels.iter().position(|k| *k == baseline).ok_or_else(|| {
        let expected = format!("one of {}", kernels.join(", "));
        SpecError::plain("--baseline", format!("no kernel `{baseline}` in this experiment"), expected)
            .near(baseline, kernels.iter().copied())
    })?;
    let machines = in_order(runs.iter().map(|r| r.machine.as_str()));
    let workloads = in_order(runs.iter().map(|r| r.workload.as_str()));
    let mut missing = 0;
    let mut backends: Vec<String> = Vec::new();
    let mut outcomes: Vec<(String, Vec<Vec<Outcome>>)> = Vec::new();
    for machine in &machines {
        for workload in &workloads {
            let mut by_kernel = vec![Vec::new(); kernels.len()];
            for member in runs.iter().filter(|r| r.machine == *machine && r.workload == *workload) {
                let Some(record) = store.record(member)? else {
                    missing += 1;
                    continue;
                };
                let backend = mark(&record);
                if !backends.contains(&backend) {
                    backends.push(backend);
                }
                let column = kernels.iter().position(|k| *k == member.kernel).unwrap_or(0);
                by_kernel[column].push(Outcome { series: Vec::new(), ..record.outcome });
            }
            if by_kernel.iter().any(|k| !k.is_empty()) {
                // With one machine its name would only make every title longer.
                let name = if machines.len() > 1 { format!("{workload} on {machine}") } else { workload.to_string() };
                outcomes.push((name, by_kernel));
            }
        }
    }
    let columns: Vec<Kernel> = kernels.iter().map(|k| column(k, &backends)).collect();
    let runs: Vec<WorkloadRuns<'_>> = outcomes
        .iter()
        .map(|(name, by_kernel)| WorkloadRuns {
            name: name.clone(),
            runs: by_kernel.iter().map(|k| k.iter().collect()).collect(),
        })
        .collect();
    let mut comparison = collect(columns, index, &runs);
    columns::apply(&mut comparison, &columns::built_in()?);
    comparison.axes.push(("machine".into(), machines.join(", ")));
    Ok((comparison, missing))
}

/// The comparison in the layout of mmtests.
pub fn as_text(comparison: &Comparison) -> String {
    text::mmtests::report(comparison, &text::mmtests::Options::default())
}

/// The comparison as JSON.
///
/// # Errors
/// None in practice.
pub fn as_json(comparison: &Comparison) -> Result<String, Failure> {
    json::report(comparison).map_err(|e| Failure::environment(e.to_string()))
}

/// A column; a figure that no machine produced is marked as such.
fn column(name: &str, backends: &[String]) -> Kernel {
    let mark = backends.iter().find(|b| *b != "host").cloned().unwrap_or_default();
    Kernel { name: name.to_string(), mark }
}

/// Backend of a record, with the timing mode where there are several.
fn mark(record: &Record) -> String {
    let backend = record.manifest.plan.backend.clone();
    let timing = record.outcome.tunables.iter().find(|t| t.name == "guest.timing");
    timing.map_or(backend.clone(), |t| format!("{backend}-{}", t.value))
}

fn in_order<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut out: Vec<&str> = Vec::new();
    for name in names {
        if !out.contains(&name) {
            out.push(name);
        }
    }
    out
}
