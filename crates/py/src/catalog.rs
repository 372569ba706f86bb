//! The catalog, and the plans of what is asked of it.

use crate::error;
use crate::kept::{Kept, KeptSources};
use crate::plan::Plan;
use numalab_cli::context::{named, Context};
use numalab_cli::sources::{self, CatalogSources};
use numalab_cli::AD_HOC;
use numalab_model::catalog::Kind;
use numalab_model::experiment::{self, Axes, Cell, Experiment, Param};
use numalab_model::kernel::{Kernel, Setting};
use numalab_model::plan::Backend;
use numalab_model::spec::{SpecError, Spot};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::Arc;

/// Machines, kernels, workloads and experiments by name.
#[pyclass(module = "numalab._native")]
pub struct Catalog {
    context: Context,
    kept: Kept,
}

/// What an experiment consists of, as a dictionary with these keys.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct Asked {
    name: String,
    machines: Vec<String>,
    kernels: Vec<String>,
    workloads: Vec<String>,
    /// Workload (or all that have the parameter), name and expression.
    params: Vec<(Option<String>, String, String)>,
    settings: Vec<(String, String)>,
    quiet_machine: bool,
    until_settled: bool,
    exact: bool,
}

/// An experiment with its runs.
#[pyclass(frozen, module = "numalab._native")]
pub struct Request {
    pub experiment: Experiment,
    pub cells: Arc<[Cell]>,
}

#[pymethods]
impl Request {
    /// Name of the experiment.
    #[getter]
    fn name(&self) -> &str {
        &self.experiment.name
    }
    /// Its runs, in order.
    #[getter]
    fn plans(&self) -> Vec<Plan> {
        (0..self.cells.len()).map(|at| Plan { cells: self.cells.clone(), at }).collect()
    }
    /// The same runs once for each of `ways`: what the names of kernels end in, and further conditions of the plans.
    fn under(&self, py: Python<'_>, ways: Vec<(String, Vec<(String, String)>)>) -> PyResult<Self> {
        let mut cells = Vec::with_capacity(ways.len() * self.cells.len());
        for (ending, conditions) in &ways {
            for cell in self.cells.iter() {
                let mut input = cell.input.clone();
                let mut kernel = Kernel::clone(&input.kernel);
                kernel.name.push_str(ending);
                Arc::make_mut(&mut input.plan.kernel).name.clone_from(&kernel.name);
                input.kernel = Arc::new(kernel);
                let conditions = [&input.plan.conditions[..], conditions].concat();
                let input = input.under(conditions).map_err(|e| error::lab(py, 3, &e.to_string()))?;
                cells.push(Cell { iteration: cell.iteration, input });
            }
        }
        // The baseline is a kernel as the first way has it.
        let mut experiment = self.experiment.clone();
        if let (Some(baseline), Some((ending, _))) = (&mut experiment.baseline, ways.first()) {
            baseline.value.push_str(ending);
        }
        Ok(Self { experiment, cells: cells.into() })
    }
}

fn kind(word: &str) -> PyResult<Kind> {
    let known = Kind::ALL.map(Kind::folder);
    Kind::ALL.into_iter().find(|k| k.folder() == word).ok_or_else(|| {
        PyValueError::new_err(format!("no kind `{word}` in the catalog; expected one of {}", known.join(", ")))
    })
}

/// The backend of every plan.
fn sim() -> Backend<'static> {
    Backend { name: "sim", version: numalab_sim::VERSION }
}

fn spots(place: &str, names: &[String]) -> Vec<Spot<String>> {
    names.iter().map(|n| named(place, n)).collect()
}

fn setting(place: &str, name: &str, value: String) -> Setting {
    let file = format!("{place} {name}={value}");
    Setting { name: Spot { value: name.into(), file, line: 0, column: 0 }, value }
}

impl Catalog {
    fn cells(&self, experiment: &Experiment, files: bool) -> Result<Vec<Cell>, SpecErrorOrFailure> {
        experiment.check()?;
        let names = experiment.workload_sources();
        if !files {
            let workloads = self.kept.workloads(&self.context, &names)?;
            let sources = KeptSources { kept: &self.kept, sources: CatalogSources::with(&self.context, workloads) };
            return Ok(experiment.cells(&sources, sim())?);
        }
        // Of a failure only the text is left, so the error is looked for, with its place and suggestion.
        let refused = |failure| {
            let found = names.iter().find_map(|name| sources::workload(&self.context, name).err());
            found.map_or(SpecErrorOrFailure::Failure(failure), SpecErrorOrFailure::Spec)
        };
        let sources = CatalogSources::new(&self.context, &names).map_err(refused)?;
        Ok(experiment.cells(&sources, sim())?)
    }
    fn resolve(&self, py: Python<'_>, experiment: Experiment, files: bool) -> PyResult<Request> {
        let cells = py.detach(|| self.cells(&experiment, files)).map_err(|e| e.raise(py))?;
        Ok(Request { experiment, cells: cells.into() })
    }
}

