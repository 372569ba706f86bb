//! The records of an experiment, read back and lined up for a report.

use crate::context::Context;
use crate::failure::{Exit, Failure};
use crate::records::comparable::{incomparable, Incomparable};
use crate::records::run::Run;
use numalab_model::plan::KernelPlan;
use numalab_model::record::{Member, Status, Store};
use numalab_model::spec::SpecError;
use numalab_report::collect::{collect, WorkloadRuns};
use numalab_report::data::{Comparison, Kernel};
use numalab_report::derive;
use numalab_report::order::unique;
use numalab_report::origin::{made_by, Origin};
use numalab_report::settled;

/// Whether time series and tunables are kept when records are read. Only the HTML page needs them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Series {
    /// They are kept.
    Keep,
    /// They are dropped as soon as a record is read: some kilobytes are left of it.
    Drop,
}

/// The records of an experiment, lined up for a report.
#[derive(Debug)]
pub struct Loaded {
    /// Kernels on workloads, with derived columns.
    pub comparison: Comparison,
    /// Number of runs of the experiment that have no record.
    pub missing: usize,
    /// One sentence for each kernel whose runs are not comparable with those of the first kernel of their workload.
    pub incomparable: Vec<String>,
    /// Runs that have a record, by workload, then kernel, then seed in the order of the experiment.
    pub runs: Vec<Run>,
}

impl Loaded {
    /// Exit code of a command that shows these records: the largest code of a run, as `numalab run` counts it, and at
    /// least [`Exit::FINDING`] if a run has no record.
    pub fn exit(&self) -> Exit {
        let missing = if self.missing > 0 { Exit::FINDING } else { Exit::OK };
        self.runs.iter().map(|r| Exit::of(&r.outcome.status)).fold(missing, Exit::max)
    }

    /// One sentence for each reason why the figures are not those of all runs of the experiment.
    pub fn remarks(&self) -> Vec<String> {
        let all = self.missing + self.runs.len();
        let mut out = self.incomparable.clone();
        if self.missing > 0 {
            out.push(format!("numalab: {}", no_record(self.missing, all)));
        }
        let incomplete: Vec<String> = self.runs.iter().filter_map(Run::why_incomplete).collect();
        if let Some(first) = incomplete.first() {
            let more = if incomplete.len() > 1 { " (and others)" } else { "" };
            out.push(format!("numalab: {} of {all} runs did not complete: {first}{more}", incomplete.len()));
        }
        out
    }
}

/// The sentence that says how many runs have no record, and which command adds them.
fn no_record(missing: usize, all: usize) -> String {
    format!("{missing} of {all} runs have no record yet; `numalab run` with the same arguments resumes")
}

/// Reads all records of an experiment, with the baseline as the first kernel. With several machines, a workload is
/// called `NAME on MACHINE`.
///
/// # Errors
/// An unknown baseline or a damaged record.
pub fn load(context: &Context, store: &Store, baseline: Option<&str>, series: Series) -> Result<Loaded, Failure> {
    let members = &store.file().runs;
    let mut kernels = unique(members.iter().map(|r| r.kernel.as_str()));
    let listed = match baseline {
        Some(name) => baseline_index(&kernels, "--baseline", name)?,
        None => {
            let place = store.dir().join("experiment.json").display().to_string();
            baseline_index(&kernels, &place, &store.file().baseline)?
        }
    };
    // The baseline becomes the first kernel; the others keep their order.
    kernels[..=listed].rotate_right(1);
    let (blocks, runs) = read_runs(store, &kernels, series)?;
    let columns: Vec<Kernel> = kernels.iter().enumerate().map(|(k, name)| column(name, k, &runs)).collect();
    let mut comparison = collect(columns, 0, &by_workload(&blocks, kernels.len(), &runs));
    for (w, block) in comparison.workloads.iter_mut().zip(&blocks) {
        w.machine.clone_from(&block.machine);
    }
    derive::apply(&mut comparison, &context.columns);
    comparison.origin = Some(origin(store, &runs));
    let machines = unique(members.iter().map(|r| r.machine.as_str()));
    comparison.axes.push(("machine".into(), machines.join(", ")));
    let incomparable = incomparable(blocks.len(), &kernels, &runs);
    for c in &incomparable {
        let w = &mut comparison.workloads[c.workload];
        w.warnings.push(c.sentence.clone());
        w.different_work.resize(kernels.len(), None);
        w.different_work[c.kernel] = Some(c.difference.clone());
    }
    for (index, (w, block)) in comparison.workloads.iter_mut().zip(&blocks).enumerate() {
        w.notes = notes(index, block, &incomparable, &runs);
    }
    settled::add(&mut comparison, &by_workload(&blocks, kernels.len(), &runs));
    let sentence = |c: Incomparable| format!("numalab: {}: {}", blocks[c.workload].name, c.sentence);
    Ok(Loaded {
        missing: members.len() - runs.len(),
        incomparable: incomparable.into_iter().map(sentence).collect(),
        comparison,
        runs,
    })
}

