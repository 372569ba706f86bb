//! `numalab run`: carry out an experiment and keep its records.

use crate::backend::{self, BackendKind, GuestArgs, Ready, Sim};
use crate::context::{named, Context};
use crate::execute::{execute, Executor, Finished};
use crate::failure::{note, Done, Exit, Failure};
use crate::interrupt;
use crate::logs::Logs;
use crate::options;
use crate::progress::Progress;
use crate::records;
use crate::verb::compare;
use numalab_model::catalog::Kind;
use numalab_model::experiment::{self, Cell, Experiment, Param};
use numalab_model::kernel::Setting;
use numalab_model::record::Store;
use numalab_model::spec::{SpecError, Spot};
use numalab_report::order::unique;
use serde::Serialize;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

/// Arguments of `run`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Experiment: a name of the catalog or a TOML file (docs/experiments.md)
    #[arg(required_unless_present = "machine", conflicts_with_all = ["machine", "workload"])]
    experiment: Option<String>,
    /// Machines: names of the catalog, TOML files, or NODESxLLCSxCORESxTHREADS
    #[arg(long, value_delimiter = ',', requires = "kernel", requires = "workload", value_name = "M,…")]
    machine: Vec<String>,
    /// Kernels to compare, the first is the baseline of a new comparison (--baseline changes that of one that is there):
    /// names of the catalog, TOML files (docs/kernels.md), or with
    /// --backend vm images: debian-6.12, deb:FILE, bzImage:FILE, vmlinux:FILE, tree:DIR, NAME=source:6.12+patch:FILE.
    /// Beside an experiment: kernels added to its own
    #[arg(long, value_delimiter = ',', value_name = "A,B,…")]
    kernel: Vec<String>,
    /// Workloads: names of the catalog or TOML files (docs/workloads.md)
    #[arg(long, value_delimiter = ',', requires = "machine", value_name = "W,…")]
    workload: Vec<String>,
    /// Kernel that others are compared with, the first column: one of this command, or one that the directory has; a
    /// comparison that is there keeps its own if not given
    #[arg(long, value_name = "K")]
    baseline: Option<String>,
    /// Runs per machine, kernel and workload, with seeds S, S+1, …
    #[arg(long, value_name = "N", value_parser = options::iterations, allow_negative_numbers = true)]
    iterations: Option<u32>,
    /// Runs at a time (results do not depend on it); one per CPU if not given
    #[arg(long, value_name = "N", value_parser = options::job_count, allow_negative_numbers = true)]
    jobs: Option<NonZeroUsize>,
    /// Seed of the first run
    #[arg(long, value_name = "S", value_parser = options::seed, allow_negative_numbers = true)]
    seed: Option<u64>,
    /// Override a tunable (group.key=value) or a role (role=implementation) of every kernel; may be repeated
    #[arg(long, value_name = "NAME=VALUE")]
    set: Vec<String>,
    /// Set a parameter of every workload that has it (WORKLOAD.NAME: of one) to an expression of the machine; may be
    /// repeated
    #[arg(long, value_name = "NAME=EXPRESSION")]
    param: Vec<String>,
    /// Where the records go; out/NAME if not given
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Where to run it
    #[arg(long, value_enum, default_value_t, value_name = "BACKEND")]
    backend: BackendKind,
    #[command(flatten)]
    guest: GuestArgs,
    /// Verify the simulator's own invariants at the end of every run
    #[arg(long)]
    check: bool,
    /// Write the event log of every run beside its record, for `numalab trace`
    #[arg(long)]
    trace: bool,
    /// Write the decision log of every run beside its record, for `numalab explain`
    #[arg(long)]
    explain: bool,
    /// Print what was run as JSON instead of the comparison
    #[arg(long)]
    json: bool,
}

/// Carries out the runs that have no record yet, then compares all of them.
///
/// # Errors
/// Anything wrong in what was asked (before the first run), or the machine at hand refuses.
pub fn run(context: &Context, args: &Args) -> Result<Done, Failure> {
    let experiment = experiment(context, args)?;
    let logs = Logs { trace: args.trace, explain: args.explain, ..Logs::default() };
    let sim = Sim { check: args.check, again: args.check, logs, ..Sim::default() };
    let with = RunOptions { backend: args.backend, guest: &args.guest, sim, jobs: args.jobs, out: args.out.as_deref() };
    let (store, finished) = carry_out(context, &experiment, with)?;
    let exit = exit(&finished);
    let text = if args.json { json(&store, &finished)? } else { table(context, &store)? };
    Ok(Done { text, exit })
}

/// How an experiment is to be carried out.
pub struct RunOptions<'a> {
    /// Where.
    pub backend: BackendKind,
    /// Guests, if it is in guests.
    pub guest: &'a GuestArgs,
    /// What is asked of the simulator: checks and logs.
    pub sim: Sim,
    /// Runs at a time, if asked for.
    pub jobs: Option<NonZeroUsize>,
    /// Where the records go, if asked for.
    pub out: Option<&'a Path>,
}