/// The two forms of a refusal.
enum SpecErrorOrFailure {
    Spec(SpecError),
    Failure(numalab_cli::failure::Failure),
}

impl From<SpecError> for SpecErrorOrFailure {
    fn from(e: SpecError) -> Self {
        Self::Spec(e)
    }
}

impl From<numalab_cli::failure::Failure> for SpecErrorOrFailure {
    fn from(e: numalab_cli::failure::Failure) -> Self {
        Self::Failure(e)
    }
}

impl SpecErrorOrFailure {
    fn raise(self, py: Python<'_>) -> PyErr {
        match self {
            Self::Spec(e) => error::spec(py, &e),
            Self::Failure(e) => error::failure(py, &e),
        }
    }
}

#[pymethods]
impl Catalog {
    /// The built-in catalog, with `folder` laid over it.
    #[new]
    #[pyo3(signature = (folder=None))]
    fn new(py: Python<'_>, folder: Option<PathBuf>) -> PyResult<Self> {
        let context = Context::new(folder.as_deref()).map_err(|e| error::failure(py, &e))?;
        Ok(Self { context, kept: Kept::default() })
    }
    /// Names of a kind: `machines`, `kernels`, `workloads`, `experiments` or `published`.
    fn names(&self, of: &str) -> PyResult<Vec<String>> {
        Ok(self.context.catalog.names(kind(of)?).map(str::to_string).collect())
    }
    /// Place and text of an entry's file.
    fn text(&self, py: Python<'_>, of: &str, name: &str) -> PyResult<(String, String)> {
        let file = self.context.catalog.find(kind(of)?, &named("catalog", name)).map_err(|e| error::spec(py, &e))?;
        Ok((file.label.clone(), file.text.to_string()))
    }
    /// Adds a text as the entry `name`.
    fn insert(&mut self, of: &str, name: &str, label: &str, text: &str) -> PyResult<()> {
        self.context.catalog.insert(kind(of)?, name, label, text);
        self.kept = Kept::default();
        Ok(())
    }
    /// The runs of machines × kernels × workloads × seeds; without `files` they cannot have records.
    #[pyo3(signature = (asked, seed=1, iterations=1, baseline=None, files=true))]
    fn request(
        &self,
        py: Python<'_>,
        asked: Asked,
        seed: u64,
        iterations: u32,
        baseline: Option<String>,
        files: bool,
    ) -> PyResult<Request> {
        let param = |(workload, name, value): (Option<String>, String, String)| Param {
            workload,
            setting: setting("params", &name, value),
        };
        let experiment = Experiment {
            name: asked.name,
            title: AD_HOC.into(),
            about: String::new(),
            machines: spots("machine", &asked.machines),
            kernels: spots("kernel", &asked.kernels),
            workloads: spots("workload", &asked.workloads),
            baseline: baseline.map(|b| named("baseline", &b)),
            iterations,
            seed,
            sets: asked.settings.into_iter().map(|(n, v)| setting("settings", &n, v)).collect(),
            params: asked.params.into_iter().map(param).collect(),
            axes: Axes {
                quiet_machine: asked.quiet_machine,
                until_settled: Some(asked.until_settled),
                exact: asked.exact,
                ..Axes::default()
            },
        };
        self.resolve(py, experiment, files)
    }
    /// The runs of an experiment: a name of the catalog or a path.
    #[pyo3(signature = (name, seed=None, iterations=None))]
    fn experiment(&self, py: Python<'_>, name: &str, seed: Option<u64>, iterations: Option<u32>) -> PyResult<Request> {
        let read = || {
            let file = self.context.catalog.find(Kind::Experiment, &named("experiment", name))?;
            let (own, experiment) = experiment::parse(&file.label, &file.text)?;
            file.check_name(&own)?;
            Ok(experiment)
        };
        let mut experiment = read().map_err(|e: SpecError| error::spec(py, &e))?;
        experiment.seed = seed.unwrap_or(experiment.seed);
        experiment.iterations = iterations.unwrap_or(experiment.iterations);
        self.resolve(py, experiment, true)
    }
}
