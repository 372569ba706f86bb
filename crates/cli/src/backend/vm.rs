//! Real kernels in virtual machines.

use super::Ready;
use crate::context::Context;
use crate::execute::{describe, Backend, Ran};
use crate::failure::Failure;
use crate::guest::GuestArgs;
use crate::progress::Progress;
use crate::real;
use crate::sources::CatalogSources;
use numalab_lab::fit::{self, FitError, Limits};
use numalab_lab::guest::Progress as GuestProgress;
use numalab_lab::image::{Image, ImageSpec};
use numalab_lab::knobs;
use numalab_lab::qemu::Timing;
use numalab_lab::topology::TopologyError;
use numalab_lab::vm_backend::{Lab, Plan};
use numalab_model::experiment::{Experiment, Sources};
use numalab_model::kernel::{Kernel, Setting};
use numalab_model::machine::Machine;
use numalab_model::plan::{Backend as BackendName, PlanInput, SourceFile};
use numalab_model::record::{Outcome, Status};
use numalab_model::spec::{SpecError, Spot};
use numalab_model::workload::Workload;
use std::sync::Arc;

/// Guests of one laboratory.
struct Vm {
    lab: Lab,
    /// Image of each kernel, by its name in plans.
    images: Vec<(String, Image)>,
}

/// Opens the laboratory, finds or builds the images, proves the timing mode, and resolves the experiment.
///
/// # Errors
/// See [`super::prepare`].
pub fn prepare(
    context: &Context,
    experiment: &Experiment,
    guest: &GuestArgs,
    progress: &Progress,
) -> Result<Ready, Failure> {
    let settings = guest.settings()?;
    let suffix = match settings.timing {
        Timing::Counters => "-vm-counters",
        Timing::Modelled => "-vm-modelled",
    };
    let mut sources = checked(context, experiment, settings.limits)?;
    let lab = Lab::open(settings).map_err(|e| Failure::environment(format!("{e} (`numalab doctor` says more)")))?;
    sources.lab = Some(&lab);
    let version = lab.version().to_string();
    let name = BackendName { name: "vm", version: &version };
    let mut kernels = real::kernels(context, &experiment.kernels, &experiment.sets)?;
    let mut images: Vec<(ImageSpec, Image)> = Vec::new();
    for spec in real::images(&mut kernels, &experiment.kernels)? {
        if images.iter().any(|i| i.0 == spec) {
            continue;
        }
        let image = lab.image(&spec, &mut |what| progress.line(what)).map_err(Failure::environment)?;
        if lab.settings().timing == Timing::Modelled {
            progress.say("testing the timing mode");
        }
        lab.check_timing(&image).map_err(Failure::environment)?;
        images.push((spec, image));
    }
    sources.images = images;
    let cells = experiment.cells(&sources, name)?;
    let by_kernel = sources.by_kernel(kernels, experiment)?;
    drop(sources);
    Ok(Ready { backend: Box::new(Vm { lab, images: by_kernel }), cells, suffix, jobs_max: usize::MAX })
}

/// What is wrong with an experiment in guests, as far as that shows without a laboratory.
///
/// # Errors
/// A bad option for guests, or anything wrong in the experiment.
pub fn check(context: &Context, experiment: &Experiment, guest: &GuestArgs) -> Result<(), Failure> {
    checked(context, experiment, guest.settings()?.limits).map(drop)
}

/// The sources of an experiment that has been resolved with them once, without laboratory and images: what is wrong
/// with it is said before what the host lacks, and nothing is fetched or built for it.
fn checked<'a>(context: &'a Context, experiment: &Experiment, limits: Limits) -> Result<GuestSources<'a>, Failure> {
    let catalog = CatalogSources::new(context, &experiment.workloads)?;
    let sources = GuestSources { catalog, context, limits, lab: None, images: Vec::new() };
    experiment.cells(&sources, BackendName { name: "vm", version: "" })?;
    let mut kernels = real::kernels(context, &experiment.kernels, &experiment.sets)?;
    let images = real::images(&mut kernels, &experiment.kernels)?;
    for (image, name) in images.iter().zip(&experiment.kernels) {
        image.check().map_err(|e| SpecError { nearest: e.nearest, ..name.error(e.what, e.expected) })?;
    }
    Ok(sources)
}

