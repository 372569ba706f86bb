//! Carrying out an experiment: the runs that have no record yet, and the notes about what that changed in a directory.

use crate::backend::{self, BackendKind, GuestArgs, ProgramArgs, Ready, Sim};
use crate::context::Context;
use crate::execute::{execute, Executor, Finished};
use crate::failure::{note, Exit, Failure};
use crate::interrupt;
use crate::memory;
use crate::options;
use crate::progress::Progress;
use numalab_model::experiment::{Cell, Experiment};
use numalab_model::record::Store;
use numalab_model::spec::SpecError;
use numalab_report::order::unique;
use std::num::NonZeroUsize;
use std::path::Path;

/// How an experiment is carried out.
pub struct RunOptions<'a> {
    /// What runs it.
    pub backend: BackendKind,
    /// Options of guests, for the backend `vm`.
    pub guest: &'a GuestArgs,
    /// The program that runs in place of a workload of the catalog, for the backends `vm` and `host`.
    pub program: Option<&'a ProgramArgs>,
    /// Checks and logs of the simulator.
    pub sim: Sim,
    /// Number of runs at a time, if the user chose it.
    pub jobs: Option<NonZeroUsize>,
    /// Directory of the records, if the user chose it.
    pub out: Option<&'a Path>,
}

/// Carries out the runs of an experiment that have no record yet, and reports them on standard error.
///
/// # Errors
/// A mistake in the experiment, reported before the first run; or this machine cannot carry out the runs.
pub fn carry_out(
    context: &Context,
    experiment: &Experiment,
    mut with: RunOptions<'_>,
) -> Result<(Store, Vec<Finished>), Failure> {
    let mut progress = Progress::new(0);
    progress.lines = true;
    // Only the simulator writes logs, and the name of its default directory has no suffix.
    with.sim.logs.dir = options::directory(with.out, &experiment.name);
    let ready =
        backend::prepare(context, experiment, with.backend, (with.guest, with.program), with.sim.clone(), &progress)?;
    let Ready { backend, cells, suffix, jobs_max } = ready;
    let dir = options::directory(with.out, &format!("{}{suffix}", experiment.name));
    let before = Store::open(&dir).ok();
    known_baseline(experiment, &cells, before.as_ref())?;
    let jobs = memory::jobs_that_fit(&*backend, &cells, &dir, options::jobs(with.jobs).min(jobs_max))?;
    let fresh = !dir.exists();
    let store = Store::create(&dir, experiment, &cells)?;
    if let Some(text) = baseline_stays(experiment, &store, &cells) {
        note(&text);
    }
    interrupt::watch(&store, &cells);
    progress.set_total(cells.len());
    let finished = execute(&store, &cells, &Executor { backend: &*backend, jobs, progress: &progress });
    let finished = finished.inspect_err(|e| {
        // A command that is refused leaves nothing behind.
        if fresh && e.exit == Exit::USAGE {
            store.abandon();
        }
    })?;
    progress.clear();
    // Releases the lock on the directory.
    drop(store);
    let store = Store::open(&dir)?;
    if let Some(text) = before.and_then(|b| delisted(&b, &store)) {
        note(&text);
    }
    if with.sim.check {
        note(&checked(finished.len()));
    }
    Ok((store, finished))
}

/// The largest exit code of the runs.
pub fn exit(finished: &[Finished]) -> Exit {
    finished.iter().map(|f| Exit::of(&f.record.outcome.status)).max().unwrap_or(Exit::OK)
}

/// Refuses a baseline that is neither among the kernels of this command nor in the directory.
fn known_baseline(experiment: &Experiment, cells: &[Cell], before: Option<&Store>) -> Result<(), SpecError> {
    let Some(asked) = &experiment.baseline else { return Ok(()) };
    let listed = before.iter().flat_map(|b| &b.file().runs).map(|r| r.kernel.as_str());
    let run = cells.iter().map(|c| c.input.plan.kernel.name.as_str());
    let known = unique(experiment.kernels.iter().map(|k| k.value.as_str()).chain(run).chain(listed));
    if known.contains(&asked.value.as_str()) {
        return Ok(());
    }
    let what = format!("no kernel `{}` in this experiment", asked.value);
    Err(asked.error(what, format!("one of {}", known.join(", "))).near(&asked.value, known))
}

/// The note that a comparison keeps its baseline although the first kernel of this command is another.
fn baseline_stays(experiment: &Experiment, store: &Store, cells: &[Cell]) -> Option<String> {
    let first = cells.first()?.input.plan.kernel.name.as_str();
    let (stays, dir) = (store.file().baseline.as_str(), store.dir().display());
    let said = experiment.baseline.is_none() && stays != first;
    said.then(|| {
        format!("numalab: the baseline of {dir} stays {stays}; --baseline {first} makes it this command's first")
    })
}

/// The note that `--check` found no error. A broken invariant, or a count that differs from the record, ends the
/// command before.
fn checked(runs: usize) -> String {
    let runs = if runs == 1 { "1 run".to_string() } else { format!("{runs} runs") };
    format!("numalab: checked {runs}: every invariant of the simulator holds, and each counts what its record has")
}

/// The note about runs that this command removed from the comparison of the directory.
fn delisted(before: &Store, now: &Store) -> Option<String> {
    let listed = |r: &str| now.file().runs.iter().any(|m| m.record == r);
    let lost: Vec<_> = before.file().runs.iter().filter(|m| !listed(&m.record)).collect();
    let first = lost.first()?;
    let which = format!("{} {} {} seed {}", first.machine, first.workload, first.kernel, first.seed);
    let more = if lost.len() > 1 { " and others" } else { "" };
    Some(format!(
        "numalab: {} of {} runs leave the comparison of {} ({which}{more}): this command asks for other or fewer runs \
         of the same machine, workload and kernel, or is another build; their records stay there, and asking for them \
         again lists them again",
        lost.len(),
        before.file().runs.len(),
        now.dir().display()
    ))
}
