//! The backends a run can use: the simulator, real kernels in virtual machines, the machine at hand.
//!
//! An experiment is the same for all of them; only what its names resolve to differs ([`prepare`]).

mod host;
mod sim;
mod vm;

pub use sim::Sim;
pub use vm::check as check_guests;

use crate::context::Context;
use crate::execute::Backend;
use crate::failure::Failure;
use crate::guest::GuestArgs;
use crate::progress::Progress;
use crate::sources::CatalogSources;
use numalab_model::experiment::{Cell, Experiment};

/// Where an experiment runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Place {
    /// The deterministic simulator
    #[default]
    Sim,
    /// Real kernels in QEMU
    Vm,
    /// This machine, with the kernel it runs (--kernel host,off; docs/host.md)
    Host,
}

/// An experiment resolved for a backend.
pub struct Ready {
    /// What carries it out.
    pub backend: Box<dyn Backend>,
    /// Its runs.
    pub cells: Vec<Cell>,
    /// What is added to the name of the directory, so that backends do not meet in one.
    pub suffix: &'static str,
    /// Runs at a time at most.
    pub jobs_max: usize,
}

/// Resolves everything an experiment names, and makes ready what its kernels need.
///
/// # Errors
/// A wrong name or setting (before anything is fetched or built); a missing tool; a kernel that does not build.
pub fn prepare(
    context: &Context,
    experiment: &Experiment,
    place: Place,
    guest: &GuestArgs,
    sim: Sim,
    progress: &Progress,
) -> Result<Ready, Failure> {
    if place != Place::Sim {
        let asked = [("--check", sim.check), ("--trace", sim.logs.trace), ("--explain", sim.logs.explain)];
        if let Some((option, _)) = asked.iter().find(|a| a.1) {
            return Err(Failure::usage(format!(
                "{option}: has no effect but on --backend sim; expected it only there"
            )));
        }
    }
    match place {
        Place::Sim => {
            guest.refuse("sim")?;
            let sources = CatalogSources::new(context, &experiment.workloads)?;
            let cells = experiment.cells(&sources, sim.name())?;
            Ok(Ready { backend: Box::new(sim), cells, suffix: "", jobs_max: usize::MAX })
        }
        Place::Vm => vm::prepare(context, experiment, guest, progress),
        Place::Host => {
            guest.refuse("host")?;
            host::prepare(context, experiment)
        }
    }
}
