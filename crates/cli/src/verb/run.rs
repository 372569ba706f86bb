//! `numalab run`: carry out an experiment and store its records.

mod ab;

use crate::backend::{self, AsGuest, BackendKind, GuestArgs, ProgramArgs, Sim};
use crate::context::{named, Context, HOST};
use crate::execute::Finished;
use crate::failure::{Done, Failure};
use crate::logs::Logs;
use crate::memory;
use crate::options::{self, stem};
use crate::progress::Progress;
use crate::real_kernels::joined;
use crate::records;
use crate::service::carry_out::{carry_out, exit, RunOptions};
use crate::service::{answer, dry_run};
use numalab_model::catalog::Kind;
use numalab_model::experiment::{self, Axes, Experiment, Param};
use numalab_model::kernel::Setting;
use numalab_model::record::Store;
use numalab_model::spec::Spot;
use serde::Serialize;
use std::num::NonZeroUsize;
use std::path::PathBuf;

/// Arguments of `run`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Experiment: a name of the catalog, or a TOML file (docs/reference/experiments.md)
    #[arg(
        required_unless_present_any = ["workload", "command"],
        conflicts_with_all = ["machine", "workload", "command"]
    )]
    experiment: Option<String>,
    /// Machines: names of the catalog, TOML files, NODESxLLCSxCORESxTHREADS, or `host` for this one [default with
    /// --backend host: host]
    #[arg(long, value_delimiter = ',', requires = "what", value_name = "M,…")]
    machine: Vec<String>,
    /// Kernels to compare; the first is the baseline of a new comparison (see --baseline): names of the catalog, TOML
    /// files (docs/reference/kernels.md), or, with --backend vm, images: debian-6.12, deb:FILE, bzImage:FILE,
    /// vmlinux:FILE, tree:DIR, NAME=source:6.12+patch:FILE, NAME=series:DIR,KNOB=VALUE. Beside an experiment, kernels
    /// to add to those of the experiment
    #[arg(long, value_delimiter = ',', value_name = "A,B,…")]
    kernel: Vec<String>,
    /// Workloads: names of the catalog or TOML files (docs/reference/workloads.md)
    #[arg(long, value_delimiter = ',', requires = "kernel", value_name = "W,…", group = "what")]
    workload: Vec<String>,
    /// Kernel that the others are compared with: one of this command, or one that already has records in the directory
    /// [default: the one of the existing comparison; of a new one, the experiment's, or the first kernel]
    #[arg(long, value_name = "K")]
    baseline: Option<String>,
    /// Number of runs per machine, kernel and workload, with seeds S, S+1, … (see --seed) [default: the experiment's,
    /// or 1]
    #[arg(long, value_name = "N", value_parser = options::iterations, allow_negative_numbers = true)]
    iterations: Option<u32>,
    /// Number of runs at a time, which does not affect the results [default: one per CPU of this host]
    #[arg(long, value_name = "N", value_parser = options::job_count, allow_negative_numbers = true)]
    jobs: Option<NonZeroUsize>,
    /// Most memory to use, such as 4GiB. Fewer runs are carried out at a time if all of them do not fit, and a run that
    /// does not fit is refused
    /// [default: NUMALAB_MEMORY_LIMIT, or what is available on this host and in its control group]
    #[arg(long, value_name = "SIZE", value_parser = memory::size)]
    memory_limit: Option<u64>,
    /// Seed S of the first run [default: the experiment's, or 1]
    #[arg(long, value_name = "S", value_parser = options::seed, allow_negative_numbers = true)]
    seed: Option<u64>,
    /// Override a tunable (group.key=value) or a role (role=implementation) of every kernel. May be repeated
    #[arg(long, value_name = "NAME=VALUE")]
    set: Vec<String>,
    /// Run every kernel as it is and once more with this setting, and compare them: a tunable (group.key=value) or a
    /// role (role=implementation), as --set takes it. Several values give a column each. May be repeated, one setting
    /// at a time (docs/how-to/compare-settings.md)
    #[arg(long, value_name = "NAME=VALUE,…", conflicts_with = "command")]
    ab: Vec<String>,
    /// Set a parameter of every workload that has it, or of one workload (WORKLOAD.NAME=EXPRESSION), to an expression
    /// of the machine, such as cpus/2. May be repeated
    #[arg(long, value_name = "NAME=EXPRESSION")]
    param: Vec<String>,
    /// Directory of the records [default: out/NAME of the experiment; with --backend vm or host, NAME has a suffix]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// What runs the experiment
    #[arg(long, value_enum, default_value_t, value_name = "BACKEND")]
    backend: BackendKind,
    #[command(flatten)]
    guest: GuestArgs,
    #[command(flatten)]
    program: ProgramArgs,
    /// Simulated machines do nothing beside the workload: no kernel threads, no daemons, and timers that fire on time
    /// (docs/reference/machine-files.md)
    #[arg(long)]
    quiet_machine: bool,
    /// Simulate what a guest of timing `modelled` runs, not the machine: its CPUs take turns, and a task samples it. WHO
    /// carries out the workload there. For a comparison with guests (docs/explanation/guest-timing.md)
    #[arg(long, value_enum, value_name = "WHO")]
    as_guest: Option<AsGuest>,
    /// Simulate every run to its end. Without it, what is left of the loops of a run that has settled is taken to go on
    /// alike, and logs end there (docs/how-to/simulate-long-runs.md)
    #[arg(long)]
    whole: bool,
    /// Handle each page as a step of its own, where runs of pages are one step otherwise: slower, and other last digits
    /// (docs/explanation/runs-of-pages.md)
    #[arg(long)]
    exact: bool,
    /// Verify the simulator's invariants in every second of model time and at the end, also of runs that have a record
    #[arg(long)]
    check: bool,
    /// Write the event log of every run beside its record, for `numalab trace`
    #[arg(long)]
    trace: bool,
    /// Write the decision log of every run beside its record, for `numalab explain`
    #[arg(long)]
    explain: bool,
    /// Print the answer and then all tables, in the layout of mmtests
    #[arg(long, conflicts_with = "json")]
    full: bool,
    /// Run nothing: print which runs would be carried out, which have a record, and about how much time and memory they
    /// need
    #[arg(long)]
    dry_run: bool,
    /// Print the list of runs as JSON (docs/reference/json.md) instead of the answer
    #[arg(long)]
    json: bool,
}

