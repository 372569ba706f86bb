//! The backends a run can use. So far one: the simulator.

use crate::execute::Backend;
use crate::failure::{Exit, Failure};
use numalab_kernel::numa::NumaSettings;
use numalab_kernel::registry;
use numalab_kernel::sched::SchedConfig;
use numalab_model::plan::{Backend as BackendName, PlanInput};
use numalab_model::record::Outcome;
use numalab_sim::{SimConfig, SimError, Thp};

/// The deterministic simulator.
pub struct Sim {
    /// Verify the engine's invariants at the end of every run.
    pub check: bool,
}

impl Backend for Sim {
    fn name(&self) -> BackendName<'static> {
        BackendName { name: "sim", version: env!("CARGO_PKG_VERSION") }
    }

    fn run(&self, input: &PlanInput) -> Result<Outcome, Failure> {
        let kernel = &input.kernel;
        let numa = NumaSettings {
            scan: registry::group(kernel),
            numa: registry::group(kernel),
            page_filter: registry::group(kernel),
            scan_v38: registry::group(kernel),
        };
        let sched: SchedConfig = registry::group(kernel);
        let cfg = SimConfig::new(&numa, &sched, registry::group(kernel), Thp::Madvise)
            .map_err(|e| Failure::usage(format!("kernel {}: {e}", kernel.name)))?
            .with_mm(registry::mm_config(kernel));
        let ran = numalab_sim::run(&input.machine, &input.workload, &cfg, input.seed, self.check);
        let mut outcome = ran.map_err(|e| {
            let what = crate::execute::describe(input);
            match e {
                SimError::Unsupported(why) | SimError::Log(why) => Failure::environment(format!("{what}: {why}")),
                SimError::Fault(why) => {
                    let message = format!("{what}: the simulator found a fault of its own: {why}");
                    Failure { exit: Exit::Finding, message }
                }
            }
        })?;
        outcome.tunables = registry::effective(kernel);
        Ok(outcome)
    }
}
