//! The backends of a run: the simulator, real kernels in virtual machines, and this machine.
//!
//! The same experiment runs on all of them. Only what its names resolve to differs ([`prepare`]).

pub mod coordinator;
mod guest_args;
pub mod guest_model;
mod host;
mod program_args;
mod ready;
mod real_sources;
mod sim;
mod vm;

pub use guest_args::{GuestArgs, TimingArg};
pub use guest_model::AsGuest;
pub use program_args::ProgramArgs;
pub use ready::Ready;
pub use sim::Sim;
pub use vm::check as check_guests;

use crate::context::Context;
use crate::execute::Backend as _;
use crate::failure::Failure;
use crate::progress::Progress;
use crate::sources::CatalogSources;
use numalab_model::experiment::Experiment;

/// Which backend runs an experiment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum BackendKind {
    /// The deterministic simulator
    #[default]
    Sim,
    /// Real kernels in QEMU guests (docs/reference/vm.md)
    Vm,
    /// This machine, with the kernel it runs (--kernel host,off; docs/reference/host.md)
    Host,
}

/// Resolves everything that an experiment names, and prepares what its kernels need.
///
/// # Errors
/// A wrong name or setting (before anything is fetched or built); a missing tool; a kernel that does not build.
pub fn prepare(
    context: &Context,
    experiment: &Experiment,
    kind: BackendKind,
    (guest, program): (&GuestArgs, Option<&ProgramArgs>),
    sim: Sim,
    progress: &Progress,
) -> Result<Ready, Failure> {
    if kind != BackendKind::Sim {
        let asked = [("--check", sim.check), ("--trace", sim.logs.trace), ("--explain", sim.logs.explain)];
        let asked = asked.into_iter().chain([("--as-guest", sim.background > 0)]);
        if let Some((option, _)) = asked.into_iter().find(|a| a.1) {
            return Err(Failure::usage(format!(
                "{option}: has no effect but on --backend sim; expected it only there"
            )));
        }
    }
    match kind {
        BackendKind::Sim => {
            guest.refuse("sim")?;
            if let Some(program) = program {
                return Err(program.not_simulated());
            }
            let sources = CatalogSources::new(context, &experiment.workload_sources())?;
            let mut cells = experiment.cells(&sources, sim.name())?;
            if sim.background > 0 {
                cells = cells.into_iter().map(|cell| guest_model::in_guest(cell, &sim)).collect::<Result<_, _>>()?;
            }
            Ok(Ready { backend: Box::new(sim), cells, suffix: "", jobs_max: usize::MAX })
        }
        BackendKind::Vm => {
            let program = program.map(ProgramArgs::for_guests).transpose()?;
            vm::prepare(context, experiment, (guest, program), progress)
        }
        BackendKind::Host => {
            guest.refuse("host")?;
            host::prepare(context, experiment, program.map(ProgramArgs::for_host).transpose()?)
        }
    }
}