/// Carries out the runs that have no record yet, then compares all of them.
///
/// # Errors
/// A mistake in the request, reported before the first run; or this machine cannot carry out the runs.
pub fn run(context: &Context, args: &Args) -> Result<Done, Failure> {
    args.program.check()?;
    let experiment = experiment(context, args)?;
    let logs = Logs { trace: args.trace, explain: args.explain, ..Logs::default() };
    let kind = args.as_guest.map_or_else(Sim::default, |who| Sim::in_guest(who.harness()));
    let sim = Sim { check: args.check, again: args.check, logs, memory_limit: args.memory_limit, ..kind };
    if args.dry_run {
        return dry(context, &experiment, args, sim);
    }
    let with = RunOptions {
        backend: args.backend,
        guest: &args.guest,
        program: args.program.given(),
        sim,
        jobs: args.jobs,
        out: args.out.as_deref(),
    };
    let (store, finished) = carry_out(context, &experiment, with)?;
    let exit = exit(&finished);
    if args.json {
        return Ok(Done { text: json(&store, &finished)?, exit });
    }
    let answered = answer::of_records(context, &store, args.full)?;
    Ok(Done { text: answered.text, exit: exit.max(answered.exit) })
}

/// Says what [`run`] would do.
///
/// # Errors
/// As [`run`], as far as that is found before the first run.
fn dry(context: &Context, experiment: &Experiment, args: &Args, sim: Sim) -> Result<Done, Failure> {
    if args.backend == BackendKind::Vm {
        // Guests are checked as far as that needs no image, and their records are known by their image.
        let program = args.program.given().map(ProgramArgs::for_guests).transpose()?;
        backend::check_guests(context, experiment, &args.guest, program.as_ref())?;
        let per_kernel = experiment.column_names().count() * experiment.workloads.len() * experiment.machines.len();
        let runs = per_kernel * experiment.iterations as usize;
        let what = "which of them have a record is known once the images are";
        return Ok(Done::text(format!("{runs} runs in guests; {what}.\n")));
    }
    let progress = Progress::new(0);
    let ready =
        backend::prepare(context, experiment, args.backend, (&args.guest, args.program.given()), sim, &progress)?;
    let dir = options::directory(args.out.as_deref(), &format!("{}{}", experiment.name, ready.suffix));
    let jobs = options::jobs(args.jobs).min(ready.jobs_max);
    let part = dry_run::Part { dir, cells: ready.cells, model_s: None, search: 0 };
    dry_run::forecast(&[part], jobs, &*ready.backend, args.json)
}

