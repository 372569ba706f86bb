//! The records of an experiment, read back and lined up for a report.

use crate::context::Context;
use crate::failure::{note, Exit, Failure};
use crate::unlike::{unlike, Unlike};
use numalab_model::record::{self, Manifest, Outcome, Record, Status, Store};
use numalab_model::spec::SpecError;
use numalab_report::collect::{collect, WorkloadRuns};
use numalab_report::data::{Comparison, Kernel};
use numalab_report::derive;
use numalab_report::order::unique;
use numalab_report::origin::{made_by, Origin};
use std::path::{Path, PathBuf};

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
    /// One sentence for each column that did other work, or ran on another machine, than the first beside it.
    pub unlike: Vec<String>,
    /// The others: by workload, then kernel, then seed as the experiment lists them.
    pub runs: Vec<Run>,
}

impl Loaded {
    /// What the records mean for a command that shows them: the worst end of a run, as `numalab run` counts it, and
    /// at least a finding if a run has no record.
    pub fn exit(&self) -> Exit {
        let missing = if self.missing > 0 { Exit::Finding } else { Exit::Ok };
        self.runs.iter().map(|r| Exit::of(&r.outcome.status)).fold(missing, Exit::max)
    }
    /// One sentence for each thing that keeps the figures from being those of all runs.
    pub fn remarks(&self) -> Vec<String> {
        let all = self.missing + self.runs.len();
        let mut out = self.unlike.clone();
        if self.missing > 0 {
            out.push(format!("numalab: {}", no_record(self.missing, all)));
        }
        let ended: Vec<String> = self.runs.iter().filter_map(ended).collect();
        if let Some(first) = ended.first() {
            let more = if ended.len() > 1 { " (and others)" } else { "" };
            out.push(format!("numalab: {} of {all} runs did not complete: {first}{more}", ended.len()));
        }
        out
    }
}

/// How many of the runs have no record, and what to do.
fn no_record(missing: usize, all: usize) -> String {
    format!("{missing} of {all} runs have no record yet; `numalab run` with the same arguments resumes")
}

/// A run that did not complete, and why.
fn ended(run: &Run) -> Option<String> {
    let why = match &run.outcome.status {
        Status::Completed => return None,
        Status::Timeout => "it reached its limit of time",
        Status::Failed(why) => why,
    };
    let p = &run.manifest.plan;
    Some(format!("{} {} {} seed {}: {why}", p.machine.name, p.workload.name, p.kernel.name, p.seed))
}

/// Reads all records of an experiment, the baseline first; with several machines a workload is called `NAME on MACHINE`.
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
    // What others are compared with is read first.
    kernels[..=listed].rotate_right(1);
    let baseline = 0;
    let machines = unique(members.iter().map(|r| r.machine.as_str()));
    let workloads = unique(members.iter().map(|r| r.workload.as_str()));
    let (mut missing, mut names, mut runs) = (0, Vec::new(), Vec::<Run>::new());
    let (mut places, mut gaps) = (Vec::new(), Vec::new());
    for machine in &machines {
        for workload in &workloads {
            let (before, missed) = (runs.len(), missing);
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
                places.push((machines.len() > 1).then(|| machine.to_string()));
                gaps.push((missing - missed, runs.len() - before + missing - missed));
            }
        }
    }
    runs.sort_by_key(|r| (r.workload, r.kernel));
    let columns: Vec<Kernel> = kernels.iter().enumerate().map(|(k, name)| column(name, k, &runs)).collect();
    let mut comparison = collect(columns, baseline, &by_workload(&names, kernels.len(), &runs));
    for (w, machine) in comparison.workloads.iter_mut().zip(places) {
        w.machine = machine;
    }
    derive::apply(&mut comparison, &context.columns);
    comparison.origin = Some(origin(store, &runs));
    comparison.axes.push(("machine".into(), machines.join(", ")));
    let unlike = unlike(names.len(), &kernels, &runs);
    for u in &unlike {
        let w = &mut comparison.workloads[u.workload];
        w.warnings.push(u.text.clone());
        w.different_work.resize(kernels.len(), None);
        w.different_work[u.kernel] = Some(u.what.clone());
    }
    for (index, (w, (missing, all))) in comparison.workloads.iter_mut().zip(gaps).enumerate() {
        w.notes = notes(index, &unlike, (missing, all), &runs);
    }
    let unlike = unlike.into_iter().map(|u| format!("numalab: {}: {}", names[u.workload], u.text)).collect();
    Ok(Loaded { comparison, missing, unlike, runs })
}

