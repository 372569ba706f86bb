//! An experiment: machines × kernels × workloads × seeds, with overrides.
//!
//! Problem: a comparison must be one file (or one command line). If any part of it is wrong, it must be refused as a
//! whole before its first run.
//! Approach: [`parse`] reads the file. [`Experiment::cells`] resolves every name, parameter and override through
//! [`Sources`] and returns one [`Cell`] per run, in a fixed order.
//! Invariants: cells are ordered by machine, workload, kernel, iteration. Iteration `i` has seed `seed + i`, so a
//! longer experiment contains the shorter one. Names of machines, kernels and workloads are unique among the cells.
//! Columns are kernels, and kernels with settings or started in another way ([`Axes`]).

mod axes;
mod columns;
mod instances;
mod numactl;
mod param;
mod params_of_runs;
mod policies;
mod prediction;

pub use axes::{Axes, Column, Named};
pub use instances::Instances;
pub use numactl::Numactl;
pub(crate) use param::params;
pub use param::Param;
pub use prediction::{Prediction, Simulated};

use crate::kernel::{Kernel, Setting};
use crate::machine::Machine;
use crate::plan::{Backend, PlanInput, SourceFile};
use crate::spec::{Doc, SpecError, Spot, Table};
use crate::workload::{self, Workload};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Iterations an experiment may ask for at most.
pub const ITERATIONS_MAX: u32 = 100_000;

/// Place of a seed that is in no file, for messages.
const SEED: &str = "seed";
/// Largest seed: one that every reader of a record's JSON can hold.
pub const SEED_MAX: u64 = i64::MAX as u64;

/// An experiment as written, nothing resolved.
#[derive(Clone, Debug, PartialEq)]
pub struct Experiment {
    /// Name.
    pub name: String,
    /// One line for people.
    pub title: String,
    /// The question of the experiment, in prose.
    pub about: String,
    /// Machines, at least one.
    pub machines: Vec<Spot<String>>,
    /// Kernels; at least one, or a column of [`Axes`].
    pub kernels: Vec<Spot<String>>,
    /// Workloads by their names in reports, at least one.
    pub workloads: Vec<Spot<String>>,
    /// Kernel or column with which the others are compared; the first one if absent.
    pub baseline: Option<Spot<String>>,
    /// Number of runs per machine, kernel and workload.
    pub iterations: u32,
    /// Seed of the first iteration.
    pub seed: u64,
    /// Overrides of roles and tunables.
    pub sets: Vec<Setting>,
    /// Workload parameters.
    pub params: Vec<Param>,
    /// Columns of settings, workloads under other names, and settings of a part of the runs.
    pub axes: Axes,
}

/// Parses an experiment file.
///
/// # Errors
/// Wrong syntax, an unknown key, a value of the wrong kind, an empty list, a baseline that is not among the kernels, or
/// parameters for a workload that is not part of the experiment.
pub fn parse(file: &str, text: &str) -> Result<(Spot<String>, Experiment), SpecError> {
    let doc = Doc::parse(file, text)?;
    let root = doc.root();
    let name = root.str("name")?;
    let (title, about) = (root.title()?, root.opt_str("about")?);
    workload::aliases(&root)?;
    let seed = root.opt_int("seed", 0..=i64::MAX)?;
    let machines = some(&root, "machines")?;
    let columns = axes::columns(&root)?;
    let (named, own_params, mut scoped) = axes::workloads(&root)?;
    let kernels = if columns.is_empty() { some(&root, "kernels")? } else { root.strs("kernels")? };
    let mut workloads = if named.is_empty() { some(&root, "workloads")? } else { root.strs("workloads")? };
    workloads.extend(named.iter().map(|n| n.name.clone()));
    let mut params = root.opt_table("params")?.map(|t| params(&t)).transpose()?.unwrap_or_default();
    params.extend(own_params);
    let mut sets = Vec::new();
    if let Some(t) = root.opt_table("set")? {
        let names = kernels.iter().chain(columns.iter().map(|c| &c.name)).chain(&workloads);
        let of_set = axes::sets(&t, &names.map(|n| n.value.as_str()).collect::<Vec<_>>())?;
        sets = of_set.0;
        scoped.extend(of_set.1);
    }
    let quiet_machine = root.opt_bool("quiet_machine")?.is_some_and(|q| q.value);
    let until_settled = root.opt_bool("until_settled")?.map(|q| q.value);
    let exact = root.opt_bool("exact")?.is_some_and(|q| q.value);
    let experiment = Experiment {
        name: name.value.clone(),
        title,
        about: about.map(|s| s.value.trim().to_string()).unwrap_or_default(),
        machines,
        kernels,
        workloads,
        baseline: root.opt_str("baseline")?,
        iterations: root.opt_int("iterations", 1..=i64::from(ITERATIONS_MAX))?.map_or(1, |n| n.value as u32),
        seed: seed.as_ref().map_or(1, |n| n.value as u64),
        sets,
        params,
        axes: Axes { columns, workloads: named, sets: scoped, quiet_machine, until_settled, exact, prediction: None },
    };
    root.finish()?;
    // An error about the seed is placed where the file states it.
    let placed = |e: SpecError| match &seed {
        Some(at) if e.file == SEED => at.error(e.what, e.expected),
        _ => e,
    };
    experiment.check().map_err(placed)?;
    Ok((name, experiment))
}

