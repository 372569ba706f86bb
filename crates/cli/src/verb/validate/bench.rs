//! An image beside its model: runs of the same plans in guests and in the simulator.

use super::args::Args;
use super::measured::Measured;
use crate::backend::guest_model::CALIBRATED;
use crate::backend::{self, coordinator, BackendKind, GuestArgs, Ready, Sim, TimingArg};
use crate::context::{named, Context};
use crate::execute::{execute, Backend, Executor};
use crate::failure::{Exit, Failure};
use crate::logs::Logs;
use crate::memory;
use crate::options;
use crate::progress::Progress;
use crate::run_label::run_label;
use crate::sources;
use numalab_lab::fit::divisor_of;
use numalab_lab::image::ImageSpec;
use numalab_model::experiment::{Axes, Cell, Experiment};
use numalab_model::kernel::{Kernel, Setting};
use numalab_model::machine::Machine;
use numalab_model::plan::{PlanInput, SourceFile};
use numalab_model::record::{Status, Store};
use numalab_model::spec::SpecError;
use numalab_sim::Harness;
use std::path::PathBuf;
use std::sync::Arc;

/// Settings in which the plans of one image differ. The simulated kernel takes their values from the guest's plan.
const VARIED: [&str; 2] = ["system.numa_balancing", "system.thp"];

/// Name of the experiment of simulated plans.
pub const SIMULATED: &str = "validate";

/// A setting that this verb makes.
pub(super) fn setting(name: &str, value: &str) -> Result<Setting, Failure> {
    Ok(Setting::from_argument("validate", &format!("{name}={value}"))?)
}

/// One image, its model, and everything that is needed to run both.
pub struct Bench<'a> {
    pub(super) context: &'a Context,
    pub(super) image: &'a str,
    pub(super) guest: GuestArgs,
    pub(super) jobs: usize,
    pub(super) out: PathBuf,
    /// Logs to write of the simulated runs that are compared.
    pub(super) logs: Logs,
    /// The simulated kernel.
    pub model: Kernel,
    /// The worker program of guests whose CPUs take turns.
    pub worker: Harness,
}

impl<'a> Bench<'a> {
    /// The image of `args`, with the kernel that models it.
    ///
    /// # Errors
    /// The series of the image is not known, or the catalog has no such kernel.
    pub(super) fn new(context: &'a Context, args: &Args, image: &'a str) -> Result<Self, Failure> {
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
        Ok(Self { context, image, guest, jobs: options::jobs(args.jobs), out, logs, model, worker: Harness::Worker })
    }

    /// The image, as the user named it.
    pub fn image(&self) -> &str {
        self.image
    }

    /// Whether the guests' times mean anything. With timing `counters` only counts are compared.
    pub(super) fn times_are_valid(&self) -> bool {
        self.guest.timing != Some(TimingArg::Counters)
    }

    /// Runs an experiment in guests. The records go to `name` below the output directory.
    ///
    /// # Errors
    /// See [`backend::prepare`]; a guest that failed.
    pub fn guests(&self, experiment: &Experiment, name: &str) -> Result<Vec<Measured>, Failure> {
        let progress = Progress::new(0);
        let idle = Sim::default();
        let ready = backend::prepare(self.context, experiment, BackendKind::Vm, (&self.guest, None), idle, &progress)?;
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
        let harness = if self.times_are_valid() { self.worker } else { Harness::ParallelWorker };
        self.simulate_as(harness, guests, machine, name, logs)
    }

    /// With timing `counters`: the runs of [`simulate`](Self::simulate) as they would be if the CPUs took turns,
    /// without the mechanisms in which threads meet. `None` with timing `modelled`, whose CPUs do take turns.
    pub(super) fn simulate_by_turns(
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
        let sim = Sim { check: true, logs, ..Sim::in_guest(harness) };
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
            let bytes = format!("{:#?}\n", input.machine).into_bytes().into();
            let input = input.with_sources([SourceFile { place: CALIBRATED.into(), bytes }].into());
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
            name: SIMULATED.into(),
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
