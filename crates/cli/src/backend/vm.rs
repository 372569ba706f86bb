//! The backend `vm`: real kernels in virtual machines.

use super::guest_args::GuestArgs;
use super::ready::Ready;
use super::real_sources::{RealKernels, RealSources, ResolveWorkload};
use crate::context::Context;
use crate::execute::{Backend, Ran};
use crate::failure::Failure;
use crate::progress::{Progress, RunProgress};
use crate::real_kernels;
use crate::run_label::run_label;
use crate::sources::CatalogSources;
use numalab_lab::fit::{self, FitError, Limits};
use numalab_lab::guest::Progress as GuestProgress;
use numalab_lab::image::{Image, ImageSpec};
use numalab_lab::knobs;
use numalab_lab::program::Program;
use numalab_lab::qemu::Timing;
use numalab_lab::topology::TopologyError;
use numalab_lab::vm_backend::{Lab, Plan};
use numalab_model::experiment::Experiment;
use numalab_model::kernel::{Kernel, Setting};
use numalab_model::machine::Machine;
use numalab_model::plan::{Backend as BackendName, PlanInput};
use numalab_model::record::{Outcome, Status};
use numalab_model::spec::{SpecError, Spot};
use numalab_model::workload::Workload;
use std::sync::Arc;

/// Guests of one laboratory.
struct Vm {
    lab: Lab,
    /// The images, by their text in plans.
    images: Vec<(String, Image)>,
    /// The program that runs in them in place of a workload of the catalog.
    program: Option<Program>,
}

/// The text of an image in plans: the very file that is booted.
fn in_plans(image: &Image) -> String {
    format!("{} sha256:{}", image.origin, image.sha256)
}

/// Opens the laboratory, finds or builds the images, tests the timing mode, and resolves the experiment.
///
/// # Errors
/// See [`super::prepare`].
pub fn prepare(
    context: &Context,
    experiment: &Experiment,
    (guest, program): (&GuestArgs, Option<Program>),
    progress: &Progress,
) -> Result<Ready, Failure> {
    let settings = guest.settings()?;
    let suffix = guest.suffix();
    let mut sources = checked(context, experiment, settings.limits, program.as_ref())?;
    let lab = Lab::open(settings).map_err(|e| Failure::environment(format!("{e} (`numalab doctor` says more)")))?;
    sources.backend.lab = Some(&lab);
    let version = lab.version().to_string();
    let name = BackendName { name: "vm", version: &version };
    let names = experiment.kernel_sources();
    let mut kernels = real_kernels::kernels(context, &names, &[])?;
    let mut images: Vec<(ImageSpec, Image)> = Vec::new();
    for spec in real_kernels::images(&mut kernels, &names)? {
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
    let by_text = images.iter().map(|(_, image)| (in_plans(image), image.clone())).collect();
    sources.backend.images = images;
    let cells = experiment.cells(&sources, name)?;
    drop(sources);
    Ok(Ready { backend: Box::new(Vm { lab, images: by_text, program }), cells, suffix, jobs_max: usize::MAX })
}

/// Checks an experiment for guests, as far as that is possible without a laboratory.
///
/// # Errors
/// A bad option for guests, or anything wrong in the experiment.
pub fn check(
    context: &Context,
    experiment: &Experiment,
    guest: &GuestArgs,
    program: Option<&Program>,
) -> Result<(), Failure> {
    checked(context, experiment, guest.settings()?.limits, program).map(drop)
}

/// Resolves an experiment once without laboratory and images, and returns its sources. Errors in the experiment are
/// thus reported before anything that the host lacks, and before anything is fetched or built.
fn checked<'a>(
    context: &'a Context,
    experiment: &Experiment,
    limits: Limits,
    program: Option<&'a Program>,
) -> Result<RealSources<'a, GuestKernels<'a>>, Failure> {
    let catalog = match program {
        Some(_) => CatalogSources::with(context, Vec::new()),
        None => CatalogSources::new(context, &experiment.workload_sources())?,
    };
    let backend = GuestKernels { context, limits, lab: None, images: Vec::new() };
    let sources = RealSources { catalog, backend, program };
    experiment.cells(&sources, BackendName { name: "vm", version: "" })?;
    let names = experiment.kernel_sources();
    let mut kernels = real_kernels::kernels(context, &names, &[])?;
    let images = real_kernels::images(&mut kernels, &names)?;
    for (image, name) in images.iter().zip(&names) {
        image.check().map_err(|e| real_kernels::image_error(name, e))?;
    }
    Ok(sources)
}

