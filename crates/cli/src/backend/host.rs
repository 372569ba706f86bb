//! The backend `host`: this machine, with the kernel that it runs.
//!
//! A kernel of an experiment stands for the running one in three cases: it is called `host`; it is of the same series,
//! such as 6.12; or it only changes settings of any kernel, as `off` does. Settings are made before a run and undone
//! after it, which needs root.

use super::ready::Ready;
use super::real_sources::{RealKernels, RealSources};
use crate::context::Context;
use crate::execute::{Backend, Ran};
use crate::failure::Failure;
use crate::progress::RunProgress;
use crate::real_kernels;
use crate::sources::CatalogSources;
use numalab_lab::host_backend::Host as Worker;
use numalab_lab::image::ImageSpec;
use numalab_lab::knobs;
use numalab_lab::program::Program;
use numalab_model::experiment::Experiment;
use numalab_model::kernel::{Kernel, Setting, SAME_IMAGE};
use numalab_model::plan::{Backend as BackendName, PlanInput};
use numalab_model::record::{Outcome, Status};
use numalab_model::spec::{SpecError, Spot};
use std::os::unix::fs::MetadataExt;

/// This machine.
struct Host {
    worker: Worker,
    /// Version of a plan: release of numalab, digest of the worker, release of the running kernel.
    version: String,
    /// Whether this process is root, which may make settings.
    root: bool,
    /// The program that runs in place of a workload of the catalog.
    program: Option<Program>,
}

/// Resolves an experiment for this machine.
///
/// # Errors
/// A kernel that this machine does not run, or a missing worker.
pub fn prepare(context: &Context, experiment: &Experiment, program: Option<Program>) -> Result<Ready, Failure> {
    let worker = Worker::open().map_err(Failure::environment)?;
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease");
    let release = release.map_err(|e| Failure::environment(format!("/proc/sys/kernel/osrelease: {e}")))?;
    let release = release.trim().to_string();
    let version = format!("{}+{} {release}", env!("CARGO_PKG_VERSION"), &worker.worker_digest()[..12]);
    let root = std::fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0);
    let host = Host { worker, version, root, program };
    let catalog = match host.program {
        Some(_) => CatalogSources::with(context, Vec::new()),
        None => CatalogSources::new(context, &experiment.workload_sources())?,
    };
    let backend = RunningKernel { context, release };
    let sources = RealSources { catalog, backend, program: host.program.as_ref() };
    let cells = experiment.cells(&sources, host.name())?;
    // Two runs at a time would disturb each other's measurements.
    Ok(Ready { backend: Box::new(host), cells, suffix: "-host", jobs_max: 1 })
}

impl Backend for Host {
    fn name(&self) -> BackendName<'_> {
        BackendName { name: "host", version: &self.version }
    }
    fn run(&self, input: &PlanInput, progress: &RunProgress) -> Result<Ran, Failure> {
        let knobs = knobs::of(&input.kernel).map_err(|e| Failure::usage(e.to_string()))?;
        let say = &mut |ns: u64| progress.at(ns);
        let what = (&*input.workload, self.program.as_ref());
        let ran = self.worker.run(&input.machine, what, &knobs, input.seed, say);
        Ok(match ran {
            Ok(outcome) => outcome.into(),
            Err(e) => Ran { note: e.to_string(), outcome: e.outcome() },
        })
    }
    fn retries(&self, outcome: &Outcome) -> bool {
        worth_another_try(outcome, self.root)
    }
}

/// Whether a run is worth repeating: it failed, or this process is `root` and the run lacked settings that root can
/// make.
fn worth_another_try(outcome: &Outcome, root: bool) -> bool {
    let unset = || outcome.warnings.iter().any(|w| w.starts_with("not set: "));
    matches!(outcome.status, Status::Failed(_)) || root && unset()
}

/// Whether a kernel stands for the one of `release`: by its image, or by its name if it has no image.
fn runs_here(kernel: &Kernel, release: &str) -> Result<bool, SpecError> {
    let wanted = match kernel.image.as_deref() {
        Some(SAME_IMAGE) => return Ok(true),
        Some(image) => ImageSpec::parse(image)?.series(),
        None => kernel.chain.first().map(|name| real_kernels::series(name)),
    };
    Ok(wanted == Some(real_kernels::series(release)))
}

/// The running kernel, as an experiment names it.
struct RunningKernel<'a> {
    context: &'a Context,
    /// Release of the running kernel, as in `/proc/sys/kernel/osrelease`.
    release: String,
}

impl RealKernels for RunningKernel<'_> {
    fn kernels(&self, names: &[Spot<String>], sets: &[Setting]) -> Result<Vec<Kernel>, SpecError> {
        let mut kernels = real_kernels::kernels_here(self.context, names, sets, &self.release)?;
        for (kernel, name) in kernels.iter_mut().zip(names) {
            if !runs_here(kernel, &self.release)? {
                let what = format!("this machine runs {}, not `{}`", self.release, name.value);
                let series = real_kernels::series(&self.release);
                let expected =
                    format!("`host` (the running kernel), `off`, a kernel of the series {series}, or --backend vm");
                return Err(name.error(what, expected));
            }
            kernel.image = Some(format!("running {}", self.release));
        }
        Ok(kernels)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_tries_again_what_was_not_set_without_it() {
        let warnings = vec!["not set: `kernel.numa_balancing` = 0: denied".into()];
        let unset = Outcome { warnings, ..Outcome::default() };
        assert!(worth_another_try(&unset, true) && !worth_another_try(&unset, false));
        assert!(!worth_another_try(&Outcome::default(), true));
        let failed = Outcome { status: Status::Failed("x".into()), ..Outcome::default() };
        assert!(worth_another_try(&failed, false));
    }

    #[test]
    fn series_of_releases() {
        for (release, wanted) in [("6.1.0-9-amd64", "6.1"), ("6.12-rc3", "6.12"), ("7.0", "7.0")] {
            assert_eq!(real_kernels::series(release), wanted);
        }
    }
}
