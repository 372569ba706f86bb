//! Logs beside a record, in the experiment's directory: `ID.events` (for traces), `ID.decisions` and `ID.why.json` (for
//! reasons).
//!
//! Logs are no part of a record: a record has the same id and the same bytes with or without them. A log is written
//! under a temporary name and renamed when its run has ended. Temporary files of interrupted runs are removed.

use crate::failure::{note, Failure};
use numalab_model::files::input::{self, InputErrorKind};
use numalab_model::files::output::{self, Replacement};
use numalab_model::plan::{PlanId, PlanInput};
use numalab_model::record::events::{Events, Header};
use numalab_model::record::why::{Why, WhyFile};
use numalab_model::record::Record;
use numalab_sim::{Observers, Sink};
use std::path::{Path, PathBuf};

/// File name extension of an event log.
pub const EVENTS: &str = "events";
/// File name extension of the log of first decisions.
pub const DECISIONS: &str = "decisions";
/// File name extension of the counts by reason.
pub const WHY: &str = "why.json";
/// Largest file of counts by reason that is read, bytes.
const WHY_BYTES_MAX: u64 = 1 << 30;

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
    files: Vec<Replacement>,
}

/// The failure for an error of the file system.
fn io(path: &Path, e: &std::io::Error) -> Failure {
    Failure::environment(format!("{}: {e}", path.display()))
}

impl Pending {
    /// Creates a log of events or decisions. The store removes its file if this process does not finish it.
    fn create(&mut self, dir: &Path, input: &PlanInput, ending: &str) -> Result<Sink, Failure> {
        let place = path_of(&dir.join(input.id.short()), ending);
        let open = || {
            let new = Replacement::new(&place)?;
            let file = new.file().try_clone()?;
            Ok((new, Sink::new(&self.header.line()?, Box::new(file))?))
        };
        let (new, sink) = open().map_err(|e| io(&place, &e))?;
        self.files.push(new);
        Ok(sink)
    }

    /// Gives the logs their final names.
    ///
    /// # Errors
    /// An error of the file system.
    pub fn finish(self, logs: &Logs, id: &PlanId, why: Option<Why>) -> Result<(), Failure> {
        if let Some(why) = why {
            let place = path_of(&logs.dir.join(id.short()), WHY);
            let text = WhyFile { header: self.header, why }.to_text()?;
            output::replace(&place, text.as_bytes()).map_err(|e| io(&place, &e))?;
        }
        self.files.into_iter().try_for_each(Replacement::keep).map_err(|e| io(&logs.dir, &e))
    }
}

/// Reads the counts by reason of the record at `record`.
///
/// # Errors
/// They are missing or damaged.
pub fn read_why(record: &Path) -> Result<WhyFile, Failure> {
    let path = path_of(record, WHY);
    let bytes = input::bytes(&path, WHY_BYTES_MAX).map_err(|e| match &e.kind {
        InputErrorKind::Io(io) if io.kind() == std::io::ErrorKind::NotFound => {
            absent(record, "decision log", "--explain")
        }
        _ => Failure::environment(e.message()),
    })?;
    let file = String::from_utf8(bytes).map_err(|_| "it is no text".to_string()).and_then(|t| WhyFile::from_text(&t));
    file.map_err(|e| {
        let expected =
            "an unchanged file (remove it; `numalab run` with the same arguments and --explain writes it again)";
        Failure::environment(format!("{}: {e}; expected {expected}", path.display()))
    })
}

/// Says if a log ends before its run, because the run had settled.
pub fn note_settled(record: &Record) {
    if let Some(settled) = record.outcome.settled.as_ref().filter(|s| s.skipped_s > 0.0) {
        let ends = settled.simulated_s;
        note(&format!(
            "the log has the {ends:.1} s that were simulated before the run was taken to go on alike; --whole has all"
        ));
    }
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
