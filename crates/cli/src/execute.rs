//! Carries out the runs of an experiment in parallel, and stores each record as soon as its run has finished.
//!
//! Invariant: which records exist afterwards, and their contents, depend on the plans alone. They do not depend on the
//! number of jobs, on the order in which runs finish, or on earlier interruptions.

use crate::failure::Failure;
use crate::progress::{Progress, RunProgress};
use crate::run_label::run_label;
use crate::run_order::RunOrder;
use numalab_model::experiment::Cell;
use numalab_model::plan::{Backend as BackendName, PlanInput};
use numalab_model::record::{Outcome, Record, Status, Store};
use numalab_sim::MemoryPrediction;
use rayon::prelude::*;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A backend, which carries out plans.
pub trait Backend: Sync {
    /// Name and version, which are part of every plan's identity.
    fn name(&self) -> BackendName<'_>;
    /// Runs a plan to its end, and reports how far it is to `progress`.
    ///
    /// # Errors
    /// This machine cannot start the run. A run that fails after that is an [`Outcome`].
    fn run(&self, input: &PlanInput, progress: &RunProgress) -> Result<Ran, Failure>;
    /// Whether a plan must be run although it has a record, because a requested log is missing or a check is requested.
    fn lacks(&self, _input: &PlanInput) -> bool {
        false
    }
    /// What a run of a plan takes at its peak, as far as that is known before.
    fn memory(&self, _input: &PlanInput) -> Option<MemoryPrediction> {
        None
    }
    /// The limit of memory that the user chose, bytes.
    fn memory_limit(&self) -> Option<u64> {
        None
    }
    /// Whether a run with this outcome is repeated, since its outcome did not depend on the plan alone.
    fn retries(&self, _outcome: &Outcome) -> bool {
        false
    }
}

/// The result of a run.
#[derive(Debug, Default)]
pub struct Ran {
    /// What goes into its record.
    pub outcome: Outcome,
    /// A remark for people that goes into no record, such as times of the host; empty if there is none.
    pub note: String,
}

impl From<Outcome> for Ran {
    fn from(outcome: Outcome) -> Self {
        Self { outcome, note: String::new() }
    }
}

/// A run whose record is on disk.
pub struct Finished {
    /// Its record without time series, which stay on disk.
    pub record: Record,
    /// Whether the record existed before.
    pub reused: bool,
    /// Wall time of the run; zero if the record existed before.
    pub wall: Duration,
    /// The remark of [`Ran::note`].
    pub note: String,
}

/// Stack of a thread that carries out runs, bytes.
pub(crate) const STACK_BYTES: usize = 8 << 20;

/// How runs are carried out.
pub struct Executor<'a> {
    /// The backend.
    pub backend: &'a dyn Backend,
    /// Number of runs at a time, at least 1.
    pub jobs: usize,
    /// Where progress is shown; every run counts as one step.
    pub progress: &'a Progress,
}

/// Runs every cell that has no record yet. Then it lists the cells in the experiment, in place of the runs that they
/// replace. The results are in the order of `cells`.
///
/// # Errors
/// A damaged record, an error of the file system or of the backend. After an error no further run is started; finished
/// records stay.
pub fn execute(store: &Store, cells: &[Cell], with: &Executor<'_>) -> Result<Vec<Finished>, Failure> {
    let Executor { backend, jobs, progress } = *with;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(jobs.max(1)).stack_size(STACK_BYTES).build();
    let pool = pool.map_err(|e| Failure::environment(format!("cannot start {jobs} threads: {e}")))?;
    let failed = AtomicBool::new(false);
    progress.expect(cells.iter().map(|c| &c.input), jobs);
    let order = Mutex::new(RunOrder::new(cells.iter().map(|c| &c.input.plan), jobs));
    let one = |number: usize, cell: &Cell| {
        if failed.load(Ordering::Relaxed) {
            return None;
        }
        let live = progress.start(&cell.input);
        let finished = run_or_reuse(store, &cell.input, backend, &live);
        if let Ok(finished) = &finished {
            let wall = (!finished.reused).then_some(finished.wall);
            live.ended(model_s(&finished.record.outcome), wall);
            locked(&order).ended(number, finished.wall);
            let well = finished.record.outcome.status == Status::Completed;
            if progress.prints_runs() || (progress.lines && !well) {
                progress.line(&ended(&cell.input, finished));
            }
        }
        failed.fetch_or(finished.is_err(), Ordering::Relaxed);
        progress.one_done();
        Some(finished)
    };
    let mut all: Vec<(usize, Result<Finished, Failure>)> = pool.install(|| {
        let next = |_| {
            let number = locked(&order).next(Instant::now())?;
            Some((number, one(number, &cells[number])?))
        };
        (0..cells.len()).into_par_iter().with_max_len(1).filter_map(next).collect()
    });
    all.sort_by_key(|(number, _)| *number);
    let finished = all.into_iter().map(|(_, f)| f).collect::<Result<_, Failure>>()?;
    store.settle()?;
    Ok(finished)
}

