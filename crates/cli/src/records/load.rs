//! The records of an experiment, read back and lined up for a report.

use crate::context::Context;
use crate::failure::{Exit, Failure};
use crate::records::comparable::{incomparable, Incomparable};
use crate::records::run::Run;
use numalab_model::plan::KernelPlan;
use numalab_model::record::{Member, Status, Store, Summaries, Summary};
use numalab_model::spec::SpecError;
use numalab_report::collect::Collector;
use numalab_report::data::{Comparison, Kernel, Workload};
use numalab_report::derive;
use numalab_report::order::unique;
use numalab_report::origin::{made_by, Origin};
use numalab_report::settled::{self, SettledRuns};
use std::collections::{BTreeMap, BTreeSet};

/// Whether time series are kept when records are read. Only the HTML page needs them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Series {
    /// They are kept: of all runs, or of [`DRAWN_RUNS`] of each kernel and workload if there are very many.
    Keep,
    /// They are dropped as soon as a record is read.
    Drop,
}

/// Largest experiment of which the page may draw every run; of a larger one it draws this many of each kernel and
/// workload.
const ALL_DRAWN_MAX: usize = 1000;
const DRAWN_RUNS: usize = 16;

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
        self.runs.iter().map(|r| Exit::of(&r.status)).fold(missing, Exit::max)
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
    let (mut blocks, runs) = read_runs(store, &kernels, series)?;
    let columns: Vec<Kernel> = kernels.iter().enumerate().map(|(k, name)| column(name, k, &runs)).collect();
    let mut workloads = Vec::new();
    let mut ends = Vec::new();
    for block in &mut blocks {
        let collected = std::mem::take(&mut block.collector).workload(&block.name, &columns, 0);
        workloads.push(Workload { machine: block.machine.clone(), ..collected });
        ends.push(std::mem::take(&mut block.settled));
    }
    let mut comparison = Comparison { kernels: columns, workloads, ..Comparison::default() };
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
    settled::add(&mut comparison, &ends);
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
    /// The figures of its runs.
    collector: Collector,
    /// How its completed runs had settled, of a prediction.
    settled: SettledRuns,
}

/// Reads the records of every machine and workload, one at a time. Runs are sorted by workload, then kernel.
fn read_runs(store: &Store, kernels: &[&str], series: Series) -> Result<(Vec<Block>, Vec<Run>), Failure> {
    let members = &store.file().runs;
    let machines = unique(members.iter().map(|r| r.machine.as_str()));
    let workloads = unique(members.iter().map(|r| r.workload.as_str()));
    let place: BTreeMap<&str, usize> = kernels.iter().enumerate().map(|(k, name)| (*name, k)).collect();
    let of = |m: &Member| place.get(m.kernel.as_str()).copied().unwrap_or(0);
    let mut reader = Reader { store, series, summaries: Summaries::of(store), drawn: BTreeMap::new() };
    let (mut blocks, mut runs) = (Vec::<Block>::new(), Vec::<Run>::new());
    for machine in &machines {
        for workload in &workloads {
            let mut own: Vec<&Member> =
                members.iter().filter(|r| r.machine == *machine && r.workload == *workload).collect();
            own.sort_by_key(|m| of(m));
            let several = machines.len() > 1;
            let mut expected = vec![0; kernels.len()];
            own.iter().for_each(|m| expected[of(m)] += 1);
            let mut block = Block {
                name: if several { format!("{workload} on {machine}") } else { workload.to_string() },
                machine: several.then(|| machine.to_string()),
                missing: 0,
                all: own.len(),
                collector: Collector::new(expected),
                settled: vec![Vec::new(); kernels.len()],
            };
            for member in own {
                match reader.run(member, blocks.len(), of(member), &mut block)? {
                    Some(run) => runs.push(run),
                    None => block.missing += 1,
                }
            }
            if block.missing < block.all {
                blocks.push(block);
            }
        }
    }
    reader.summaries.keep();
    Ok((blocks, runs))
}

