//! A run that has a record.

use crate::run_label;
use numalab_model::plan::Plan;
use numalab_model::record::{Outcome, Status};
use std::sync::Arc;

/// A run that has a record, placed in a comparison. Its figures are in the comparison.
#[derive(Debug)]
pub struct Run {
    /// Index of its workload in the comparison.
    pub workload: usize,
    /// Index of its kernel in the comparison.
    pub kernel: usize,
    /// Name of its record.
    pub record: Box<str>,
    /// Its plan but seed and digest of the workload, which stand beside it.
    pub plan: Arc<Plan>,
    /// Seed.
    pub seed: u64,
    /// Fingerprint of the resolved workload.
    pub workload_sha256: Arc<str>,
    /// SHA-256 of the file that the workload was read from; empty if the record has none.
    pub workload_file_sha256: Arc<str>,
    /// How time passed in a guest; empty elsewhere.
    pub guest_timing: Arc<str>,
    /// How it ended.
    pub status: Status,
    /// What it measured, with time series, if the page may draw it.
    pub drawn: Option<Box<Outcome>>,
}

impl Run {
    /// Which run it is and why it did not complete; `None` if it completed.
    pub fn why_incomplete(&self) -> Option<String> {
        let why = match &self.status {
            Status::Completed => return None,
            Status::Timeout => "it reached its limit of time",
            Status::Failed(why) => why,
        };
        Some(format!("{}: {why}", run_label::with_seed(&self.plan, self.seed)))
    }

    /// Name of the backend that ran it, such as `sim`; in a guest with the timing mode, such as `vm-counters`.
    pub fn backend_label(&self) -> String {
        let backend = &self.plan.backend;
        if self.guest_timing.is_empty() {
            backend.clone()
        } else {
            format!("{backend}-{}", self.guest_timing)
        }
    }
}