impl Backend for Vm {
    fn name(&self) -> BackendName<'_> {
        BackendName { name: "vm", version: self.lab.version() }
    }

    fn run(&self, input: &PlanInput, progress: &Progress) -> Result<Ran, Failure> {
        let what = describe(input);
        let image = self.images.iter().find(|i| i.0 == input.kernel.name).map(|i| &i.1);
        let image = image.ok_or_else(|| Failure::environment(format!("{what}: no image")))?;
        let knobs = knobs::of(&input.kernel).map_err(|e| Failure::usage(e.to_string()))?;
        let (machine, workload) = (&*input.machine, &*input.workload);
        let plan = Plan { image, machine, workload, knobs: &knobs, seed: input.seed, drill: None };
        let mut virtual_ns = None;
        let ran = self.lab.run(&plan, &mut |p: GuestProgress| {
            virtual_ns = p.guest_ns.or(virtual_ns);
            progress.pulse(&format!("{what}: {}", times(virtual_ns, p.wall.as_secs_f64())));
        });
        Ok(match ran {
            Ok(run) => {
                let (boot, wall) = (run.boot.as_secs_f64(), run.wall.as_secs_f64());
                let note = format!("boot {boot:.2} s, then {wall:.2} s{}", virtual_time(&run.outcome));
                Ran { outcome: run.outcome, note }
            }
            Err(e) => Ran { note: e.to_string(), outcome: self.lab.failed(&plan, &e) },
        })
    }

    fn retries(&self, outcome: &Outcome) -> bool {
        // How a guest fails may be the host's doing: its load, its memory, someone who kills QEMU.
        matches!(outcome.status, Status::Failed(_))
    }
}

fn times(guest_ns: Option<u64>, wall_s: f64) -> String {
    match guest_ns {
        Some(ns) => format!("{:.1} s virtual, {wall_s:.0} s wall", ns as f64 / 1e9),
        None => format!("booted after {wall_s:.0} s"),
    }
}

fn virtual_time(outcome: &Outcome) -> String {
    let elapsed = outcome.scalars.iter().find(|s| s.name == "elapsed_s");
    elapsed.map(|s| format!(" for {:.2} s of the workload", s.value)).unwrap_or_default()
}

/// An experiment's names as guests have them: machines and workloads that fit, kernels with images.
struct GuestSources<'a> {
    catalog: CatalogSources<'a>,
    context: &'a Context,
    /// What guests may have.
    limits: Limits,
    /// The laboratory, once it is open.
    lab: Option<&'a Lab>,
    /// Images found so far.
    images: Vec<(ImageSpec, Image)>,
}

impl GuestSources<'_> {
    /// The image of each kernel under its name in plans.
    fn by_kernel(&self, mut kernels: Vec<Kernel>, experiment: &Experiment) -> Result<Vec<(String, Image)>, SpecError> {
        let specs = real::images(&mut kernels, &experiment.kernels)?;
        let found = |spec: &ImageSpec| self.images.iter().find(|i| i.0 == *spec).map(|i| i.1.clone());
        Ok(kernels.iter().zip(&specs).filter_map(|(k, spec)| Some((k.name.clone(), found(spec)?))).collect())
    }
}

fn topology_error(name: &Spot<String>, e: TopologyError) -> SpecError {
    name.error(e.what, e.possible)
}

impl Sources for GuestSources<'_> {
    fn machine(&self, name: &Spot<String>) -> Result<Arc<Machine>, SpecError> {
        let machine = self.catalog.machine(name)?;
        let fitted = match self.lab {
            Some(lab) => lab.fit_machine(&machine),
            None => fit::fit_machine(&machine, self.limits),
        };
        fitted.map(Arc::new).map_err(|e| topology_error(name, e))
    }
    fn kernels(&self, names: &[Spot<String>], sets: &[Setting]) -> Result<Vec<Kernel>, SpecError> {
        let mut kernels = real::kernels(self.context, names, sets)?;
        let specs = real::images(&mut kernels, names)?;
        for (kernel, spec) in kernels.iter_mut().zip(&specs) {
            // Which file it was is part of what was run.
            if let Some((_, image)) = self.images.iter().find(|i| i.0 == *spec) {
                kernel.image = Some(format!("{} sha256:{}", image.origin, image.sha256));
            }
        }
        Ok(kernels)
    }
    fn params_of(&self, workload: &Spot<String>) -> Result<Vec<String>, SpecError> {
        self.catalog.params_of(workload)
    }
    fn files(
        &self,
        machine: &Spot<String>,
        kernel: (&Spot<String>, &Kernel),
        workload: &Spot<String>,
    ) -> Result<Vec<SourceFile>, SpecError> {
        self.catalog.files(machine, kernel, workload)
    }
    fn workload(
        &self,
        name: &Spot<String>,
        machine: &Machine,
        seed: u64,
        params: &[Setting],
    ) -> Result<Workload, SpecError> {
        let resolve = &mut |m: &Machine| self.catalog.workload(name, m, seed, params);
        fit::fit_workload(machine, self.limits, resolve).map_err(|e| match e {
            FitError::Workload(e) => e,
            FitError::Topology(e) => topology_error(name, e),
        })
    }
}