/// The order of runs, also after a thread has panicked with it: it holds between any two of its calls.
fn locked(order: &Mutex<RunOrder>) -> MutexGuard<'_, RunOrder> {
    order.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Reads the record of a plan, or runs the plan and stores its record.
fn run_or_reuse(
    store: &Store,
    input: &PlanInput,
    backend: &dyn Backend,
    progress: &RunProgress,
) -> Result<Finished, Failure> {
    let known = store.get(&input.id)?;
    let again = known.as_ref().is_some_and(|r| backend.retries(&r.outcome));
    let mut finished = match known {
        Some(record) if !again && !backend.lacks(input) => {
            Finished { record, reused: true, wall: Duration::ZERO, note: String::new() }
        }
        known => {
            let start = Instant::now();
            let Ran { outcome, note } = backend.run(input, progress)?;
            let wall = start.elapsed();
            let record = match known {
                Some(record) if !again => repeated(record, &outcome)?,
                None => store.put(input, &outcome)?,
                Some(_) => {
                    store.forget(&input.id)?;
                    store.put(input, &outcome)?
                }
            };
            Finished { record, reused: false, wall, note }
        }
    };
    finished.record.outcome.series.clear();
    Ok(finished)
}

/// The record of a run that was repeated for a log or a check. The repetition must count what the record holds.
fn repeated(record: Record, again: &Outcome) -> Result<Record, Failure> {
    let counted = |o: &Outcome| (o.status.clone(), o.counters.clone(), o.reasons.clone());
    if counted(&record.outcome) == counted(again) {
        return Ok(record);
    }
    let what = "another build wrote it: the run, repeated, counts differently";
    Err(Failure::environment(format!("{}: {what}; remove the record to run it anew", record.path.display())))
}

/// Model time of a run, s.
fn model_s(outcome: &Outcome) -> f64 {
    outcome.scalars.iter().find(|s| s.name == "elapsed_s").map_or(0.0, |s| s.value)
}

