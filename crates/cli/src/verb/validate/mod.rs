//! `numalab validate`: the simulator compared with real kernels, counter by counter.
//!
//! Problem: a simulator must be checked against the real system. Approach: the same plans run in guests and in the
//! simulator. The guests use timing `modelled`, in which time is virtual and repeatable. The simulator uses a machine
//! whose speeds were measured in such a guest ([`calibrate`]). The kernel's counters, its decisions and the final
//! placement of pages are compared. Invariant: only times of single operations are calibrated, never a count. Nothing
//! in the simulator depends on the comparison.
//!
//! In such a guest the CPUs take turns. So a second set of guests, with timing `counters`, judges what threads do to
//! each other, by figures that do not depend on the clock ([`shares`]).

mod calibrate;
#[cfg(test)]
mod captured;
mod coordinator;
mod markdown;
mod notes;
mod placement;
mod row;
mod shares;
mod shares_page;
mod table;

use crate::backend::{self, BackendKind, GuestArgs, Ready, Sim, TimingArg};
use crate::context::{named, Context};
use crate::execute::{execute, Backend, Executor};
use crate::failure::{note, Done, Exit, Failure};
use crate::logs::Logs;
use crate::memory;
use crate::options;
use crate::output_file;
use crate::progress::Progress;
use crate::run_label::run_label;
use crate::sources;
use numalab_lab::fit::divisor_of;
use numalab_lab::image::ImageSpec;
use numalab_model::catalog::Kind;
use numalab_model::experiment::{self, Axes, Cell, Experiment};
use numalab_model::kernel::{Kernel, Setting};
use numalab_model::machine::Machine;
use numalab_model::plan::{PlanInput, SourceFile};
use numalab_model::record::{Outcome, Status, Store};
use numalab_model::spec::SpecError;
use numalab_sim::Harness;
use serde::Serialize;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;

/// Arguments of `validate`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Kernel images to compare the simulator with, as for `run --backend vm`
    #[arg(long, value_delimiter = ',', value_name = "IMAGE,…", default_value = "debian-6.12")]
    image: Vec<String>,
    /// Kernel to simulate [default: the catalog's kernel of the image's series]
    #[arg(long, value_name = "KERNEL")]
    kernel: Option<String>,
    /// Settings of huge pages (transparent_hugepage/enabled) in guests and simulator
    #[arg(long, value_enum, value_delimiter = ',', value_name = "WORD,…", default_value = "never")]
    thp: Vec<Thp>,
    /// Machine [default: the first of the experiment]
    #[arg(long, value_name = "M")]
    machine: Option<String>,
    /// Workloads of the experiment to run [default: all]
    #[arg(long, value_delimiter = ',', value_name = "W,…")]
    workloads: Vec<String>,
    /// Experiment with the workloads and their sizes: a name of the catalog, or a TOML file
    #[arg(long, value_name = "EXPERIMENT", default_value = "validate")]
    experiment: String,
    /// Number of runs of each workload, with different seeds [default: the experiment's]
    #[arg(long, value_name = "N", value_parser = options::iterations, allow_negative_numbers = true)]
    iterations: Option<u32>,
    /// Largest number of guests and of simulated runs at a time [default: one per CPU of this host]
    #[arg(long, value_name = "N", value_parser = options::job_count, allow_negative_numbers = true)]
    jobs: Option<NonZeroUsize>,
    /// Directory of the records [default: out/validate]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Write the four counters of NUMA balancing, their score and the final placement to this Markdown file; with
    /// `--timing counters` the shares that do not depend on the clock, and their score
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
    /// TOML file of notes on misses, for --markdown (such as docs/log/fidelity-notes.toml)
    #[arg(long, value_name = "FILE", requires = "markdown")]
    notes: Option<PathBuf>,
    /// Write the decision log of every simulated run beside its record, for `numalab explain`
    #[arg(long)]
    explain: bool,
    /// Write the event log of every simulated run beside its record, for `numalab trace`
    #[arg(long)]
    trace: bool,
    #[command(flatten)]
    guest: GuestArgs,
    /// Print as JSON (docs/reference/json.md)
    #[arg(long)]
    json: bool,
}

/// Setting of `transparent_hugepage/enabled`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Thp {
    /// 4 KiB pages everywhere
    Never,
    /// Huge pages in regions that ask for them
    Madvise,
    /// Huge pages wherever one fits
    Always,
}

impl Thp {
    /// The kernel's word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Never => "never",
            Self::Madvise => "madvise",
            Self::Always => "always",
        }
    }
}

/// Settings in which the plans of one image differ. The simulated kernel takes their values from the guest's plan.
const VARIED: [&str; 2] = ["system.numa_balancing", "system.thp"];