/// Reads a list of at least one name.
fn some(root: &Table<'_>, key: &str) -> Result<Vec<Spot<String>>, SpecError> {
    let list = root.strs(key)?;
    if list.is_empty() {
        let expected = "a list of at least one name";
        return Err(if root.has(key) { root.empty(key, expected) } else { root.missing(key, expected) });
    }
    Ok(list)
}

/// Resolves the names of an experiment.
pub trait Sources {
    /// A machine by name, shorthand or path.
    ///
    /// # Errors
    /// The machine is unknown or invalid.
    fn machine(&self, name: &Spot<String>) -> Result<Arc<Machine>, SpecError>;
    /// Kernels by name or path, with overrides.
    ///
    /// # Errors
    /// Those of [`crate::kernel::resolve`].
    fn kernels(&self, names: &[Spot<String>], sets: &[Setting]) -> Result<Vec<Kernel>, SpecError>;
    /// Parameters a workload declares.
    ///
    /// # Errors
    /// The workload is unknown or invalid.
    fn params_of(&self, workload: &Spot<String>) -> Result<Vec<String>, SpecError>;
    /// A workload resolved for a machine and seed; `params` are among those it declares.
    ///
    /// # Errors
    /// The workload is unknown or invalid, or an expression has no value.
    fn workload(
        &self,
        name: &Spot<String>,
        machine: &Machine,
        seed: u64,
        params: &[Setting],
    ) -> Result<Workload, SpecError>;
    /// The files from which a machine, a kernel and a workload were read, if they came from files.
    ///
    /// # Errors
    /// A file that can no longer be read.
    fn files(
        &self,
        _machine: &Spot<String>,
        _kernel: (&Spot<String>, &Kernel),
        _workload: &Spot<String>,
    ) -> Result<Vec<SourceFile>, SpecError> {
        Ok(Vec::new())
    }
}

/// One run of an experiment.
#[derive(Clone, Debug)]
pub struct Cell {
    /// Number of the run among those that differ only in seed, from 0.
    pub iteration: u32,
    /// The plan of the run.
    pub input: PlanInput,
}

/// Whether parameters for `name` are meant for a workload of the list: by its name, or by that of its file without
/// folder and `.toml`.
fn goes_by(workload: &str, name: &str) -> bool {
    let file = workload.strip_suffix(".toml").map(|path| path.rsplit('/').next().unwrap_or(path));
    workload == name || file == Some(name)
}

