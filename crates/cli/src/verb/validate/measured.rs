//! A run of either side.

use crate::run_label::run_label;
use numalab_model::plan::PlanInput;
use numalab_model::record::{Outcome, Status};

/// A run and what it measured.
pub struct Measured {
    /// The plan.
    pub input: PlanInput,
    /// The outcome, with its time series.
    pub outcome: Outcome,
}

/// Descriptions of the runs that reached their limit of time.
pub(super) fn timeouts<'a>(thp: &str, runs: impl Iterator<Item = &'a Measured>) -> Vec<String> {
    let late = runs.filter(|m| m.outcome.status == Status::Timeout);
    late.map(|m| format!("{} with huge pages {thp}", run_label(&m.input.plan))).collect()
}