/// A run and what it measured.
pub struct Measured {
    /// The plan.
    pub input: PlanInput,
    /// The outcome, with its time series.
    pub outcome: Outcome,
}

/// The comparison of an image with its model.
#[derive(Serialize)]
pub struct Compared {
    /// Image, as the user named it.
    pub image: String,
    /// Release and hash of the image.
    pub release: String,
    /// Name of the simulated kernel.
    pub kernel: String,
    /// Name of the machine.
    pub machine: String,
    /// Measured times that the simulated machine was given.
    pub calibration: Vec<calibrate::Figure>,
    /// Results by setting of huge pages.
    pub thp: Vec<ThpCompared>,
    /// Runs of both sides that reached their limit of time. They have no result and are not compared.
    pub timeouts: Vec<String>,
}

/// The comparison with one setting of huge pages.
#[derive(Serialize)]
pub struct ThpCompared {
    /// Setting of `transparent_hugepage/enabled`.
    pub thp: &'static str,
    /// Workloads in the order of the experiment.
    pub workloads: Vec<table::Workload>,
}

/// Runs both sides and prints the comparison. Runs that reached their limit of time are named.
///
/// # Errors
/// A mistake in the request, a host that cannot run guests, a guest that failed, or a file that cannot be read or
/// written.
pub fn run(context: &Context, args: &Args) -> Result<Done, Failure> {
    let counters_only = args.guest.timing == Some(TimingArg::Counters);
    if let Some(path) = &args.markdown {
        output_file::target_for(path, if counters_only { shares_page::INTRO } else { markdown::INTRO })?;
    }
    let notes = args.notes.as_deref().map(notes::Notes::read).transpose()?.unwrap_or_default();
    let benches = args.image.iter().map(|image| Bench::new(context, args, image)).collect::<Result<Vec<_>, _>>()?;
    // Every experiment is checked before the first guest runs.
    for bench in &benches {
        backend::check_guests(context, &experiment_of(context, args, bench.image)?, &bench.guest)?;
    }
    let mut report = Vec::new();
    for bench in &benches {
        report.push(one_image(context, args, bench)?);
    }
    if let Some(path) = &args.markdown {
        let page = if counters_only { shares_page::page(&report) } else { markdown::page(&report, &notes) };
        output_file::write(path, &page)?;
    }
    let timeouts: Vec<&String> = report.iter().flat_map(|image| &image.timeouts).collect();
    timeouts.iter().for_each(|run| note(&format!("numalab: {run} reached its limit of time and is not compared")));
    let exit = if timeouts.is_empty() { Exit::OK } else { Exit::TIMEOUT };
    if args.json {
        return Ok(Done { exit, ..Done::json(&report)? });
    }
    let records = format!("\nrecords: {}\n", options::directory(args.out.as_deref(), "validate").display());
    Ok(Done { text: report.iter().map(table::text).collect::<String>() + &records, exit })
}

/// Calibrates and compares one image.
fn one_image(context: &Context, args: &Args, bench: &Bench<'_>) -> Result<Compared, Failure> {
    let mut experiment = experiment_of(context, args, bench.image)?;
    let huge = args.thp.iter().any(|t| *t != Thp::Never);
    let calibration = calibrate::run(bench, &experiment.machines, huge)?;
    let mut compared = Compared {
        image: bench.image.into(),
        release: calibration.release,
        kernel: bench.model.name.clone(),
        machine: experiment.machines[0].value.clone(),
        calibration: calibration.figures,
        thp: Vec::new(),
        timeouts: Vec::new(),
    };
    for thp in &args.thp {
        let word = thp.word();
        experiment.sets = vec![setting("system.thp", word)?];
        let kernel = bench.guests(&experiment, &format!("thp-{word}/kernel"))?;
        let model = bench.simulate(&kernel, &calibration.machine, &format!("thp-{word}/model"), &bench.logs)?;
        let by_turns = bench.simulate_by_turns(&kernel, &calibration.machine, &format!("thp-{word}/model-by-turns"))?;
        compared.timeouts.extend(timeouts(word, kernel.iter().chain(&model)));
        let workloads = table::compare(&kernel, &model, by_turns.as_deref());
        compared.thp.push(ThpCompared { thp: word, workloads });
    }
    Ok(compared)
}

/// Descriptions of the runs that reached their limit of time.
fn timeouts<'a>(thp: &str, runs: impl Iterator<Item = &'a Measured>) -> Vec<String> {
    let late = runs.filter(|m| m.outcome.status == Status::Timeout);
    late.map(|m| format!("{} with huge pages {thp}", run_label(&m.input.plan))).collect()
}