/// Reads the records of an experiment.
struct Reader<'a> {
    store: &'a Store,
    series: Series,
    summaries: Summaries<'a>,
    /// How many runs of a workload and kernel have their series, and how many of these completed.
    drawn: BTreeMap<(usize, usize), (usize, usize)>,
}

impl Reader<'_> {
    /// Reads the record of a run, and adds its figures to its workload. `None` without a record.
    fn run(
        &mut self,
        member: &Member,
        workload: usize,
        kernel: usize,
        block: &mut Block,
    ) -> Result<Option<Run>, Failure> {
        let (all, completed) = self.drawn.entry((workload, kernel)).or_default();
        let room = self.store.file().runs.len() <= ALL_DRAWN_MAX || *all < DRAWN_RUNS;
        // The page also shows the final placement of the first run that was not cut off.
        let draw = self.series == Series::Keep && (room || *completed == 0);
        let Some(summary) = self.summaries.get(member, draw)? else { return Ok(None) };
        let Summary { plan, seed, workload_sha256, workload_file_sha256, guest_timing, outcome } = summary;
        block.collector.add(kernel, &outcome);
        let status = outcome.status.clone();
        if self.store.file().prediction.is_some() && status == Status::Completed {
            block.settled[kernel].push(outcome.settled.clone());
        }
        let drawn = (draw && (room || status == Status::Completed)).then(|| Box::new(outcome));
        *all += usize::from(drawn.is_some());
        *completed += usize::from(drawn.is_some() && status == Status::Completed);
        let record = member.record.as_str().into();
        Ok(Some(Run {
            workload,
            kernel,
            record,
            plan,
            seed,
            workload_sha256,
            workload_file_sha256,
            guest_timing,
            status,
            drawn,
        }))
    }
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
    let mut each = BTreeMap::<_, usize>::new();
    members.iter().for_each(|m| *each.entry((&m.machine, &m.workload, &m.kernel)).or_default() += 1);
    let counts: BTreeSet<usize> = each.into_values().collect();
    let mut seeds: Vec<u64> = members.iter().map(|m| m.seed).collect();
    seeds.sort_unstable();
    seeds.dedup();
    let plans = || runs.iter().map(|r| &r.plan);
    Origin {
        // An experiment of the command line has no title: its machines and workloads describe it.
        title: if file.title == AD_HOC { String::new() } else { format!("{}: {}", file.name, file.title) },
        machines: names(members.iter().map(|m| &m.machine)),
        workloads: names(members.iter().map(|m| &m.workload)),
        runs_each: counts.first().copied().filter(|_| counts.len() == 1),
        recorded: runs.len(),
        asked: members.len(),
        seeds,
        backends: unique(runs.iter().map(Run::backend_label)),
        versions: unique(plans().map(|p| made_by(&p.backend, &p.version))),
        prediction: file.prediction.clone(),
    }
}

/// Names, each once.
fn names<'a>(all: impl Iterator<Item = &'a String>) -> Vec<String> {
    unique(all).into_iter().cloned().collect()
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

/// The heading of a kernel's column. Figures that were not measured on hardware are marked with their backend.
fn column(name: &str, kernel: usize, runs: &[Run]) -> Kernel {
    let mut labels = runs.iter().filter(|r| r.kernel == kernel).map(Run::backend_label);
    let mark = labels.find(|b| b != "host").unwrap_or_default();
    let mut roles = runs.iter().filter(|r| r.kernel == kernel).flat_map(|r| &r.plan.kernel.roles);
    let is_bound = roles.any(|r| r.role == "page_migrate" && r.implementation == "oracle");
    let simulated = (mark == "sim").then(|| runs.iter().find(|r| r.kernel == kernel)).flatten();
    let beside_scheduler = simulated.map(|r| beside_scheduler(&r.plan.kernel));
    Kernel { name: name.to_string(), mark, is_bound, beside_scheduler, failed: failed(kernel, runs) }
}

/// Why no run of a kernel completed, if one failed.
fn failed(kernel: usize, runs: &[Run]) -> Option<String> {
    let own = || runs.iter().filter(|r| r.kernel == kernel).map(|r| &r.status);
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
