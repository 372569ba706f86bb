//! The directory of an experiment: which runs it consists of, and their records.

use super::manifest::MANIFEST;
use super::read::{check_format, is_short_id, json as parse_json, text};
use super::write::{sync_dir, write_synced, PARTIAL};
use super::{json, read, write, Outcome, Record, RecordError};
use crate::experiment::{Cell, Experiment};
use crate::plan::{Plan, PlanId, PlanInput};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// `format` of an experiment file.
const FORMAT: &str = "numalab experiment";
/// Format version this program writes and reads.
const VERSION: u64 = 1;
/// Name of the experiment file; a directory with it is ours.
pub(super) const EXPERIMENT: &str = "experiment.json";
/// Name of the page that `numalab report` writes into a directory if it is given no other place.
pub(super) const PAGE: &str = "report.html";

/// `experiment.json`: the runs that belong together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExperimentFile {
    /// Always `numalab experiment`.
    pub format: String,
    /// Format version.
    pub format_version: u64,
    /// Name.
    pub name: String,
    /// One line for people.
    pub title: String,
    /// Kernel that others are compared with.
    pub baseline: String,
    /// Runs, in order.
    pub runs: Vec<Member>,
}

/// A run of an experiment and where its record is (or will be).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Member {
    /// Machine.
    pub machine: String,
    /// Workload.
    pub workload: String,
    /// Kernel.
    pub kernel: String,
    /// Number among the runs that differ only in seed.
    pub iteration: u32,
    /// Seed.
    pub seed: u64,
    /// Id of the plan: name of the record's directory.
    pub record: String,
}

impl Member {
    fn of(cell: &Cell) -> Self {
        let p = &cell.input.plan;
        Self {
            machine: p.machine.name.clone(),
            workload: p.workload.name.clone(),
            kernel: p.kernel.name.clone(),
            iteration: cell.iteration,
            seed: p.seed,
            record: cell.input.id.short().into(),
        }
    }
    /// What it says of its run that the plan of its record does not, if anything.
    fn contradicts(&self, plan: &Plan) -> Option<String> {
        let (listed, own) = (self.seed.to_string(), plan.seed.to_string());
        let parts = [
            ("machine", &self.machine, &plan.machine.name),
            ("workload", &self.workload, &plan.workload.name),
            ("kernel", &self.kernel, &plan.kernel.name),
            ("seed", &listed, &own),
        ];
        let (what, listed, own) = parts.into_iter().find(|(_, listed, own)| listed != own)?;
        Some(format!("it lists {what} {listed} for record {}, which has {own}", self.record))
    }
    /// What it shares with the runs that differ from it in seed only.
    fn comparison(&self) -> (&str, &str, &str) {
        (&self.machine, &self.workload, &self.kernel)
    }
}

/// An experiment's directory, opened.
#[derive(Debug)]
pub struct Store {
    dir: PathBuf,
    file: ExperimentFile,
}

impl Store {
    /// Opens `dir` for reading.
    ///
    /// # Errors
    /// It is not an experiment's directory, or of another format version, or damaged, or lists a record twice.
    pub fn open(dir: &Path) -> Result<Self, RecordError> {
        let path = dir.join(EXPERIMENT);
        if !path.is_file() {
            if holds_records(dir) {
                let what = format!("it has records and no {EXPERIMENT}");
                let expected = "the list of its runs (the command that ran them writes it again and repeats none)";
                return Err(RecordError::Damaged { path: dir.into(), what, expected: expected.into() });
            }
            let what = if dir.exists() { "not an experiment" } else { "no such directory" }.to_string();
            let expected = format!("a directory written by `numalab run`, with an {EXPERIMENT}");
            return Err(RecordError::Foreign { path: dir.into(), what, expected });
        }
        let text = text(&path)?;
        check_format(&path, &parse_json(&path, &text)?, FORMAT, VERSION)?;
        let file: ExperimentFile = parse_json(&path, &text)?;
        let mut listed = BTreeSet::new();
        match file.runs.iter().find(|r| !listed.insert(&r.record)) {
            Some(r) => Err(RecordError::damaged(&path, format!("it lists record {} twice", r.record))),
            None => Ok(Self { dir: dir.into(), file }),
        }
    }