/// A setting that this verb makes.
fn setting(name: &str, value: &str) -> Result<Setting, Failure> {
    Ok(Setting::from_argument("validate", &format!("{name}={value}"))?)
}

/// The experiment for one image.
fn experiment_of(context: &Context, args: &Args, image: &str) -> Result<Experiment, Failure> {
    let file = context.catalog.find(Kind::Experiment, &named("--experiment", &args.experiment))?;
    let (own, mut out) = experiment::parse(&file.label, &file.text)?;
    file.check_name(&own)?;
    out.kernels = vec![named("--image", image)];
    out.baseline = None;
    out.machines.truncate(1);
    if let Some(machine) = &args.machine {
        out.machines = vec![named("--machine", machine)];
    }
    if !args.workloads.is_empty() {
        let known: Vec<&str> = out.workloads.iter().map(|w| w.value.as_str()).collect();
        for name in &args.workloads {
            if !known.contains(&name.as_str()) {
                let what = format!("`{name}` is not in the experiment `{}`", args.experiment);
                let e = named("--workloads", name).error(what, format!("one of {}", known.join(", ")));
                return Err(e.near(name, known.iter().copied()).into());
            }
        }
        out.workloads.retain(|w| args.workloads.contains(&w.value));
        out.params.retain(|p| p.workload.as_ref().is_none_or(|w| args.workloads.contains(w)));
    }
    out.iterations = args.iterations.unwrap_or(out.iterations);
    Ok(out)
}

/// One image, its model, and everything that is needed to run both.
pub struct Bench<'a> {
    context: &'a Context,
    image: &'a str,
    guest: GuestArgs,
    jobs: usize,
    out: PathBuf,
    /// Logs to write of the simulated runs that are compared.
    logs: Logs,
    /// The simulated kernel.
    pub model: Kernel,
}

impl<'a> Bench<'a> {
    fn new(context: &'a Context, args: &Args, image: &'a str) -> Result<Self, Failure> {
        let series = ImageSpec::parse(image).map_err(|e| SpecError { file: format!("--image {image}"), ..e })?.series();
        let name = args.kernel.clone().or(series).ok_or_else(|| {
            Failure::usage(format!("--image {image}: its series is not known; expected --kernel beside it"))
        })?;
        if args.kernel.is_none() && !context.catalog.has_kernel(&name) {
            let what = format!("the catalog has no kernel of the {name} series to hold it against");
            let expected = "--kernel beside it (`numalab list kernels`)";
            return Err(named("--image", image).error(what, expected).into());
        }
        let model = sources::kernels(context, &[named("--kernel", &name)], &[])?;
        let model = model.into_iter().next().ok_or_else(|| Failure::usage(format!("no kernel `{name}`")))?;
        let mut guest = args.guest.clone();
        guest.timing = guest.timing.or(Some(TimingArg::Modelled));
        let plain = |c: char| if c.is_ascii_alphanumeric() || "-._+@".contains(c) { c } else { '_' };
        let directory: String = image.chars().map(plain).collect();
        let out = options::directory(args.out.as_deref(), "validate").join(directory);
        let logs = Logs { trace: args.trace, explain: args.explain, ..Logs::default() };
        Ok(Self { context, image, guest, jobs: options::jobs(args.jobs), out, logs, model })
    }

    /// The image, as the user named it.
    pub fn image(&self) -> &str {
        self.image
    }

    /// Whether the guests' times mean anything. With timing `counters` only counts are compared.
    fn times_are_valid(&self) -> bool {
        self.guest.timing != Some(TimingArg::Counters)
    }

    /// Runs an experiment in guests. The records go to `name` below the output directory.
    ///
    /// # Errors
    /// See [`backend::prepare`]; a guest that failed.
    pub fn guests(&self, experiment: &Experiment, name: &str) -> Result<Vec<Measured>, Failure> {
        let progress = Progress::new(0);
        let idle = Sim::default();
        let ready = backend::prepare(self.context, experiment, BackendKind::Vm, &self.guest, idle, &progress)?;
        let Ready { backend, cells, jobs_max, .. } = ready;
        let store = Store::create(&self.out.join(name), experiment, &cells)?;
        carry_out(&store, cells, &*backend, self.jobs.min(jobs_max), &progress)
    }

    /// Runs the plans of guests in the simulator, on `machine` with its caches divided as the guests' were. Records and
    /// logs go to `name` below the output directory.
    ///
    /// # Errors
    /// The simulator refuses a plan, or its records cannot be written.
    pub fn simulate(
        &self,
        guests: &[Measured],
        machine: &Machine,
        name: &str,
        logs: &Logs,
    ) -> Result<Vec<Measured>, Failure> {
        // With timing `counters` the guest's CPUs run at the same time, so what threads do to each other is judged too.
        let harness = if self.times_are_valid() { Harness::Worker } else { Harness::ParallelWorker };
        self.simulate_as(harness, guests, machine, name, logs)
    }