/// Carries out the runs of an experiment that have no record yet, and says so on standard error.
///
/// # Errors
/// See [`run`].
pub fn carry_out(
    context: &Context,
    experiment: &Experiment,
    mut with: RunOptions<'_>,
) -> Result<(Store, Vec<Finished>), Failure> {
    let mut progress = Progress::new(0);
    progress.lines = true;
    // Logs lie beside records, and only the simulator, whose directories have no suffix, writes them.
    with.sim.logs.dir = options::directory(with.out, &experiment.name);
    let ready = backend::prepare(context, experiment, with.backend, with.guest, with.sim.clone(), &progress)?;
    let Ready { backend, cells, suffix, jobs_max } = ready;
    let dir = options::directory(with.out, &format!("{}{suffix}", experiment.name));
    let before = Store::open(&dir).ok();
    known_baseline(experiment, &cells, before.as_ref())?;
    let store = Store::create(&dir, experiment, &cells)?;
    if let Some(text) = baseline_stays(experiment, &store, &cells) {
        note(&text);
    }
    interrupt::watch(&store, &cells);
    progress.set_total(cells.len());
    let jobs = options::jobs(with.jobs).min(jobs_max);
    let finished = execute(&store, &cells, &Executor { backend: &*backend, jobs, progress: &progress })?;
    progress.clear();
    // From here on others may write.
    drop(store);
    let store = Store::open(&dir)?;
    if let Some(text) = before.and_then(|b| gone(&b, &store)) {
        note(&text);
    }
    if with.sim.check {
        note(&checked(finished.len()));
    }
    Ok((store, finished))
}

/// Refuses a baseline that is neither run nor in the directory.
fn known_baseline(experiment: &Experiment, cells: &[Cell], before: Option<&Store>) -> Result<(), SpecError> {
    let Some(asked) = &experiment.baseline else { return Ok(()) };
    let listed = before.iter().flat_map(|b| &b.file().runs).map(|r| r.kernel.as_str());
    let run = cells.iter().map(|c| c.input.plan.kernel.name.as_str());
    let known = unique(experiment.kernels.iter().map(|k| k.value.as_str()).chain(run).chain(listed));
    if known.contains(&asked.value.as_str()) {
        return Ok(());
    }
    let what = format!("no kernel `{}` in this experiment", asked.value);
    Err(asked.error(what, format!("one of {}", known.join(", "))).near(&asked.value, known))
}

/// That the comparison of a directory keeps its baseline, though the first kernel of this command is another.
fn baseline_stays(experiment: &Experiment, store: &Store, cells: &[Cell]) -> Option<String> {
    let first = cells.first()?.input.plan.kernel.name.as_str();
    let (stays, dir) = (store.file().baseline.as_str(), store.dir().display());
    let said = experiment.baseline.is_none() && stays != first;
    said.then(|| {
        format!("numalab: the baseline of {dir} stays {stays}; --baseline {first} makes it this command's first")
    })
}

/// What `--check` found: a run that broke an invariant, or counted other than its record, has ended the command.
fn checked(runs: usize) -> String {
    let runs = if runs == 1 { "1 run".to_string() } else { format!("{runs} runs") };
    format!("numalab: checked {runs}: every invariant of the simulator holds, and each counts what its record has")
}

/// The runs that a shorter experiment takes from the list of its directory, in a sentence.
fn gone(before: &Store, now: &Store) -> Option<String> {
    let listed = |r: &str| now.file().runs.iter().any(|m| m.record == r);
    let lost: Vec<_> = before.file().runs.iter().filter(|m| !listed(&m.record)).collect();
    let first = lost.first()?;
    let which = format!("{} {} {} seed {}", first.machine, first.workload, first.kernel, first.seed);
    let more = if lost.len() > 1 { " and others" } else { "" };
    Some(format!(
        "numalab: {} of {} runs leave the comparison of {} ({which}{more}): this command asks for other or fewer runs \
         of the same machine, workload and kernel, or is another build; their records stay there, and asking for them \
         again lists them again",
        lost.len(),
        before.file().runs.len(),
        now.dir().display()
    ))
}

