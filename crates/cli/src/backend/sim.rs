//! The backend `sim`: the deterministic simulator.

use crate::execute::{Backend, Ran};
use crate::failure::{Exit, Failure};
use crate::logs::Logs;
use crate::progress::RunProgress;
use crate::run_label::run_label;
use numalab_kernel::registry;
use numalab_model::plan::{Backend as BackendName, PlanInput};
use numalab_sim::{Harness, MemoryPrediction, SimConfig, SimError};

/// The deterministic simulator.
#[derive(Clone, Debug, Default)]
pub struct Sim {
    /// Verify the simulator's invariants in every second of model time, and at the end.
    pub check: bool,
    /// Run plans that have a record again, and compare their counts with the record's.
    pub again: bool,
    /// Logs to write beside records.
    pub logs: Logs,
    /// Which program carries out the workload in the model.
    pub harness: Harness,
    /// Most memory that the command may use, if the user chose it, bytes.
    pub memory_limit: Option<u64>,
    /// Number of background processes: the last ones of the workload, which end when all others have ended.
    pub background: usize,
}

impl Sim {
    /// The model of guests in which `harness` carries out the workload, with the coordinator in the background.
    pub fn in_guest(harness: Harness) -> Self {
        Self { harness, background: 1, ..Self::default() }
    }

    /// Conditions that are part of a plan's identity: the harness, and the number of background processes. Empty for an
    /// ordinary run.
    pub fn conditions(&self) -> Vec<(String, String)> {
        let harness = match self.harness {
            Harness::Program => None,
            Harness::GuestProgram => Some(("harness".to_string(), "program in a guest".to_string())),
            Harness::Worker => Some(("harness".to_string(), "worker".to_string())),
            Harness::EarlierWorker => Some(("harness".to_string(), "earlier worker".to_string())),
            Harness::ParallelWorker => Some(("harness".to_string(), "parallel worker".to_string())),
        };
        let background = (self.background > 0).then(|| ("background".to_string(), self.background.to_string()));
        harness.into_iter().chain(background).collect()
    }

    fn config(&self, input: &PlanInput) -> Result<SimConfig, String> {
        let cfg = SimConfig::of(&input.kernel)?;
        let cfg = cfg.with_harness(self.harness).with_background(self.background).with_checks(self.check);
        let cfg = cfg.with_machine_background(!input.on_quiet_machine());
        Ok(cfg.with_settling(input.ends_settled()).with_exact_pages(input.is_exact()))
    }
}

impl Backend for Sim {
    fn name(&self) -> BackendName<'_> {
        BackendName { name: "sim", version: numalab_sim::VERSION }
    }

    fn run(&self, input: &PlanInput, progress: &RunProgress) -> Result<Ran, Failure> {
        let kernel = &input.kernel;
        let cfg = self.config(input).map_err(|e| Failure::usage(format!("kernel {}: {e}", kernel.name)))?;
        let (mut observers, pending) = self.logs.open(input)?;
        observers.clock = Some(progress.clock());
        let ran = numalab_sim::observe(&input.machine, &input.workload, &cfg, input.seed, self.check, observers);
        let mut outcome = match ran {
            Ok(o) => pending.finish(&self.logs, &input.id, o.why).map(|()| o.outcome)?,
            Err(e) => {
                drop(pending);
                return Err(failure(input, e));
            }
        };
        outcome.tunables = registry::effective(kernel);
        Ok(outcome.into())
    }
    fn memory(&self, input: &PlanInput) -> Option<MemoryPrediction> {
        let cfg = self.config(input).ok()?;
        Some(numalab_sim::predict_memory(&input.machine, &input.workload, &cfg))
    }
    fn memory_limit(&self) -> Option<u64> {
        self.memory_limit
    }
    fn lacks(&self, input: &PlanInput) -> bool {
        self.again || self.logs.lack(&input.id)
    }
}

/// The failure of the command for an error of the simulator.
fn failure(input: &PlanInput, e: SimError) -> Failure {
    let what = run_label(&input.plan);
    match e {
        SimError::Unsupported(why) | SimError::Log(why) => Failure::environment(format!("{what}: {why}")),
        SimError::Fault(why) => {
            let message = format!("{what}: the simulator found a fault of its own: {why}");
            Failure { exit: Exit::FINDING, message }
        }
    }
}