    /// With timing `counters`: the runs of [`simulate`](Self::simulate) as they would be if the CPUs took turns,
    /// without the mechanisms in which threads meet. `None` with timing `modelled`, whose CPUs do take turns.
    fn simulate_by_turns(
        &self,
        guests: &[Measured],
        machine: &Machine,
        name: &str,
    ) -> Result<Option<Vec<Measured>>, Failure> {
        if self.times_are_valid() {
            return Ok(None);
        }
        self.simulate_as(Harness::Worker, guests, machine, name, &Logs::default()).map(Some)
    }

    fn simulate_as(
        &self,
        harness: Harness,
        guests: &[Measured],
        machine: &Machine,
        name: &str,
        logs: &Logs,
    ) -> Result<Vec<Measured>, Failure> {
        let dir = self.out.join(name);
        // In a guest, the coordinator runs as a background task.
        let logs = Logs { dir: dir.clone(), ..logs.clone() };
        let sim = Sim { check: true, logs, harness, background: 1, ..Sim::default() };
        let kernel = |m: &Measured| -> Kernel {
            let mut kernel = self.model.clone();
            for t in kernel.tunables.iter_mut().filter(|t| VARIED.contains(&t.name.as_str())) {
                t.value = m.input.kernel.tunable(&t.name).unwrap_or(&t.value).to_string();
            }
            kernel
        };
        let mut cells = Vec::new();
        for (i, m) in guests.iter().enumerate() {
            let machine = Arc::new(with_divided_caches(machine, divisor_of(&m.input.workload)));
            let workload = Arc::new(coordinator::beside(&m.input.workload));
            let input = PlanInput::new(sim.name(), machine, Arc::new(kernel(m)), workload, m.input.seed)
                .and_then(|input| input.under(sim.conditions()))
                .map_err(|e| Failure::environment(e.to_string()))?;
            // The calibrated machine is in no file. The record keeps the text that the plan's fingerprint is made of.
            let text = format!("{:#?}\n", input.machine).into();
            let input = input.with_sources([SourceFile { place: "machine.txt".into(), text }].into());
            cells.push(Cell { iteration: i as u32, input });
        }
        let experiment = self.experiment_over(guests);
        let jobs = memory::jobs_that_fit(&sim, &cells, &dir, self.jobs)?;
        let store = Store::create(&dir, &experiment, &cells)?;
        carry_out(&store, cells, &sim, jobs, &Progress::new(guests.len()))
    }

    /// The experiment that describes simulated plans in their directory.
    fn experiment_over(&self, guests: &[Measured]) -> Experiment {
        let mut workloads: Vec<&str> = guests.iter().map(|m| m.input.plan.workload.name.as_str()).collect();
        workloads.dedup();
        Experiment {
            name: "validate".into(),
            title: format!("plans of {} in the simulator", self.image),
            about: String::new(),
            machines: vec![named("validate", "calibrated")],
            kernels: vec![named("validate", &self.model.name)],
            workloads: workloads.iter().map(|w| named("validate", w)).collect(),
            baseline: None,
            iterations: 1,
            seed: 1,
            sets: Vec::new(),
            params: Vec::new(),
            axes: Axes::default(),
        }
    }
}

/// The machine with its L2 and last-level caches divided, to at least 4 KiB.
fn with_divided_caches(machine: &Machine, divisor: u64) -> Machine {
    let mut out = machine.clone();
    let divisor = divisor.max(1);
    out.cache.l2_bytes = (out.cache.l2_bytes / divisor).max(4096);
    for llc in &mut out.llcs {
        llc.size_bytes = (llc.size_bytes / divisor).max(4096);
    }
    out
}

/// Carries out plans and reads their outcomes with time series.
fn carry_out(
    store: &Store,
    cells: Vec<Cell>,
    backend: &dyn Backend,
    jobs: usize,
    progress: &Progress,
) -> Result<Vec<Measured>, Failure> {
    progress.set_total(cells.len());
    execute(store, &cells, &Executor { backend, jobs, progress })?;
    progress.clear();
    let with_series = |cell: Cell| {
        let what = run_label(&cell.input.plan);
        let record = store.get(&cell.input.id)?;
        let outcome = record.ok_or_else(|| Failure::environment(format!("{what}: its record is gone")))?.outcome;
        match outcome.status {
            Status::Completed | Status::Timeout => Ok(Measured { input: cell.input, outcome }),
            Status::Failed(why) => Err(Failure { exit: Exit::FINDING, message: format!("{what}: {why}") }),
        }
    };
    cells.into_iter().map(with_series).collect()
}