/// What [`Loaded::remarks`] says, of one workload alone and of each of its runs.
fn notes(workload: usize, unlike: &[Unlike], (missing, all): (usize, usize), runs: &[Run]) -> Vec<String> {
    let unlike = unlike.iter().filter(|u| u.workload == workload).map(|u| u.text.clone());
    let ended = runs.iter().filter(|r| r.workload == workload).filter_map(ended);
    unlike.chain((missing > 0).then(|| no_record(missing, all))).chain(ended).collect()
}

/// What was run, for the heading.
fn origin(store: &Store, runs: &[Run]) -> Origin {
    let (file, members) = (store.file(), &store.file().runs);
    let place = |m: &record::Member| (m.machine.clone(), m.workload.clone(), m.kernel.clone());
    let each = |p: &(String, String, String)| members.iter().filter(|m| place(m) == *p).count();
    let counts = unique(unique(members.iter().map(place)).iter().map(each));
    let mut seeds: Vec<u64> = members.iter().map(|m| m.seed).collect();
    seeds.sort_unstable();
    seeds.dedup();
    let plans = || runs.iter().map(|r| &r.manifest.plan);
    Origin {
        // Without a file machines and workloads say it all.
        title: if file.title == AD_HOC { String::new() } else { format!("{}: {}", file.name, file.title) },
        machines: unique(members.iter().map(|m| m.machine.clone())),
        workloads: unique(members.iter().map(|m| m.workload.clone())),
        runs_each: Some(counts.as_slice()).filter(|c| c.len() == 1).map(|c| c[0]),
        recorded: runs.len(),
        asked: members.len(),
        seeds,
        backends: unique(runs.iter().map(mark)),
        versions: unique(plans().map(|p| made_by(&p.backend, &p.version))),
    }
}

/// Title of an experiment that was given on the command line.
pub const AD_HOC: &str = "given on the command line";

fn baseline_index(kernels: &[&str], place: &str, name: &str) -> Result<usize, SpecError> {
    kernels.iter().position(|k| *k == name).ok_or_else(|| {
        let expected =
            if kernels.is_empty() { "at least one run".into() } else { format!("one of {}", kernels.join(", ")) };
        SpecError::plain(place, format!("no kernel `{name}` in this experiment"), expected)
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
    let mark = runs.iter().filter(|r| r.kernel == kernel).map(mark).find(|b| b != "host").unwrap_or_default();
    Kernel { name: name.to_string(), mark }
}

/// Backend of a run, with the timing mode where there are several.
fn mark(run: &Run) -> String {
    let backend = run.manifest.plan.backend.clone();
    let timing = run.outcome.tunables.iter().find(|t| t.name == "guest.timing");
    timing.map_or(backend.clone(), |t| format!("{backend}-{}", t.value))
}

/// Which run: a record's directory, or an experiment's with enough options to name one of its runs.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Pick {
    /// A record's directory, or an experiment's (then the options below choose among its runs; of several seeds the first)
    run: PathBuf,
    /// Of an experiment: the kernel of the run
    #[arg(long, value_name = "K")]
    kernel: Option<String>,
    /// Of an experiment: the workload of the run
    #[arg(long, value_name = "W")]
    workload: Option<String>,
    /// Of an experiment: the machine of the run
    #[arg(long, value_name = "M")]
    machine: Option<String>,
    /// Of an experiment: the seed of the run; the first if not given
    #[arg(long, value_name = "S", allow_negative_numbers = true)]
    seed: Option<u64>,
}

impl Pick {
    /// Whether a run of this machine, workload, kernel and seed is meant.
    fn fits(&self, (machine, workload, kernel, seed): Names<'_>) -> bool {
        let named = |wanted: &Option<String>, name: &str| wanted.as_ref().is_none_or(|w| w == name);
        let names = named(&self.machine, machine) && named(&self.workload, workload) && named(&self.kernel, kernel);
        names && self.seed.is_none_or(|s| s == seed)
    }
}

/// Machine, workload, kernel and seed of a run.
type Names<'a> = (&'a str, &'a str, &'a str, u64);

