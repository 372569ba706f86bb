//! What a comparison needs of a record: a few hundred bytes of some hundred thousand.

use super::read::Record;
use crate::plan::Plan;
use crate::record::Outcome;
use std::sync::Arc;

/// The tunable that says how time passed in a guest.
const TIMING: &str = "guest.timing";
/// Where a record keeps the files of its workload.
const WORKLOADS: &str = "sources/workloads/";

/// A record without its tunables and files, and without what it shares with the runs beside it.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// The plan, without what stands beside it here: seed 0, and an empty digest of the workload.
    pub plan: Arc<Plan>,
    /// Seed of the run.
    pub seed: u64,
    /// Fingerprint of the resolved workload.
    pub workload_sha256: Arc<str>,
    /// SHA-256 of the file that the workload was read from; empty if the record has none.
    pub workload_file_sha256: Arc<str>,
    /// How time passed in a guest (`guest.timing`); empty elsewhere.
    pub guest_timing: Arc<str>,
    /// How it ended, its figures and warnings; time series only if they were asked for.
    pub outcome: Outcome,
}

impl Summary {
    /// The summary of a record, and its plan as [`Summary::plan`] has it. `series` says whether time series stay.
    pub(super) fn of(record: Record, series: bool) -> Self {
        let Record { manifest, mut outcome, .. } = record;
        let mut plan = manifest.plan;
        let seed = std::mem::take(&mut plan.seed);
        let workload_sha256 = std::mem::take(&mut plan.workload.sha256).into();
        let file = manifest.files.iter().find(|f| f.name.starts_with(WORKLOADS));
        let timing = outcome.tunables.iter().find(|t| t.name == TIMING);
        let guest_timing = timing.map_or("", |t| t.value.as_str()).into();
        outcome.tunables = Vec::new();
        if !series {
            outcome.series = Vec::new();
        }
        Self {
            plan: Arc::new(plan),
            seed,
            workload_sha256,
            workload_file_sha256: file.map_or("", |f| f.sha256.as_str()).into(),
            guest_timing,
            outcome,
        }
    }
}