/// The experiment that the arguments ask for.
fn experiment(context: &Context, args: &Args) -> Result<Experiment, Failure> {
    let mut experiment = match &args.experiment {
        Some(name) => with_more(from_catalog(context, name)?, &joined(&args.kernel)),
        None => ad_hoc(args)?,
    };
    experiment.iterations = args.iterations.unwrap_or(experiment.iterations);
    experiment.seed = args.seed.unwrap_or(experiment.seed);
    for text in &args.set {
        let s = Setting::from_argument("--set", text)?;
        // The command line overrides the file; two values on the command line are an error, found by `check`.
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
    for text in &args.ab {
        ab::add(&mut experiment, text)?;
    }
    experiment.axes.quiet_machine |= args.quiet_machine;
    let in_file = experiment.axes.until_settled;
    experiment.axes.until_settled = Some(!args.whole && in_file.unwrap_or(true));
    experiment.axes.exact |= args.exact;
    experiment.check()?;
    // The baseline is checked later, since it may be a kernel of the directory.
    experiment.baseline = args.baseline.as_ref().map(|b| named("--baseline", b)).or(experiment.baseline);
    Ok(experiment)
}

/// Reads `NAME=EXPRESSION`, for every workload, or `WORKLOAD.NAME=EXPRESSION`, for one.
fn param(text: &str, workloads: &[Spot<String>]) -> Result<Param, Failure> {
    let mut setting = Setting::from_argument("--param", text)?;
    let name = setting.name.value.clone();
    // A workload in a file may be named by its path or by its name.
    let rest = |of: &str| name.strip_prefix(of)?.strip_prefix('.').map(str::to_string);
    let one = workloads.iter().find_map(|w| Some((w, rest(&w.value).or_else(|| rest(&stem(&w.value)))?)));
    let workload = one.map(|(w, rest)| {
        setting.name.value = rest;
        w.value.clone()
    });
    Ok(Param { workload, setting })
}

/// Reads an experiment by catalog name or path.
fn from_catalog(context: &Context, name: &str) -> Result<Experiment, Failure> {
    let file = context.catalog.find(Kind::Experiment, &named("run", name))?;
    let (own, experiment) = experiment::parse(&file.label, &file.text)?;
    file.check_name(&own)?;
    Ok(experiment)
}

/// The experiment with more kernels after its own. The baseline stays.
fn with_more(mut experiment: Experiment, kernels: &[String]) -> Experiment {
    // Kernels stand before columns, so the first column must be kept as the baseline.
    if experiment.kernels.is_empty() && !kernels.is_empty() {
        experiment.baseline = experiment.baseline.or_else(|| experiment.axes.columns.first().map(|c| c.name.clone()));
    }
    for name in kernels {
        if !experiment.kernels.iter().any(|k| k.value == *name) {
            experiment.kernels.push(named("--kernel", name));
        }
    }
    experiment
}

/// An experiment of the machines, kernels and workloads on the command line. What runs on this host needs no machine.
fn ad_hoc(args: &Args) -> Result<Experiment, Failure> {
    let machines = match args.machine.as_slice() {
        [] if args.backend == BackendKind::Host => vec![HOST.to_string()],
        [] => {
            let expected = "one of `numalab list machines`, a TOML file, NODESxLLCSxCORESxTHREADS, or `host`";
            return Err(Failure::usage(format!("command line: `--machine <M,…>` is missing; expected {expected}")));
        }
        given => given.to_vec(),
    };
    let workloads = match args.program.given() {
        Some(program) => vec![program.name()],
        None => args.workload.clone(),
    };
    let spots = |option: &str, list: &[String]| list.iter().map(|n| named(option, n)).collect();
    let stems = |list: &[String]| list.iter().map(|n| stem(n)).collect::<Vec<_>>().join("+");
    Ok(Experiment {
        name: format!("{}_{}", stems(&machines), stems(&workloads)),
        title: records::AD_HOC.into(),
        about: String::new(),
        machines: spots("--machine", &machines),
        kernels: spots("--kernel", &joined(&args.kernel)),
        workloads: spots("--workload", &workloads),
        baseline: None,
        iterations: 1,
        seed: 1,
        sets: Vec::new(),
        params: Vec::new(),
        axes: Axes::default(),
    })
}

/// `run --json` (docs/reference/json.md).
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

/// The list of runs as JSON.
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
