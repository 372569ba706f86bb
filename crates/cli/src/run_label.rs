//! The name of a run in messages.

use numalab_model::plan::Plan;

/// Machine, workload, kernel and seed of a plan: `2x1x2x1 numa02 6.12 seed 1`.
pub fn run_label(plan: &Plan) -> String {
    format!("{} {} {} seed {}", plan.machine.name, plan.workload.name, plan.kernel.name, plan.seed)
}
