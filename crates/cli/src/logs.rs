//! Logs beside a record, in the experiment's directory: `ID.events` (for traces), `ID.decisions` and `ID.why.json` (for
//! reasons).
//!
//! Logs are no part of a record: a record has the same id and the same bytes with or without them. A log is written
//! under a temporary name and renamed when its run has ended. Temporary files of interrupted runs are removed.

use crate::failure::Failure;
use numalab_model::plan::{PlanId, PlanInput};
use numalab_model::record::events::{Events, Header};
use numalab_model::record::why::{Why, WhyFile};
use numalab_model::record::Record;
use numalab_sim::{Observers, Sink};
use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// File name extension of an event log.
pub const EVENTS: &str = "events";
/// File name extension of the log of first decisions.
pub const DECISIONS: &str = "decisions";
/// File name extension of the counts by reason.
pub const WHY: &str = "why.json";

/// Which logs are written, and where.
#[derive(Clone, Debug, Default)]
pub struct Logs {
    /// The experiment's directory.
    pub dir: PathBuf,
    /// Whether to write every event, for `numalab trace`.
    pub trace: bool,
    /// Whether to write decisions with reasons, for `numalab explain`.
    pub explain: bool,
}

/// Path of a log of the record at `record`.
pub fn path_of(record: &Path, ending: &str) -> PathBuf {
    let mut name = record.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{ending}"));
    record.with_file_name(name)
}

impl Logs {
    /// Extensions of the logs to write.
    fn wanted(&self) -> impl Iterator<Item = &'static str> + '_ {
        let explain = if self.explain { &[DECISIONS, WHY][..] } else { &[] };
        self.trace.then_some(EVENTS).into_iter().chain(explain.iter().copied())
    }
    /// Whether a log is to be written and is missing, damaged, or of another run. Such a log is written again.
    pub fn lack(&self, id: &PlanId) -> bool {
        let record = self.dir.join(id.short());
        self.wanted().any(|ending| match ending {
            WHY => read_why(&record).map_or(true, |w| w.header.record != id.full()),
            _ => !is_whole(&path_of(&record, ending), id),
        })
    }
    /// Opens the logs of a run.
    ///
    /// # Errors
    /// An error of the file system.
    pub fn open(&self, input: &PlanInput) -> Result<(Observers, Pending), Failure> {
        let [skips, denials, refusals, placements] = numalab_sim::log_words();
        let header = Header::new(input.id.full(), &input.machine, &input.workload);
        let mut pending = Pending { header: Header { skips, denials, refusals, placements, ..header }, files: vec![] };
        let mut observers = Observers { why: self.explain, ..Observers::default() };
        if self.trace {
            observers.trace = Some(pending.create(&self.dir, input, EVENTS)?);
        }
        if self.explain {
            observers.decisions = Some(pending.create(&self.dir, input, DECISIONS)?);
        }
        Ok((observers, pending))
    }
}

/// Whether a log of events is complete, and belongs to the record `id`.
fn is_whole(path: &Path, id: &PlanId) -> bool {
    Events::check(path).is_ok_and(|header| header.record == id.full())
}

/// Logs of a run in progress.
pub struct Pending {
    header: Header,
    /// Temporary and final path of each log.
    files: Vec<(PathBuf, PathBuf)>,
}

/// The failure for an error of the file system.
fn io(path: &Path, e: &std::io::Error) -> Failure {
    Failure::environment(format!("{}: {e}", path.display()))
}

impl Pending {
    /// Temporary path of a log. The store removes such files if this process does not finish them.
    fn place(&mut self, dir: &Path, id: &PlanId, ending: &str) -> PathBuf {
        let partial = dir.join(format!(".partial-{id}.{ending}-{}", std::process::id()));
        self.files.push((partial.clone(), path_of(&dir.join(id.short()), ending)));
        partial
    }

    /// Creates a log of events or decisions.
    fn create(&mut self, dir: &Path, input: &PlanInput, ending: &str) -> Result<Sink, Failure> {
        let partial = self.place(dir, &input.id, ending);
        let file = File::create(&partial).map_err(|e| io(&partial, &e))?;
        Sink::new(&self.header.line()?, Box::new(file)).map_err(|e| io(&partial, &e))
    }

    /// Renames the logs to their final paths.
    ///
    /// # Errors
    /// An error of the file system.
    pub fn finish(mut self, logs: &Logs, id: &PlanId, why: Option<Why>) -> Result<(), Failure> {
        if let Some(why) = why {
            let partial = self.place(&logs.dir, id, WHY);
            let text = WhyFile { header: self.header.clone(), why }.to_text()?;
            fs::write(&partial, text).map_err(|e| io(&partial, &e))?;
        }
        for (partial, place) in &self.files {
            fs::rename(partial, place).map_err(|e| io(place, &e))?;
        }
        Ok(())
    }

    /// Removes the logs of a run that failed.
    pub fn discard(self) {
        for (partial, _) in self.files {
            // A file that cannot be removed now is removed when the directory is next opened.
            let _ = fs::remove_file(partial);
        }
    }
}

/// Reads the counts by reason of the record at `record`.
///
/// # Errors
/// They are missing or damaged.
pub fn read_why(record: &Path) -> Result<WhyFile, Failure> {
    let path = path_of(record, WHY);
    let bytes = fs::read(&path).map_err(|e| match e.kind() {
        std::io::ErrorKind::NotFound => absent(record, "decision log", "--explain"),
        _ => io(&path, &e),
    })?;
    let file = String::from_utf8(bytes).map_err(|_| "it is no text".to_string()).and_then(|t| WhyFile::from_text(&t));
    file.map_err(|e| {
        let expected =
            "an unchanged file (remove it; `numalab run` with the same arguments and --explain writes it again)";
        Failure::environment(format!("{}: {e}; expected {expected}", path.display()))
    })
}

/// Refuses the record of a run that cannot have logs.
///
/// # Errors
/// The run was not simulated: only the simulator writes logs.
pub fn refuse_unlogged(record: &Record) -> Result<(), Failure> {
    let backend = record.manifest.plan.backend.as_str();
    if backend == "sim" {
        return Ok(());
    }
    let what = format!("a run of backend `{backend}`, which has no logs");
    Err(Failure::usage(format!("{}: {what}; expected a simulated run", record.path.display())))
}

/// The failure for a log that was never written; `option` is the one that writes it.
pub fn absent(record: &Path, what: &str, option: &str) -> Failure {
    let expected = format!("`numalab run` with the same arguments and {option}, which adds it to the record");
    Failure::usage(format!("{}: it has no {what}; expected {expected}", record.display()))
}
