//! A run that has a record.

use crate::run_label::run_label;
use numalab_model::plan::KernelPlan;
use numalab_model::record::{Manifest, Outcome, Status};
use std::sync::Arc;

/// The tunable that says how time passed in a guest.
const TIMING: &str = "guest.timing";

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
        let timing = self.outcome.tunables.iter().find(|t| t.name == TIMING);
        timing.map_or(backend.clone(), |t| format!("{backend}-{}", t.value))
    }

    /// Drops what only the page shows and most of a record is: time series, tunables, and files but the workload's.
    pub fn drop_bulk(&mut self) {
        self.outcome.series = Vec::new();
        self.outcome.tunables.retain(|t| t.name == TIMING);
        self.outcome.tunables.shrink_to_fit();
        (self.manifest.series, self.manifest.tunables) = (Vec::new(), Vec::new());
        self.manifest.files.retain(|f| f.name.starts_with(WORKLOADS));
        self.manifest.files.shrink_to_fit();
    }

    /// Shares the plan of its kernel with runs before it that had the same, of which `known` has one each.
    pub fn share_kernel(&mut self, known: &mut Vec<Arc<KernelPlan>>) {
        let own = &mut self.manifest.plan.kernel;
        match known.iter().find(|k| *k == own) {
            Some(same) => *own = Arc::clone(same),
            None => known.push(Arc::clone(own)),
        }
    }
}

/// Where a record keeps the files of its workload.
pub const WORKLOADS: &str = "sources/workloads/";