impl Backend for Vm {
    fn name(&self) -> BackendName<'_> {
        BackendName { name: "vm", version: self.lab.version() }
    }

    fn run(&self, input: &PlanInput, progress: &RunProgress) -> Result<Ran, Failure> {
        let what = run_label(&input.plan);
        let image = self.images.iter().find(|i| input.kernel.image.as_ref() == Some(&i.0)).map(|i| &i.1);
        let image = image.ok_or_else(|| Failure::environment(format!("{what}: no image")))?;
        let knobs = knobs::of(&input.kernel).map_err(|e| Failure::usage(e.to_string()))?;
        let (machine, workload) = (&*input.machine, &*input.workload);
        let program = self.program.as_ref();
        let plan = Plan { image, machine, workload, knobs: &knobs, program, seed: input.seed, drill: None };
        let ran = self.lab.run(&plan, &mut |p: GuestProgress| {
            // A guest that boots has no time of its own yet.
            if let Some(ns) = p.guest_ns {
                progress.at(ns);
            }
        });
        Ok(match ran {
            Ok(run) => {
                let (boot, wall) = (run.boot.as_secs_f64(), run.wall.as_secs_f64());
                let how = match &run.outcome.status {
                    Status::Completed => String::new(),
                    Status::Timeout => "; ended at its limit of time".into(),
                    Status::Failed(why) => format!("; failed: {why}"),
                };
                let note = format!("boot {boot:.2} s, then {wall:.2} s{}{how}", virtual_time(&run.outcome));
                Ran { outcome: run.outcome, note }
            }
            Err(e) => Ran { note: e.to_string(), outcome: self.lab.failed(&plan, &e) },
        })
    }

    fn retries(&self, outcome: &Outcome) -> bool {
        // A guest may fail because of its host: load, want of memory, a killed QEMU.
        matches!(outcome.status, Status::Failed(_))
    }
}

/// Virtual time of a finished workload, for the note beside its record.
fn virtual_time(outcome: &Outcome) -> String {
    let elapsed = outcome.scalars.iter().find(|s| s.name == "elapsed_s");
    elapsed.map(|s| format!(" for {:.2} s of the workload", s.value)).unwrap_or_default()
}

/// Kernels, machines and workloads as guests can run them: kernels with images, machines and workloads that fit.
struct GuestKernels<'a> {
    context: &'a Context,
    /// Largest machine and workload of a guest.
    limits: Limits,
    /// The laboratory, once it is open.
    lab: Option<&'a Lab>,
    /// Images found so far.
    images: Vec<(ImageSpec, Image)>,
}

fn topology_error(name: &Spot<String>, e: TopologyError) -> SpecError {
    name.error(e.what, e.possible)
}

impl RealKernels for GuestKernels<'_> {
    fn kernels(&self, names: &[Spot<String>], sets: &[Setting]) -> Result<Vec<Kernel>, SpecError> {
        let mut kernels = real_kernels::kernels(self.context, names, sets)?;
        let specs = real_kernels::images(&mut kernels, names)?;
        for (kernel, spec) in kernels.iter_mut().zip(&specs) {
            // The plan names the very file that is booted.
            if let Some((_, image)) = self.images.iter().find(|i| i.0 == *spec) {
                kernel.image = Some(in_plans(image));
            }
        }
        Ok(kernels)
    }

    fn machine(&self, name: &Spot<String>, machine: Arc<Machine>) -> Result<Arc<Machine>, SpecError> {
        let fitted = match self.lab {
            Some(lab) => lab.fit_machine(&machine),
            None => fit::fit_machine(&machine, self.limits),
        };
        fitted.map(Arc::new).map_err(|e| topology_error(name, e))
    }

    fn workload(
        &self,
        name: &Spot<String>,
        machine: &Machine,
        resolve: &mut ResolveWorkload<'_>,
    ) -> Result<Workload, SpecError> {
        fit::fit_workload(machine, self.limits, &mut |m: &Machine| resolve(m)).map_err(|e| match e {
            FitError::Workload(e) => e,
            FitError::Topology(e) => topology_error(name, e),
        })
    }
}