/// How a run ended, in one line.
fn ended(input: &PlanInput, f: &Finished) -> String {
    let how = if f.reused { "had a record".to_string() } else { format!("{:.2} s", f.wall.as_secs_f64()) };
    let more = if f.note.is_empty() { String::new() } else { format!(" ({})", f.note) };
    let end = match &f.record.outcome.status {
        Status::Completed => String::new(),
        // The remark about a failed guest says how it failed.
        _ if !f.note.is_empty() => String::new(),
        Status::Timeout => ", ended at its limit of time".into(),
        Status::Failed(why) => format!(", failed: {why}"),
    };
    format!("{}: {how}{more}{end}", run_label(&input.plan))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::context::{named, Context};
    use crate::sources::CatalogSources;
    use numalab_model::experiment::{Axes, Experiment};
    use numalab_model::record::Scalar;
    use std::sync::atomic::AtomicUsize;

    /// A backend that computes its figures from the plan: the elapsed time in seconds is `loops` / 100 times a factor
    /// of the kernel.
    #[derive(Default)]
    pub(crate) struct Mock {
        pub(crate) runs: AtomicUsize,
        pub(crate) factors: Vec<(&'static str, f64)>,
        pub(crate) fails_on: Option<&'static str>,
        pub(crate) status: Status,
        pub(crate) retries: bool,
    }

    impl Backend for Mock {
        fn name(&self) -> BackendName<'_> {
            BackendName { name: "mock", version: "1" }
        }
        fn retries(&self, outcome: &Outcome) -> bool {
            self.retries && outcome.status != Status::Completed
        }
        fn run(&self, input: &PlanInput, _progress: &RunProgress) -> Result<Ran, Failure> {
            self.runs.fetch_add(1, Ordering::Relaxed);
            let kernel = input.kernel.name.as_str();
            if self.fails_on == Some(kernel) {
                return Err(Failure::environment(format!("no {kernel} here")));
            }
            let loops = input.workload.params.iter().find(|p| p.0 == "loops").and_then(|p| p.1.parse::<f64>().ok());
            let factor = self.factors.iter().find(|f| f.0 == kernel).map_or(1.0, |f| f.1);
            let scalar =
                |name: &str, value| Scalar { name: name.into(), value, unit: "s".into(), higher_is_better: false };
            let elapsed = loops.unwrap() / 100.0 * factor;
            let counters = ["numa_hit", "numa_pte_updates"].map(|n| (n.to_string(), (1000.0 * factor) as u64));
            Ok(Ran::from(Outcome {
                status: self.status.clone(),
                scalars: vec![scalar("elapsed_s", elapsed), scalar("user_s", elapsed * 2.0), scalar("system_s", 0.5)],
                counters: counters.to_vec(),
                ..Outcome::default()
            }))
        }
    }

    /// An experiment with three seeds of a workload on these kernels.
    pub(crate) fn cells(kernels: &[&str]) -> (Experiment, Vec<Cell>) {
        let experiment = Experiment {
            name: "x".into(),
            title: String::new(),
            about: String::new(),
            machines: vec![named("t", "2x1x1x1")],
            kernels: kernels.iter().map(|k| named("t", k)).collect(),
            workloads: vec![named("t", "numa02")],
            baseline: None,
            iterations: 3,
            seed: 1,
            sets: vec![],
            params: vec![],
            axes: Axes::default(),
        };
        let context = Context::new(None).unwrap();
        let sources = CatalogSources::new(&context, &experiment.workload_sources()).unwrap();
        let cells = experiment.cells(&sources, Mock::default().name()).unwrap();
        (experiment, cells)
    }

    fn run(store: &Store, cells: &[Cell], jobs: usize, backend: &Mock) -> Result<Vec<Finished>, Failure> {
        let progress = Progress::new(cells.len());
        execute(store, cells, &Executor { backend, jobs, progress: &progress })
    }

    #[test]
    fn results_come_in_plan_order_and_are_not_run_twice() {
        let (experiment, cells) = cells(&["off", "6.1", "6.3", "6.12"]);
        let mock = Mock::default();
        let dir = tempfile::tempdir().unwrap();
        let store = Store::create(dir.path(), &experiment, &cells).unwrap();
        let finished = run(&store, &cells, 3, &mock).unwrap();
        assert_eq!(mock.runs.load(Ordering::Relaxed), 12);
        for (cell, f) in cells.iter().zip(&finished) {
            assert_eq!(f.record.manifest.plan, cell.input.plan);
            assert!(!f.reused);
        }
        let again = run(&store, &cells, 1, &mock).unwrap();
        assert_eq!(mock.runs.load(Ordering::Relaxed), 12, "nothing is repeated");
        assert!(again.iter().zip(&finished).all(|(a, b)| a.reused && a.record == b.record));
    }

    #[test]
    fn a_run_that_failed_because_of_the_host_is_repeated() {
        let (experiment, cells) = cells(&["off"]);
        let dir = tempfile::tempdir().unwrap();
        let store = Store::create(dir.path(), &experiment, &cells).unwrap();
        let killed = || Status::Failed("QEMU was killed: signal 9".into());
        let status = |mock: &Mock| run(&store, &cells, 1, mock).unwrap()[0].record.outcome.status.clone();
        assert_eq!(status(&Mock { status: killed(), ..Mock::default() }), killed());
        assert_eq!(status(&Mock::default()), killed(), "a backend that does not retry keeps its records");
        assert_eq!(status(&Mock { retries: true, ..Mock::default() }), Status::Completed);
        let last = Mock { retries: true, ..Mock::default() };
        assert_eq!(status(&last), Status::Completed);
        assert_eq!(last.runs.load(Ordering::Relaxed), 0, "a completed run is not repeated");
    }

    #[test]
    fn an_error_of_the_backend_ends_the_experiment_and_keeps_finished_records() {
        let (experiment, cells) = cells(&["off", "6.1", "6.3"]);
        let mock = Mock { fails_on: Some("6.1"), ..Mock::default() };
        let dir = tempfile::tempdir().unwrap();
        let store = Store::create(dir.path(), &experiment, &cells).unwrap();
        let failure = run(&store, &cells, 1, &mock).err().unwrap();
        assert_eq!(failure.message, "no 6.1 here");
        assert_eq!(mock.runs.load(Ordering::Relaxed), 4, "no run starts after a failure");
        let kept = cells.iter().filter(|c| store.get(&c.input.id).unwrap().is_some()).count();
        assert_eq!(kept, 3);
        let well = Mock::default();
        run(&store, &cells, 2, &well).unwrap();
        assert_eq!(well.runs.load(Ordering::Relaxed), 6);
    }
}