    /// Opens `dir` for the runs of an experiment, creating it if need be, and writes the list of runs.
    ///
    /// A directory that already holds this experiment keeps what it has: runs of the same machine,
    /// workload and kernel are replaced in the list, others stay, and no record is touched. One that has records and
    /// has lost its list gets a new one.
    ///
    /// # Errors
    /// `dir` has foreign contents or another experiment, or the file system refuses.
    pub fn create(dir: &Path, experiment: &Experiment, cells: &[Cell]) -> Result<Self, RecordError> {
        let mut runs: Vec<Member> = Vec::new();
        let mut baseline = baseline(experiment, cells);
        if dir.join(EXPERIMENT).exists() {
            let old = Self::open(dir)?.file;
            if old.name != experiment.name {
                let what = format!("it holds the experiment `{}`", old.name);
                let expected = format!("a new directory, or one of the experiment `{}`", experiment.name);
                return Err(RecordError::Foreign { path: dir.into(), what, expected });
            }
            // Adding kernels to a comparison must not turn it around: only a baseline that is asked for replaces one.
            if experiment.baseline.is_none() && old.runs.iter().any(|r| r.kernel == old.baseline) {
                baseline = old.baseline;
            }
            runs = old.runs;
        } else {
            claim(dir)?;
        }
        let new: Vec<Member> = cells.iter().map(Member::of).collect();
        let again: BTreeSet<_> = new.iter().map(Member::comparison).collect();
        runs.retain(|r| !again.contains(&r.comparison()));
        if let Some(r) = runs.iter().find(|r| new.iter().any(|n| n.record == r.record)) {
            let what = format!(
                "it lists {} {} {} for record {}, a run of something else",
                r.machine, r.workload, r.kernel, r.record
            );
            return Err(RecordError::damaged(&dir.join(EXPERIMENT), what));
        }
        runs.extend(new);
        let file = ExperimentFile {
            format: FORMAT.into(),
            format_version: VERSION,
            name: experiment.name.clone(),
            title: experiment.title.clone(),
            baseline,
            runs,
        };
        remove_leftovers(dir)?;
        let store = Self { dir: dir.into(), file };
        store.save()?;
        Ok(store)
    }

    /// The list of runs.
    pub fn file(&self) -> &ExperimentFile {
        &self.file
    }

    /// The directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The record of a plan if it is complete, `None` if it was never written.
    ///
    /// # Errors
    /// It is there and damaged or foreign; it is never overwritten.
    pub fn get(&self, id: &PlanId) -> Result<Option<Record>, RecordError> {
        let path = self.dir.join(id.short());
        if !path.exists() {
            return Ok(None);
        }
        let record = read(&path)?;
        if record.manifest.id != id.full() {
            return Err(RecordError::damaged(&path, "another plan's record has this name"));
        }
        Ok(Some(record))
    }

    /// Writes the record of a run.
    ///
    /// # Errors
    /// See [`write`].
    pub fn put(&self, input: &PlanInput, outcome: &Outcome) -> Result<Record, RecordError> {
        let path = match write(&self.dir, input, outcome) {
            Ok(path) => path,
            // Another process finished the same plan meanwhile; its record must be the same.
            Err(e) => return self.get(&input.id)?.ok_or(e),
        };
        read(&path)
    }

    /// Removes the record of a plan, complete or not, so that it can be run again; nothing happens if there is none.
    ///
    /// # Errors
    /// The file system refuses.
    pub fn forget(&self, id: &PlanId) -> Result<(), RecordError> {
        let path = self.dir.join(id.short());
        match fs::remove_dir_all(&path) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(RecordError::io(&path, &e)),
            _ => sync_dir(&self.dir),
        }
    }

    /// The record of a listed run, `None` if it has not been run yet.
    ///
    /// # Errors
    /// It is there and damaged, or its plan is not the one that is listed.
    pub fn record(&self, member: &Member) -> Result<Option<Record>, RecordError> {
        if !is_short_id(&member.record) {
            let path = self.dir.join(EXPERIMENT);
            return Err(RecordError::damaged(&path, format!("a record named {:?}", member.record)));
        }
        let path = self.dir.join(&member.record);
        let record = path.exists().then(|| read(&path)).transpose()?;
        // Figures are shown under the names of the list.
        match record.as_ref().and_then(|r| member.contradicts(&r.manifest.plan)) {
            Some(what) => Err(RecordError::damaged(&self.dir.join(EXPERIMENT), what)),
            None => Ok(record),
        }
    }

    fn save(&self) -> Result<(), RecordError> {
        let path = self.dir.join(EXPERIMENT);
        let text = json::text(&self.file).map_err(|e| RecordError::Outcome(e.to_string()))?;
        if fs::read_to_string(&path).is_ok_and(|old| old == text) {
            return Ok(());
        }
        let partial = self.dir.join(format!("{PARTIAL}{EXPERIMENT}-{}", std::process::id()));
        write_synced(&partial, &text)?;
        fs::rename(&partial, &path).map_err(|e| RecordError::io(&path, &e))?;
        sync_dir(&self.dir)
    }
}

