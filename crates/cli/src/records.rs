//! The records of an experiment, read back and lined up for a report.

use crate::failure::Failure;
use numalab_model::record::{Manifest, Outcome, Store};
use numalab_model::spec::SpecError;
use numalab_report::collect::{collect, WorkloadRuns};
use numalab_report::columns;
use numalab_report::data::{Comparison, Kernel};

/// Whether time series are kept; only the page needs them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Series {
    /// Kept.
    Keep,
    /// Dropped as soon as a record is read.
    Drop,
}

/// A run that has a record.
#[derive(Debug)]
pub struct Run {
    /// Index of its workload in the comparison.
    pub workload: usize,
    /// Index of its kernel in the comparison.
    pub kernel: usize,
    /// What was asked.
    pub manifest: Manifest,
    /// What was measured.
    pub outcome: Outcome,
}

/// An experiment's records.
#[derive(Debug)]
pub struct Loaded {
    /// Kernels on workloads, with derived columns.
    pub comparison: Comparison,
    /// Runs of the experiment that have no record.
    pub missing: usize,
    /// The others: by workload, then kernel, then seed as the experiment lists them.
    pub runs: Vec<Run>,
}

/// Reads all records of an experiment; with several machines a workload is called `NAME on MACHINE`.
///
/// # Errors
/// An unknown baseline or a damaged record.
pub fn load(store: &Store, baseline: Option<&str>, series: Series) -> Result<Loaded, Failure> {
    let members = &store.file().runs;
    let kernels = in_order(members.iter().map(|r| r.kernel.as_str()));
    let baseline = baseline_index(&kernels, baseline.unwrap_or(&store.file().baseline))?;
    let machines = in_order(members.iter().map(|r| r.machine.as_str()));
    let workloads = in_order(members.iter().map(|r| r.workload.as_str()));
    let (mut missing, mut names, mut runs) = (0, Vec::new(), Vec::<Run>::new());
    for machine in &machines {
        for workload in &workloads {
            let before = runs.len();
            for member in members.iter().filter(|r| r.machine == *machine && r.workload == *workload) {
                let Some(record) = store.record(member)? else {
                    missing += 1;
                    continue;
                };
                let mut outcome = record.outcome;
                if series == Series::Drop {
                    outcome.series = Vec::new();
                }
                let kernel = kernels.iter().position(|k| *k == member.kernel).unwrap_or(0);
                runs.push(Run { workload: names.len(), kernel, manifest: record.manifest, outcome });
            }
            if runs.len() > before {
                // With one machine its name would only make every title longer.
                names.push(if machines.len() > 1 { format!("{workload} on {machine}") } else { workload.to_string() });
            }
        }
    }
    runs.sort_by_key(|r| (r.workload, r.kernel));
    let columns: Vec<Kernel> = kernels.iter().enumerate().map(|(k, name)| column(name, k, &runs)).collect();
    let mut comparison = collect(columns, baseline, &by_workload(&names, kernels.len(), &runs));
    columns::apply(&mut comparison, &columns::built_in()?);
    comparison.axes.push(("machine".into(), machines.join(", ")));
    Ok(Loaded { comparison, missing, runs })
}

fn baseline_index(kernels: &[&str], name: &str) -> Result<usize, SpecError> {
    kernels.iter().position(|k| *k == name).ok_or_else(|| {
        let expected = format!("one of {}", kernels.join(", "));
        SpecError::plain("--baseline", format!("no kernel `{name}` in this experiment"), expected)
            .near(name, kernels.iter().copied())
    })
}

fn by_workload<'a>(names: &[String], kernels: usize, runs: &'a [Run]) -> Vec<WorkloadRuns<'a>> {
    let of =
        |w: usize, k: usize| runs.iter().filter(|r| (r.workload, r.kernel) == (w, k)).map(|r| &r.outcome).collect();
    let one = |(w, name): (usize, &String)| WorkloadRuns {
        name: name.clone(),
        runs: (0..kernels).map(|k| of(w, k)).collect(),
    };
    names.iter().enumerate().map(one).collect()
}

/// A column; a figure that no machine produced is marked with the backend that did.
fn column(name: &str, kernel: usize, runs: &[Run]) -> Kernel {
    let backend = |r: &Run| r.manifest.plan.backend.clone();
    let mark = runs.iter().filter(|r| r.kernel == kernel).map(backend).find(|b| b != "host").unwrap_or_default();
    Kernel { name: name.to_string(), mark }
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
