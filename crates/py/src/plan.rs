//! A plan, and its run.

use crate::error;
use crate::outcome::Outcome;
use crate::policy::{Policy, Problem};
use numalab_cli::logs::Logs;
use numalab_kernel::registry;
use numalab_model::experiment::Cell;
use numalab_model::plan::PlanInput;
use numalab_sim::{Observers, Policies, SimConfig, SimError};
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

/// Model time of a run in progress.
#[pyclass(frozen, module = "numalab._native")]
#[derive(Default)]
pub struct Clock {
    ns: Arc<AtomicU64>,
}

#[pymethods]
impl Clock {
    #[new]
    fn new() -> Self {
        Self::default()
    }
    /// Model time so far, ns.
    #[getter]
    fn ns(&self) -> u64 {
        self.ns.load(Ordering::Relaxed)
    }
}

/// A run to be carried out: machine, kernel, workload and seed, resolved.
#[pyclass(frozen, module = "numalab._native")]
pub struct Plan {
    /// The runs of its request, which its plans share.
    pub cells: Arc<[Cell]>,
    /// Its place among them.
    pub at: usize,
}

impl Plan {
    /// The resolved plan.
    pub fn input(&self) -> &PlanInput {
        &self.cells[self.at].input
    }
}

#[pymethods]
impl Plan {
    /// SHA-256 of the plan, hexadecimal: equal ids give equal outcomes.
    #[getter]
    fn id(&self) -> &str {
        self.input().id.full()
    }
    /// Name of the machine.
    #[getter]
    fn machine(&self) -> &str {
        &self.input().plan.machine.name
    }
    /// Name of the kernel, with its overrides.
    #[getter]
    fn kernel(&self) -> &str {
        &self.input().plan.kernel.name
    }
    /// Name of the workload.
    #[getter]
    fn workload(&self) -> &str {
        &self.input().plan.workload.name
    }
    /// Seed of every random stream.
    #[getter]
    fn seed(&self) -> u64 {
        self.input().seed
    }
    /// Number of the run among those that differ only in seed.
    #[getter]
    fn iteration(&self) -> u32 {
        self.cells[self.at].iteration
    }
    /// Parameters of the workload, as text.
    #[getter]
    fn params(&self) -> Vec<(String, String)> {
        self.input().plan.workload.params.clone()
    }
    /// Limit of model time, s.
    #[getter]
    fn limit_s(&self) -> f64 {
        self.input().workload.limit_ns as f64 / 1e9
    }
    /// Warnings about machine, kernel and workload.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.input().plan.warnings().cloned().collect()
    }
    /// The canonical form, whose SHA-256 is the id.
    fn json(&self, py: Python<'_>) -> PyResult<String> {
        numalab_model::plan::canonical(&self.input().plan).map_err(|e| error::lab(py, 3, &e.to_string()))
    }
    /// Runs the plan for its events, which are written beside its record in `dir`, for `numalab trace`.
    #[pyo3(signature = (dir, policy=None))]
    fn write_events(&self, py: Python<'_>, dir: PathBuf, policy: Option<&Policy>) -> PyResult<()> {
        let logs = Logs { dir, trace: true, explain: false };
        let policies = policy.map(Policy::hooks).unwrap_or_default();
        let (observers, pending) = logs.open(self.input()).map_err(|e| error::failure(py, &e))?;
        let ran = py.detach(|| simulate(self.input(), observers, policies, false));
        if let Some(Problem(e)) = policy.and_then(Policy::problem) {
            return Err(e);
        }
        match ran {
            Ok(_) => pending.finish(&logs, &self.input().id, None).map_err(|e| error::failure(py, &e)),
            // The unfinished file goes with `pending`.
            Err((code, message)) => Err(error::lab(py, code, &message)),
        }
    }

    /// Runs the plan in the simulator. Other threads of Python go on meanwhile.
    #[pyo3(signature = (clock=None, policy=None, check=false))]
    fn run(&self, py: Python<'_>, clock: Option<&Clock>, policy: Option<&Policy>, check: bool) -> PyResult<Outcome> {
        let observers = Observers { clock: clock.map(|c| c.ns.clone()), ..Observers::default() };
        let policies = policy.map(Policy::hooks).unwrap_or_default();
        let ran = py.detach(|| simulate(self.input(), observers, policies, check));
        if let Some(Problem(e)) = policy.and_then(Policy::problem) {
            return Err(e);
        }
        ran.map(Outcome::from).map_err(|(code, message)| error::lab(py, code, &message))
    }
}

/// The outcome of a plan, or an exit code and a message.
fn simulate(
    input: &PlanInput,
    observers: Observers,
    policies: Policies,
    check: bool,
) -> Result<numalab_model::record::Outcome, (u8, String)> {
    let config = SimConfig::of(&input.kernel).map_err(|e| (2, format!("kernel {}: {e}", input.kernel.name)))?;
    let config = config.with_policies(policies).with_machine_background(!input.on_quiet_machine());
    let config = config.with_settling(input.ends_settled()).with_exact_pages(input.is_exact()).with_checks(check);
    numalab_cli::memory::check(input, &config).map_err(|e| (e.exit.code(), e.message))?;
    let ran = numalab_sim::observe(&input.machine, &input.workload, &config, input.seed, check, observers);
    let mut outcome = ran.map(|o| o.outcome).map_err(|e| match e {
        SimError::Unsupported(_) | SimError::Log(_) => (3, e.to_string()),
        SimError::Fault(_) => (1, format!("the simulator found a fault of its own: {e}")),
    })?;
    outcome.tunables = registry::effective(&input.kernel);
    Ok(outcome)
}