/// One workload on one machine, with at least one record.
struct Block {
    /// Title in reports.
    name: String,
    /// Name of the machine, if the experiment has several.
    machine: Option<String>,
    /// Number of its runs without a record.
    missing: usize,
    /// Number of its runs in the experiment.
    all: usize,
}

/// Reads the records of every machine and workload. Runs are sorted by workload, then kernel.
fn read_runs(store: &Store, kernels: &[&str], series: Series) -> Result<(Vec<Block>, Vec<Run>), Failure> {
    let members = &store.file().runs;
    let machines = unique(members.iter().map(|r| r.machine.as_str()));
    let workloads = unique(members.iter().map(|r| r.workload.as_str()));
    let (mut blocks, mut runs, mut plans) = (Vec::<Block>::new(), Vec::<Run>::new(), Vec::new());
    for machine in &machines {
        for workload in &workloads {
            let (before, mut missing) = (runs.len(), 0);
            for member in members.iter().filter(|r| r.machine == *machine && r.workload == *workload) {
                let Some(record) = store.record(member)? else {
                    missing += 1;
                    continue;
                };
                let kernel = kernels.iter().position(|k| *k == member.kernel).unwrap_or(0);
                let (manifest, outcome) = (record.manifest, record.outcome);
                let mut run = Run { workload: blocks.len(), kernel, manifest, outcome };
                if series == Series::Drop {
                    run.drop_bulk();
                }
                run.share_kernel(&mut plans);
                runs.push(run);
            }
            if runs.len() > before {
                let several = machines.len() > 1;
                blocks.push(Block {
                    name: if several { format!("{workload} on {machine}") } else { workload.to_string() },
                    machine: several.then(|| machine.to_string()),
                    missing,
                    all: runs.len() - before + missing,
                });
            }
        }
    }
    runs.sort_by_key(|r| (r.workload, r.kernel));
    Ok((blocks, runs))
}

/// The sentences of [`Loaded::remarks`] that are about one workload, with one sentence for each incomplete run.
fn notes(workload: usize, block: &Block, incomparable: &[Incomparable], runs: &[Run]) -> Vec<String> {
    let incomparable = incomparable.iter().filter(|c| c.workload == workload).map(|c| c.sentence.clone());
    let missing = (block.missing > 0).then(|| no_record(block.missing, block.all));
    let incomplete = runs.iter().filter(|r| r.workload == workload).filter_map(Run::why_incomplete);
    incomparable.chain(missing).chain(incomplete).collect()
}