impl Experiment {
    /// Refuses contradictions that can be found without a catalog.
    ///
    /// # Errors
    /// A machine or workload that is named twice, a baseline that is not among the kernels, parameters for a workload
    /// that is not run, or seeds above [`SEED_MAX`].
    pub fn check(&self) -> Result<(), SpecError> {
        let after_first = u64::from(self.iterations.saturating_sub(1));
        if self.seed.checked_add(after_first).is_none_or(|last| last > SEED_MAX) {
            let what = format!("the last of {} runs from seed {} has one above {SEED_MAX}", self.iterations, self.seed);
            return Err(SpecError::plain(SEED, what, format!("a first seed of at most {}", SEED_MAX - after_first)));
        }
        // Names are compared before anything is read, so that a name a thousand times is not read a thousand times.
        let columns: Vec<Spot<String>> = self.axes.columns.iter().map(|c| c.name.clone()).collect();
        for names in [&self.machines, &self.workloads, &columns] {
            let mut seen = BTreeSet::new();
            if let Some(twice) = names.iter().find(|n| !seen.insert(n.value.as_str())) {
                unique(twice, &twice.value, std::iter::once(twice.value.as_str()))?;
            }
        }
        if let Some(b) = &self.baseline {
            let names: Vec<&str> = self.column_names().map(|k| k.value.as_str()).collect();
            if !names.contains(&b.value.as_str()) {
                let expected = format!("one of the kernels {}", names.join(", "));
                return Err(b
                    .error(format!("the baseline `{}` is not compared", b.value), expected)
                    .near(&b.value, names));
            }
        }
        for p in &self.params {
            let Some(w) = &p.workload else { continue };
            if !self.workloads.iter().any(|n| goes_by(&n.value, w)) {
                let names: Vec<&str> = self.workloads.iter().map(|n| n.value.as_str()).collect();
                let e =
                    p.setting.name.error(format!("parameters for `{w}`, which is not run"), "a workload of the list");
                return Err(e.near(w, names));
            }
        }
        Ok(())
    }

    /// Resolves everything and returns the runs in order.
    ///
    /// # Errors
    /// The first name, override, parameter or expression that is wrong.
    pub fn cells(&self, sources: &dyn Sources, backend: Backend<'_>) -> Result<Vec<Cell>, SpecError> {
        let mut machines: Vec<Arc<Machine>> = Vec::new();
        for name in &self.machines {
            let m = sources.machine(name)?;
            unique(name, &m.name, machines.iter().map(|m| m.name.as_str()))?;
            machines.push(m);
        }
        let kernels = self.kernels_by_workload(sources)?;
        let params = self.params_by_workload(sources)?;
        self.check_column_params(sources)?;
        let mut cells = Vec::new();
        for (machine_name, machine) in self.machines.iter().zip(&machines) {
            let mut names: Vec<String> = Vec::new();
            for (workload, (params, columns)) in self.workloads.iter().zip(params.iter().zip(&kernels)) {
                let (original, resolved) = self.seeds(sources, workload, machine, params)?;
                let name = resolved.first().map(|w| w.name.clone()).unwrap_or_default();
                unique(workload, &name, names.iter().map(String::as_str))?;
                names.push(name);
                for column in columns {
                    let of = self.source_of(workload);
                    let files = sources.files(machine_name, (column.source, &column.kernel), of)?;
                    let files: Arc<[SourceFile]> = files.into();
                    let with = self.with_params(sources, (workload, machine), params, column)?;
                    let mut first: Option<PlanInput> = None;
                    for (iteration, w) in (0..).zip(&resolved) {
                        let with =
                            with.as_ref().map(|w| (w.workloads[iteration as usize].clone(), w.condition.clone()));
                        let seed = self.seed.wrapping_add(u64::from(iteration));
                        let written =
                            |e: serde_json::Error| workload.error(e.to_string(), "a plan that can be written as JSON");
                        let input = match &first {
                            Some(first) => first.again(w.clone(), seed),
                            None => PlanInput::new(backend, machine.clone(), column.kernel.clone(), w.clone(), seed),
                        };
                        let input = input.map_err(written)?;
                        first.get_or_insert_with(|| input.clone());
                        let input = self.started(input, (workload, &original), (column, with), backend)?;
                        policies::check(&column.kernel, &input.workload, workload)?;
                        cells.push(Cell { iteration, input: input.with_sources(files.clone()) });
                    }
                }
            }
        }
        Ok(cells)
    }
}

/// Refuses a name that is among those `before` it.
fn unique<'a>(spot: &Spot<String>, name: &str, mut before: impl Iterator<Item = &'a str>) -> Result<(), SpecError> {
    if before.any(|b| b == name) {
        return Err(spot.error(format!("`{name}` is named twice"), "each name once, so that results can be told apart"));
    }
    Ok(())
}

#[cfg(test)]
pub(crate) mod tests;
