//! Resolving the names of an experiment through the catalog.

use crate::context::Context;
use crate::failure::Failure;
use crate::real;
use numalab_kernel::numa::NumaTopology;
use numalab_kernel::sched::{Domains, SchedConfig};
use numalab_model::catalog::{is_path, File, Kind};
use numalab_model::experiment::Sources;
use numalab_model::kernel::{self, Kernel, Setting};
use numalab_model::machine::{self, Machine};
use numalab_model::spec::{SpecError, Spot};
use numalab_model::workload::{self, Workload, WorkloadSpec};
use std::sync::Arc;

/// Loads a machine by catalog name, shorthand or path.
///
/// # Errors
/// Unknown, unreadable or invalid.
pub fn machine(context: &Context, name: &Spot<String>) -> Result<Machine, SpecError> {
    let names: Vec<&str> = context.catalog.names(Kind::Machine).collect();
    let find = |n: &str| context.catalog.machine_text(n);
    // The loader does not know which option named the machine.
    let place =
        |e: SpecError| if e.line == 0 && e.file == "machine" { SpecError { file: name.file.clone(), ..e } } else { e };
    let machine = machine::load(&name.value, &find, &names).map_err(place)?;
    check_own_name(context, Kind::Machine, name, &machine.name)?;
    Ok(machine)
}

/// Scheduling domains of a machine; what the kernel allows in a distance table does not always give a tower.
///
/// # Errors
/// Distances from which no tower follows.
pub fn domains(machine: &Machine, name: &Spot<String>, config: &SchedConfig) -> Result<Domains, SpecError> {
    Domains::build(machine, config).map_err(|e| {
        let (what, expected) = e.parts();
        name.error(format!("{}: {what}", machine.name), expected)
    })
}

/// Parses a workload by catalog name or path.
///
/// # Errors
/// Unknown, unreadable or invalid.
pub fn workload(context: &Context, name: &Spot<String>) -> Result<WorkloadSpec, SpecError> {
    let file = context.catalog.find(Kind::Workload, name)?;
    let spec = workload::parse(&file.label, &file.text)?;
    check_own_name(context, Kind::Workload, name, spec.name())?;
    Ok(spec)
}

/// Kernels by name or path, with overrides.
///
/// # Errors
/// See [`kernel::resolve`]; an image, which only a real machine can run.
pub fn kernels(context: &Context, names: &[Spot<String>], sets: &[Setting]) -> Result<Vec<Kernel>, SpecError> {
    if let Some(name) = names.iter().find(|n| real::is_image(&n.value)) {
        let what = format!("`{}` is the image of a real kernel", name.value);
        return Err(name.error(what, "a kernel of the catalog (`numalab list kernels`), or --backend vm"));
    }
    kernel::resolve(names, &context.catalog, &context.vocabulary, sets)
}

/// Refuses a catalog file that calls itself something else than its file does.
fn check_own_name(context: &Context, kind: Kind, name: &Spot<String>, own: &str) -> Result<(), SpecError> {
    match context.catalog.get(kind, &name.value) {
        Some(File { label, .. }) if !is_path(&name.value) && name.value != own => {
            let what = format!("`name` is {own:?}");
            Err(SpecError::plain(label, what, format!("{:?}, as the file is called", name.value)))
        }
        _ => Ok(()),
    }
}

/// The experiment's view of the catalog. Parsed workloads are kept: an experiment resolves each of them
/// once per machine and seed.
pub struct CatalogSources<'a> {
    context: &'a Context,
    workloads: Vec<(String, WorkloadSpec)>,
}

impl<'a> CatalogSources<'a> {
    /// Parses the workloads an experiment names.
    ///
    /// # Errors
    /// A workload that is unknown or invalid.
    pub fn new(context: &'a Context, names: &[Spot<String>]) -> Result<Self, Failure> {
        let mut workloads: Vec<(String, WorkloadSpec)> = Vec::new();
        for name in names {
            workloads.push((name.value.clone(), workload(context, name)?));
        }
        Ok(Self { context, workloads })
    }

    fn spec(&self, name: &Spot<String>) -> Result<&WorkloadSpec, SpecError> {
        let found = self.workloads.iter().find(|w| w.0 == name.value).map(|w| &w.1);
        found.ok_or_else(|| self.context.catalog.unknown(Kind::Workload, name))
    }
}

impl Sources for CatalogSources<'_> {
    fn machine(&self, name: &Spot<String>) -> Result<Arc<Machine>, SpecError> {
        let machine = machine(self.context, name)?;
        // Before the domains, whose number of steps grows with the cube of the nodes.
        NumaTopology::new(&machine).map_err(|e| name.error(e.what, e.expected))?;
        domains(&machine, name, &SchedConfig::default())?;
        Ok(Arc::new(machine))
    }
    fn kernels(&self, names: &[Spot<String>], sets: &[Setting]) -> Result<Vec<Kernel>, SpecError> {
        kernels(self.context, names, sets)
    }
    fn params_of(&self, workload: &Spot<String>) -> Result<Vec<String>, SpecError> {
        Ok(self.spec(workload)?.params().iter().map(|p| p.name.clone()).collect())
    }
    fn workload(
        &self,
        name: &Spot<String>,
        machine: &Machine,
        seed: u64,
        settings: &[Setting],
    ) -> Result<Workload, SpecError> {
        let params: Vec<(String, String)> = settings.iter().map(|p| (p.name.value.clone(), p.value.clone())).collect();
        self.spec(name)?.resolve(machine, seed, &params).map_err(|e| placed(e, settings))
    }
}

/// A workload takes every parameter for one of the command line; one of an experiment's file has its place there.
fn placed(e: SpecError, settings: &[Setting]) -> SpecError {
    let about = |s: &&Setting| s.name.line > 0 && e.what.starts_with(&format!("parameter `{}`", s.name.value));
    match settings.iter().find(about).filter(|_| e.file == "command line") {
        Some(Setting { name, .. }) => SpecError { file: name.file.clone(), line: name.line, column: name.column, ..e },
        None => e,
    }
}
