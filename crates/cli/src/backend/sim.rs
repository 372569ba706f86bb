//! The simulator.

use crate::execute::{Backend, Ran};
use crate::failure::{Exit, Failure};
use crate::logs::Logs;
use crate::progress::Progress;
use numalab_kernel::registry;
use numalab_model::plan::{Backend as BackendName, PlanInput};
use numalab_sim::{Harness, SimConfig, SimError};

/// The deterministic simulator.
#[derive(Clone, Debug, Default)]
pub struct Sim {
    /// Verify the engine's invariants at the end of every run.
    pub check: bool,
    /// Run plans that have a record too, and hold what they count against it.
    pub again: bool,
    /// Logs to write beside records.
    pub logs: Logs,
    /// What carries out the workload.
    pub harness: Harness,
    /// Processes, the last ones of the workload, that end with the others.
    pub background: usize,
}

impl Sim {
    /// What it adds to the plans of programs that are not run plainly: their harness, and how many others run beside.
    pub fn conditions(&self) -> Vec<(String, String)> {
        let harness = match self.harness {
            Harness::Program => None,
            Harness::Worker => Some(("harness".to_string(), "worker".to_string())),
        };
        let background = (self.background > 0).then(|| ("background".to_string(), self.background.to_string()));
        harness.into_iter().chain(background).collect()
    }
}

impl Backend for Sim {
    fn name(&self) -> BackendName<'_> {
        BackendName { name: "sim", version: numalab_sim::VERSION }
    }

    fn run(&self, input: &PlanInput, _progress: &Progress) -> Result<Ran, Failure> {
        let kernel = &input.kernel;
        let cfg = SimConfig::of(kernel)
            .map_err(|e| Failure::usage(format!("kernel {}: {e}", kernel.name)))?
            .with_harness(self.harness)
            .with_background(self.background);
        let (observers, pending) = self.logs.open(input)?;
        let ran = numalab_sim::observe(&input.machine, &input.workload, &cfg, input.seed, self.check, observers);
        let mut outcome = match ran {
            Ok(o) => pending.finish(&self.logs, &input.id, o.why).map(|()| o.outcome)?,
            Err(e) => {
                pending.discard();
                return Err(failure(input, e));
            }
        };
        outcome.tunables = registry::effective(kernel);
        Ok(outcome.into())
    }
    fn lacks(&self, input: &PlanInput) -> bool {
        self.again || self.logs.lack(&input.id)
    }
}

/// What the simulator refuses, in the words of a command.
fn failure(input: &PlanInput, e: SimError) -> Failure {
    let what = crate::execute::describe(input);
    match e {
        SimError::Unsupported(why) | SimError::Log(why) => Failure::environment(format!("{what}: {why}")),
        SimError::Fault(why) => {
            let message = format!("{what}: the simulator found a fault of its own: {why}");
            Failure { exit: Exit::Finding, message }
        }
    }
}
