//! The names of an experiment, resolved for a backend that runs real kernels.
//!
//! Parameters and files come from the catalog, as they do for the simulator. What differs between the backends is in
//! [`RealKernels`]: which kernels they can run, and how a machine or a workload is fitted to what they have.

use crate::sources::CatalogSources;
use numalab_lab::program::Program;
use numalab_model::experiment::Sources;
use numalab_model::kernel::{Kernel, Setting};
use numalab_model::machine::Machine;
use numalab_model::plan::SourceFile;
use numalab_model::spec::{SpecError, Spot};
use numalab_model::workload::{Process, Workload};
use std::sync::Arc;

/// Resolves a workload of the catalog on a machine.
pub type ResolveWorkload<'a> = dyn FnMut(&Machine) -> Result<Workload, SpecError> + 'a;

/// What a backend with real kernels resolves in its own way.
pub trait RealKernels {
    /// Kernels by name, image or path, as the backend runs them.
    ///
    /// # Errors
    /// An unknown kernel, a setting that a real kernel does not have, or a kernel that the backend cannot run.
    fn kernels(&self, names: &[Spot<String>], sets: &[Setting]) -> Result<Vec<Kernel>, SpecError>;

    /// The machine that the backend provides for the catalog's machine `name`.
    ///
    /// # Errors
    /// The backend cannot provide such a machine.
    fn machine(&self, _name: &Spot<String>, machine: Arc<Machine>) -> Result<Arc<Machine>, SpecError> {
        Ok(machine)
    }

    /// The workload that the backend runs; `resolve` reads it from the catalog for a machine.
    ///
    /// # Errors
    /// The workload is invalid, or the backend cannot run it.
    fn workload(
        &self,
        _name: &Spot<String>,
        machine: &Machine,
        resolve: &mut ResolveWorkload<'_>,
    ) -> Result<Workload, SpecError> {
        resolve(machine)
    }
}

/// Sources of an experiment on a backend with real kernels.
pub struct RealSources<'a, R> {
    /// The catalog.
    pub catalog: CatalogSources<'a>,
    /// What the backend resolves in its own way.
    pub backend: R,
    /// The program that runs in place of a workload of the catalog.
    pub program: Option<&'a Program>,
}

impl<R: RealKernels> Sources for RealSources<'_, R> {
    fn machine(&self, name: &Spot<String>) -> Result<Arc<Machine>, SpecError> {
        self.backend.machine(name, self.catalog.machine(name)?)
    }

    fn kernels(&self, names: &[Spot<String>], sets: &[Setting]) -> Result<Vec<Kernel>, SpecError> {
        self.backend.kernels(names, sets)
    }

    fn params_of(&self, workload: &Spot<String>) -> Result<Vec<String>, SpecError> {
        match self.program {
            Some(_) => Ok(Vec::new()),
            None => self.catalog.params_of(workload),
        }
    }

    fn files(
        &self,
        machine: &Spot<String>,
        kernel: (&Spot<String>, &Kernel),
        workload: &Spot<String>,
    ) -> Result<Vec<SourceFile>, SpecError> {
        let Some(program) = self.program else { return self.catalog.files(machine, kernel, workload) };
        let mut out = self.catalog.machine_and_kernel_files(machine, kernel)?;
        let bytes = program.to_toml().into_bytes().into();
        out.push(SourceFile { place: format!("programs/{}.toml", program.name), bytes });
        Ok(out)
    }

    fn workload(
        &self,
        name: &Spot<String>,
        machine: &Machine,
        seed: u64,
        params: &[Setting],
    ) -> Result<Workload, SpecError> {
        let workload = self.backend.workload(name, machine, &mut |m| match self.program {
            Some(program) => Ok(program.workload()),
            None => self.catalog.workload(name, m, seed, params),
        })?;
        only_simulated(name, &workload).map_or(Ok(workload), Err)
    }
}

/// What the worker cannot do of a workload, if anything: it sets up no control groups.
fn only_simulated(name: &Spot<String>, workload: &Workload) -> Option<SpecError> {
    let uses = |f: fn(&Process) -> bool| workload.processes.iter().find(|p| f(p));
    let (process, key) = match (uses(|p| p.cpu_group.is_some()), uses(|p| p.mems.is_some())) {
        (Some(p), _) => (p, "cpu_weight"),
        (None, Some(p)) => (p, "mems"),
        (None, None) => return None,
    };
    let what = format!("`{key}` of process {} needs a control group, which real backends do not set up", process.name);
    Some(name.error(what, "--backend sim, or the workload without it"))
}
