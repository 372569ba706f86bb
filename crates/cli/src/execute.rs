//! Carrying out the runs of an experiment: in parallel, resuming, each record kept as soon as it is there.
//!
//! Invariant: which records exist afterwards and what is in them depends on the plans only, not on the
//! number of jobs, the order in which runs finish, or an earlier interruption.

use crate::failure::Failure;
use crate::progress::Progress;
use numalab_model::experiment::Cell;
use numalab_model::plan::{Backend as BackendName, PlanInput};
use numalab_model::record::{Outcome, Record, Store};
use rayon::prelude::*;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Something that can carry out a plan.
pub trait Backend: Sync {
    /// Name and version, part of every plan's identity.
    fn name(&self) -> BackendName<'static>;
    /// Runs a plan to its end.
    ///
    /// # Errors
    /// The machine at hand cannot run it at all; a run that goes wrong is an [`Outcome`].
    fn run(&self, input: &PlanInput) -> Result<Outcome, Failure>;
}

/// A run whose record is on disk.
pub struct Finished {
    /// Its record, without the time series, which stay on disk.
    pub record: Record,
    /// It was there already.
    pub reused: bool,
    /// Wall time of the run, zero if it was reused.
    pub wall: Duration,
}

/// Runs every cell that has no record yet, on up to `jobs` threads; results are in the order of `cells`.
///
/// # Errors
/// A damaged record, a file system or backend that refuses. No run is started after that; records
/// finished by then stay.
pub fn execute(store: &Store, cells: &[Cell], jobs: usize, backend: &dyn Backend) -> Result<Vec<Finished>, Failure> {
    let progress = Progress::new(cells.len());
    let pool = rayon::ThreadPoolBuilder::new().num_threads(jobs.max(1)).build();
    let pool = pool.map_err(|e| Failure::environment(format!("cannot start {jobs} threads: {e}")))?;
    let failed = AtomicBool::new(false);
    let one = |cell: &Cell| {
        if failed.load(Ordering::Relaxed) {
            return None;
        }
        progress.say(&describe(&cell.input));
        let finished = run_or_reuse(store, &cell.input, backend);
        failed.fetch_or(finished.is_err(), Ordering::Relaxed);
        progress.one_done();
        Some(finished)
    };
    let all: Vec<Option<Result<Finished, Failure>>> = pool.install(|| cells.par_iter().map(one).collect());
    all.into_iter().flatten().collect()
}

fn run_or_reuse(store: &Store, input: &PlanInput, backend: &dyn Backend) -> Result<Finished, Failure> {
    let (mut record, reused, wall) = match store.get(&input.id)? {
        Some(record) => (record, true, Duration::ZERO),
        None => {
            let start = Instant::now();
            let outcome = backend.run(input)?;
            let wall = start.elapsed();
            (store.put(input, &outcome)?, false, wall)
        }
    };
    record.outcome.series.clear();
    Ok(Finished { record, reused, wall })
}

/// A run in a few words.
pub fn describe(input: &PlanInput) -> String {
    let p = &input.plan;
    format!("{} {} {} seed {}", p.machine.name, p.workload.name, p.kernel.name, p.seed)
}
