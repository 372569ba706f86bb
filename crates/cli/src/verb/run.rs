//! `numalab run`: carry out an experiment and keep its records.

use crate::context::{named, Context};
use crate::execute::{describe, execute, Backend, Executor, Finished};
use crate::failure::{note, Done, Exit, Failure};
use crate::options;
use crate::progress::Progress;
use crate::records;
use crate::sources::CatalogSources;
use crate::verb::compare;
use numalab_model::catalog::Kind;
use numalab_model::experiment::{self, Cell, Experiment, Param};
use numalab_model::kernel::Setting;
use numalab_model::record::Store;
use numalab_model::spec::Spot;
use serde::Serialize;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

/// Arguments of `run`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Experiment: a name of the catalog or a TOML file
    #[arg(required_unless_present = "machine", conflicts_with_all = ["machine", "kernel", "workload"])]
    experiment: Option<String>,
    /// Machines: names of the catalog, TOML files, or NODESxLLCSxCORESxTHREADS
    #[arg(long, value_delimiter = ',', requires = "kernel", requires = "workload", value_name = "M,…")]
    machine: Vec<String>,
    /// Kernels to compare; the first is the baseline
    #[arg(long, value_delimiter = ',', requires = "machine", value_name = "A,B,…")]
    kernel: Vec<String>,
    /// Workloads
    #[arg(long, value_delimiter = ',', requires = "machine", value_name = "W,…")]
    workload: Vec<String>,
    /// Runs per machine, kernel and workload, with seeds S, S+1, …
    #[arg(long, value_name = "N", value_parser = options::iterations, allow_negative_numbers = true)]
    iterations: Option<u32>,
    /// Runs at a time (results do not depend on it); one per CPU if not given
    #[arg(long, value_name = "N", value_parser = options::job_count, allow_negative_numbers = true)]
    jobs: Option<NonZeroUsize>,
    /// Seed of the first run
    #[arg(long, value_name = "S", value_parser = options::seed, allow_negative_numbers = true)]
    seed: Option<u64>,
    /// Override a tunable (group.key=value) or a role (role=implementation) of every kernel
    #[arg(long, value_name = "NAME=VALUE")]
    set: Vec<String>,
    /// Set a workload parameter to an expression of the machine
    #[arg(long, value_name = "NAME=EXPRESSION")]
    param: Vec<String>,
    /// Where the records go; out/NAME if not given
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Verify the simulator's own invariants at the end of every run
    #[arg(long)]
    check: bool,
    /// Print what was run as JSON instead of the comparison
    #[arg(long)]
    json: bool,
}

/// Carries out the runs that have no record yet, then compares all of them.
///
/// # Errors
/// Anything wrong in what was asked (before the first run), or the machine at hand refuses.
pub fn run(context: &Context, args: &Args) -> Result<Done, Failure> {
    let backend = crate::backend::Sim { check: args.check };
    let experiment = experiment(context, args)?;
    let sources = CatalogSources::new(context, &experiment.workloads)?;
    let cells = experiment.cells(&sources, backend.name())?;
    let dir = options::directory(args.out.as_deref(), &experiment.name);
    let store = Store::create(&dir, &experiment, &cells)?;
    let progress = Progress::new(cells.len());
    let executor = Executor { backend: &backend, jobs: options::jobs(args.jobs), progress: &progress };
    let finished = execute(&store, &cells, &executor)?;
    progress.clear();
    log(&cells, &finished);
    let exit = exit(&finished);
    let text = if args.json { json(&store, &finished)? } else { table(&store)? };
    Ok(Done { text, exit })
}

fn experiment(context: &Context, args: &Args) -> Result<Experiment, Failure> {
    let mut experiment = match &args.experiment {
        Some(name) => from_catalog(context, name)?,
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
    Ok(experiment)
}

/// `NAME=EXPRESSION` for every workload, `WORKLOAD.NAME=EXPRESSION` for one.
fn param(text: &str, workloads: &[Spot<String>]) -> Result<Param, Failure> {
    let mut setting = Setting::from_argument("--param", text)?;
    let name = setting.name.value.clone();
    let one = workloads.iter().find_map(|w| Some((w, name.strip_prefix(w.value.as_str())?.strip_prefix('.')?)));
    let workload = one.map(|(w, rest)| {
        setting.name.value = rest.to_string();
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

fn ad_hoc(args: &Args) -> Experiment {
    let spots = |option: &str, list: &[String]| list.iter().map(|n| named(option, n)).collect();
    let stems = |list: &[String]| list.iter().map(|n| stem(n)).collect::<Vec<_>>().join("+");
    Experiment {
        name: format!("{}_{}", stems(&args.machine), stems(&args.workload)),
        title: "given on the command line".into(),
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

/// One line per run on standard error: wall time is not part of a record.
fn log(cells: &[Cell], finished: &[Finished]) {
    for (cell, f) in cells.iter().zip(finished) {
        let how = if f.reused { "had a record".to_string() } else { format!("{:.2} s", f.wall.as_secs_f64()) };
        note(&format!("{}: {how}", describe(&cell.input)));
    }
}

/// The worst that happened to any run.
fn exit(finished: &[Finished]) -> Exit {
    finished.iter().map(|f| Exit::of(&f.record.outcome.status)).max().unwrap_or(Exit::Ok)
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

fn table(store: &Store) -> Result<String, Failure> {
    let loaded = records::load(store, None, records::Series::Drop)?;
    Ok(format!("{}\nrecords: {}\n", compare::as_text(&loaded.comparison), store.dir().display()))
}