fn names_of(m: &record::Member) -> Names<'_> {
    (&m.machine, &m.workload, &m.kernel, m.seed)
}

/// The options that pick a run.
fn options((machine, workload, kernel, seed): Names<'_>) -> String {
    format!("--kernel {kernel} --workload {workload} --machine {machine} --seed {seed}")
}

fn unfinished(dir: &Path, member: &record::Member) -> String {
    let expected = "a finished run (`numalab run` with the same arguments resumes)";
    format!("{}: run {} has no record yet; expected {expected}", dir.display(), member.record)
}

/// The file that lists the runs.
const EXPERIMENT: &str = "experiment.json";

/// Most runs named in a message.
const MAX_NAMED: usize = 8;

/// Reads the record of one run; of an experiment, the first seed is taken if nothing else tells its runs apart.
///
/// # Errors
/// Neither a record nor an experiment, no run that fits, several that do, or a damaged record.
pub fn find(pick: &Pick) -> Result<Record, Failure> {
    choose(pick, &|m| options(names_of(m)))
}

/// Reads the record at a path; an experiment's will do if its runs differ in nothing but the seed.
///
/// # Errors
/// As [`find`], with directories of records as what was expected.
pub fn at(path: &Path) -> Result<Record, Failure> {
    let pick = Pick { run: path.into(), ..Pick::default() };
    choose(&pick, &|m| format!("a record's directory: {} ({})", path.join(&m.record).display(), options(names_of(m))))
}

/// Whether a directory is a record's, complete or not.
fn is_record(dir: &Path) -> bool {
    ["manifest.json", "scalars.json"].iter().any(|file| dir.join(file).is_file())
}

fn choose(pick: &Pick, shown: &dyn Fn(&record::Member) -> String) -> Result<Record, Failure> {
    let refused = |what: String, expected: String| -> Failure {
        SpecError::plain(&pick.run.display().to_string(), what, expected).into()
    };
    if is_record(&pick.run) {
        let record = record::read(&pick.run)?;
        let p = &record.manifest.plan;
        let own = (p.machine.name.as_str(), p.workload.name.as_str(), p.kernel.name.as_str(), p.seed);
        let other = || refused("it is not the run that the options name".into(), options(own));
        return if pick.fits(own) { Ok(record) } else { Err(other()) };
    }
    let store = Store::open(&pick.run)?;
    let all: Vec<_> = store.file().runs.iter().collect();
    let found: Vec<_> = all.iter().copied().filter(|m| pick.fits(names_of(m))).collect();
    let alike = found
        .windows(2)
        .all(|w| (&w[0].kernel, &w[0].workload, &w[0].machine) == (&w[1].kernel, &w[1].workload, &w[1].machine));
    let list = |runs: &[&record::Member]| {
        let more = runs.len().saturating_sub(MAX_NAMED);
        let more = if more > 0 { format!(", or one of {more} more ({EXPERIMENT} lists all)") } else { String::new() };
        runs.iter().take(MAX_NAMED).map(|m| shown(m)).collect::<Vec<_>>().join(", or ") + &more
    };
    match found.first() {
        Some(member) if alike => {
            if found.len() > 1 {
                let options = options(names_of(member));
                note(&format!("numalab: of {} seeds the first: {options} ({})", found.len(), member.record));
            }
            store.record(member)?.ok_or_else(|| Failure::usage(unfinished(&pick.run, member)))
        }
        Some(_) => Err(refused(format!("{} runs fit", found.len()), list(&found))),
        None => Err(refused("no run fits".into(), list(&all))),
    }
}