/// Name, overrides included, of the kernel that others are compared with.
fn baseline(experiment: &Experiment, cells: &[Cell]) -> String {
    let asked = experiment.baseline.as_ref().or(experiment.kernels.first());
    let index = asked.and_then(|b| experiment.kernels.iter().position(|k| k.value == b.value)).unwrap_or(0);
    let mut names: Vec<&str> = Vec::new();
    // Kernels come in the experiment's order inside every workload, so the first appearance has its index.
    for cell in cells {
        let name = cell.input.plan.kernel.name.as_str();
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names.get(index).map(|n| n.to_string()).unwrap_or_default()
}

/// Makes `dir` ours: creates it, or takes it if it is empty or holds nothing but records and what belongs to them.
fn claim(dir: &Path) -> Result<(), RecordError> {
    if let Some(file) = dir.ancestors().find(|p| p.exists()).filter(|p| !p.is_dir()) {
        return Err(RecordError::Io { path: file.into(), why: "a file; expected a directory".into() });
    }
    fs::create_dir_all(dir).map_err(|e| RecordError::io(dir, &e))?;
    let lost = holds_records(dir);
    let mut foreign: Vec<String> = Vec::new();
    for entry in fs::read_dir(dir).map_err(|e| RecordError::io(dir, &e))? {
        let name = entry.map_err(|e| RecordError::io(dir, &e))?.file_name().to_string_lossy().into_owned();
        let own = is_partial(&name) || lost && goes_with_records(&name);
        if !own {
            foreign.push(name);
        }
    }
    match foreign.iter().min() {
        None => Ok(()),
        Some(name) => {
            let what = format!("it holds other files, such as {name}");
            let expected = format!("a new or empty directory, or one with an {EXPERIMENT}");
            Err(RecordError::Foreign { path: dir.into(), what, expected })
        }
    }
}

/// Whether there is a record in a directory, under the name of one.
pub fn holds_records(dir: &Path) -> bool {
    let is_record =
        |e: fs::DirEntry| is_short_id(&e.file_name().to_string_lossy()) && e.path().join(MANIFEST).is_file();
    fs::read_dir(dir).is_ok_and(|mut entries| entries.any(|e| e.is_ok_and(is_record)))
}

/// Whether a name beside records is one of theirs: a record, a log of one, the page, the runs of a search.
pub fn goes_with_records(name: &str) -> bool {
    let (record, ending) = name.split_once('.').unwrap_or((name, ""));
    let of_record = is_short_id(record) && ["", "events", "decisions", "why.json"].contains(&ending);
    of_record || [PAGE, "calibration"].contains(&name)
}

fn is_partial(name: &str) -> bool {
    name.starts_with(PARTIAL)
}

/// Removes what writers that no longer run have left unfinished.
fn remove_leftovers(dir: &Path) -> Result<(), RecordError> {
    for entry in fs::read_dir(dir).map_err(|e| RecordError::io(dir, &e))? {
        let entry = entry.map_err(|e| RecordError::io(dir, &e))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let Some((_, pid)) = name.strip_prefix(PARTIAL).and_then(|n| n.rsplit_once('-')) else { continue };
        if pid.parse::<u32>().map_or(true, |pid| Path::new("/proc").join(pid.to_string()).exists()) {
            continue;
        }
        let path = entry.path();
        let removed = if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
        removed.map_err(|e| RecordError::io(&path, &e))?;
    }
    Ok(())
}
