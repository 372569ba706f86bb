//! The name of a run in messages.

use numalab_model::plan::Plan;

/// Machine, workload, kernel and seed of a plan: `2x1x2x1 numa02 6.12 seed 1`.
pub fn run_label(plan: &Plan) -> String {
    with_seed(plan, plan.seed)
}

/// As [`run_label`], with a seed that stands beside the plan.
pub fn with_seed(plan: &Plan, seed: u64) -> String {
    format!("{} {} {} seed {seed}", plan.machine.name, plan.workload.name, plan.kernel.name)
}
