//! A run that has a record.

use crate::run_label::run_label;
use numalab_model::record::{Manifest, Outcome, Status};

/// A run that has a record, placed in a comparison.
#[derive(Debug)]
pub struct Run {
    /// Index of its workload in the comparison.
    pub workload: usize,
    /// Index of its kernel in the comparison.
    pub kernel: usize,
    /// The manifest of its record: the plan, and the files it was made from.
    pub manifest: Manifest,
    /// What it measured.
    pub outcome: Outcome,
}

impl Run {
    /// Which run it is and why it did not complete; `None` if it completed.
    pub fn why_incomplete(&self) -> Option<String> {
        let why = match &self.outcome.status {
            Status::Completed => return None,
            Status::Timeout => "it reached its limit of time",
            Status::Failed(why) => why,
        };
        Some(format!("{}: {why}", run_label(&self.manifest.plan)))
    }

    /// Name of the backend that ran it, such as `sim`; in a guest with the timing mode, such as `vm-counters`.
    pub fn backend_label(&self) -> String {
        let backend = self.manifest.plan.backend.clone();
        let timing = self.outcome.tunables.iter().find(|t| t.name == "guest.timing");
        timing.map_or(backend.clone(), |t| format!("{backend}-{}", t.value))
    }
}