/// What was run, for the heading of a report.
fn origin(store: &Store, runs: &[Run]) -> Origin {
    let (file, members) = (store.file(), &store.file().runs);
    let place = |m: &Member| (m.machine.clone(), m.workload.clone(), m.kernel.clone());
    let each = |p: &(String, String, String)| members.iter().filter(|m| place(m) == *p).count();
    let counts = unique(unique(members.iter().map(place)).iter().map(each));
    let mut seeds: Vec<u64> = members.iter().map(|m| m.seed).collect();
    seeds.sort_unstable();
    seeds.dedup();
    let plans = || runs.iter().map(|r| &r.manifest.plan);
    Origin {
        // An experiment of the command line has no title: its machines and workloads describe it.
        title: if file.title == AD_HOC { String::new() } else { format!("{}: {}", file.name, file.title) },
        machines: unique(members.iter().map(|m| m.machine.clone())),
        workloads: unique(members.iter().map(|m| m.workload.clone())),
        runs_each: Some(counts.as_slice()).filter(|c| c.len() == 1).map(|c| c[0]),
        recorded: runs.len(),
        asked: members.len(),
        seeds,
        backends: unique(runs.iter().map(Run::backend_label)),
        versions: unique(plans().map(|p| made_by(&p.backend, &p.version))),
        prediction: file.prediction.clone(),
    }
}

/// Title of an experiment that was given on the command line instead of in a file.
pub const AD_HOC: &str = "given on the command line";

/// Index of the kernel `name`; `place` is where the name was given, for the message.
fn baseline_index(kernels: &[&str], place: &str, name: &str) -> Result<usize, SpecError> {
    kernels.iter().position(|k| *k == name).ok_or_else(|| {
        let expected =
            if kernels.is_empty() { "at least one run".into() } else { format!("one of {}", kernels.join(", ")) };
        SpecError::plain(place, format!("no kernel `{name}` in this experiment"), expected)
            .near(name, kernels.iter().copied())
    })
}

/// The outcomes of each workload, by kernel.
fn by_workload<'a>(blocks: &[Block], kernels: usize, runs: &'a [Run]) -> Vec<WorkloadRuns<'a>> {
    let of =
        |w: usize, k: usize| runs.iter().filter(|r| (r.workload, r.kernel) == (w, k)).map(|r| &r.outcome).collect();
    let one = |(w, block): (usize, &Block)| WorkloadRuns {
        name: block.name.clone(),
        runs: (0..kernels).map(|k| of(w, k)).collect(),
    };
    blocks.iter().enumerate().map(one).collect()
}

/// The heading of a kernel's column. Figures that were not measured on hardware are marked with their backend.
fn column(name: &str, kernel: usize, runs: &[Run]) -> Kernel {
    let mut labels = runs.iter().filter(|r| r.kernel == kernel).map(Run::backend_label);
    let mark = labels.find(|b| b != "host").unwrap_or_default();
    let mut roles = runs.iter().filter(|r| r.kernel == kernel).flat_map(|r| &r.manifest.plan.kernel.roles);
    let is_bound = roles.any(|r| r.role == "page_migrate" && r.implementation == "oracle");
    let simulated = (mark == "sim").then(|| runs.iter().find(|r| r.kernel == kernel)).flatten();
    let beside_scheduler = simulated.map(|r| beside_scheduler(&r.manifest.plan.kernel));
    Kernel { name: name.to_string(), mark, is_bound, beside_scheduler, failed: failed(kernel, runs) }
}

/// Why no run of a kernel completed, if one failed.
fn failed(kernel: usize, runs: &[Run]) -> Option<String> {
    let own = || runs.iter().filter(|r| r.kernel == kernel).map(|r| &r.outcome.status);
    if own().any(|status| *status == Status::Completed) {
        return None;
    }
    own().find_map(|status| match status {
        Status::Failed(why) => Some(why.clone()),
        Status::Completed | Status::Timeout => None,
    })
}

/// Groups of tunables that are the scheduler's.
const SCHEDULER_GROUPS: [&str; 3] = ["sched.", "imb.", "llc_balancing."];

/// The roles and tunables of a kernel without those of the scheduler, and their values.
fn beside_scheduler(kernel: &KernelPlan) -> Vec<(String, String)> {
    let roles = kernel.roles.iter().filter(|r| r.role != "imbalance");
    let roles = roles.map(|r| (r.role.clone(), r.implementation.clone()));
    let tunables = kernel.tunables.iter().filter(|t| !SCHEDULER_GROUPS.iter().any(|g| t.name.starts_with(g)));
    roles.chain(tunables.map(|t| (t.name.clone(), t.value.clone()))).collect()
}