fn experiment(context: &Context, args: &Args) -> Result<Experiment, Failure> {
    let mut experiment = match &args.experiment {
        Some(name) => with_more(from_catalog(context, name)?, &args.kernel),
        None => ad_hoc(args),
    };
    experiment.iterations = args.iterations.unwrap_or(experiment.iterations);
    experiment.seed = args.seed.unwrap_or(experiment.seed);
    for text in &args.set {
        let s = Setting::from_argument("--set", text)?;
        // What is said on the command line replaces what the file says, but not what it says itself.
        experiment.sets.retain(|old| old.name.value != s.name.value || old.name.line == 0);
        experiment.sets.push(s);
    }
    for text in &args.param {
        let p = param(text, &experiment.workloads)?;
        let same = |old: &Param| {
            old.setting.name.value == p.setting.name.value && (p.workload.is_none() || old.workload == p.workload)
        };
        experiment.params.retain(|old| !same(old) || old.setting.name.line == 0);
        experiment.params.push(p);
    }
    experiment.check()?;
    // Whether there is such a kernel the directory decides, too.
    experiment.baseline = args.baseline.as_ref().map(|b| named("--baseline", b)).or(experiment.baseline);
    Ok(experiment)
}

/// `NAME=EXPRESSION` for every workload, `WORKLOAD.NAME=EXPRESSION` for one.
fn param(text: &str, workloads: &[Spot<String>]) -> Result<Param, Failure> {
    let mut setting = Setting::from_argument("--param", text)?;
    let name = setting.name.value.clone();
    // A file's workload is meant by its path or by its name.
    let rest = |of: &str| name.strip_prefix(of)?.strip_prefix('.').map(str::to_string);
    let one = workloads.iter().find_map(|w| Some((w, rest(&w.value).or_else(|| rest(&stem(&w.value)))?)));
    let workload = one.map(|(w, rest)| {
        setting.name.value = rest;
        w.value.clone()
    });
    Ok(Param { workload, setting })
}

fn from_catalog(context: &Context, name: &str) -> Result<Experiment, Failure> {
    let file = context.catalog.find(Kind::Experiment, &named("run", name))?;
    let (own, experiment) = experiment::parse(&file.label, &file.text)?;
    file.check_name(&own)?;
    Ok(experiment)
}

/// An experiment with more kernels, each after its own; the baseline stays.
fn with_more(mut experiment: Experiment, kernels: &[String]) -> Experiment {
    for name in kernels {
        if !experiment.kernels.iter().any(|k| k.value == *name) {
            experiment.kernels.push(named("--kernel", name));
        }
    }
    experiment
}

fn ad_hoc(args: &Args) -> Experiment {
    let spots = |option: &str, list: &[String]| list.iter().map(|n| named(option, n)).collect();
    let stems = |list: &[String]| list.iter().map(|n| stem(n)).collect::<Vec<_>>().join("+");
    Experiment {
        name: format!("{}_{}", stems(&args.machine), stems(&args.workload)),
        title: records::AD_HOC.into(),
        about: String::new(),
        machines: spots("--machine", &args.machine),
        kernels: spots("--kernel", &args.kernel),
        workloads: spots("--workload", &args.workload),
        baseline: None,
        iterations: 1,
        seed: 1,
        sets: Vec::new(),
        params: Vec::new(),
    }
}

/// Name of a file without folder and `.toml`, for the name of an experiment.
fn stem(name: &str) -> String {
    let file = Path::new(name).file_name().map_or_else(|| name.into(), |f| f.to_string_lossy().into_owned());
    file.strip_suffix(".toml").map(str::to_string).unwrap_or(file)
}

/// The worst that happened to any run.
pub fn exit(finished: &[Finished]) -> Exit {
    finished.iter().map(|f| Exit::of(&f.record.outcome.status)).max().unwrap_or(Exit::OK)
}

/// `run --json` (docs/json.md).
#[derive(Serialize)]
struct Summary<'a> {
    experiment: &'a str,
    directory: String,
    baseline: &'a str,
    runs: Vec<Run<'a>>,
}

#[derive(Serialize)]
struct Run<'a> {
    record: String,
    machine: &'a str,
    workload: &'a str,
    kernel: &'a str,
    seed: u64,
    status: &'a str,
    warnings: &'a [String],
}

fn json(store: &Store, finished: &[Finished]) -> Result<String, Failure> {
    let summary = Summary {
        experiment: &store.file().name,
        directory: store.dir().display().to_string(),
        baseline: &store.file().baseline,
        runs: finished.iter().map(summary_of).collect(),
    };
    Ok(Done::json(&summary)?.text)
}

fn summary_of(f: &Finished) -> Run<'_> {
    let m = &f.record.manifest;
    Run {
        record: f.record.path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        machine: &m.plan.machine.name,
        workload: &m.plan.workload.name,
        kernel: &m.plan.kernel.name,
        seed: m.plan.seed,
        status: &m.status,
        warnings: &m.warnings,
    }
}

/// The comparison, and where the records are.
///
/// # Errors
/// A damaged record.
pub fn table(context: &Context, store: &Store) -> Result<String, Failure> {
    let loaded = records::load(context, store, None, records::Series::Drop)?;
    loaded.incomparable.iter().for_each(|text| note(text));
    Ok(format!("{}\nrecords: {}\n", compare::as_text(&loaded.comparison), store.dir().display()))
}
