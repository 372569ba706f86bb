//! The directory of an experiment: the list of its runs, and their records.

use super::error::RecordError;
use super::folder::{check_free, claim, has_list, holds_records, lock, remove_leftovers, without_list, Lock};
use super::json;
use super::names::{is_short_id, EXPERIMENT, INDEX, MANIFEST, PARTIAL};
use super::read::{check_format, json as parse_json, read, text, Record};
use super::sane;
use super::write::{sync_dir, write};
use crate::experiment::{Cell, Experiment, Prediction};
use crate::files::output;
use crate::plan::{Plan, PlanId, PlanInput};
use crate::record::Outcome;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// `format` of an experiment file.
const FORMAT: &str = "numalab experiment";
/// Format version this program writes and reads.
const VERSION: u64 = 1;

/// `experiment.json`: the runs of an experiment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExperimentFile {
    /// Always [`FORMAT`].
    pub format: String,
    /// Format version.
    pub format_version: u64,
    /// Name.
    pub name: String,
    /// One line for people.
    pub title: String,
    /// Kernel with which the others are compared.
    pub baseline: String,
    /// What a prediction was asked, and what its workloads simulate of it; absent in other experiments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prediction: Option<Prediction>,
    /// Runs, in order.
    pub runs: Vec<Member>,
}

/// A run of an experiment and the name of its record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Member {
    /// Machine.
    pub machine: String,
    /// Workload.
    pub workload: String,
    /// Kernel.
    pub kernel: String,
    /// Number of the run among those that differ only in seed, from 0.
    pub iteration: u32,
    /// Seed.
    pub seed: u64,
    /// Short id of the plan, which is the name of the record's directory.
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
    /// The first difference between this entry and the plan of its record, in words.
    pub(super) fn contradicts(&self, plan: &Plan, seed: u64) -> Option<String> {
        let (listed, own) = (self.seed.to_string(), seed.to_string());
        let parts = [
            ("machine", &self.machine, &plan.machine.name),
            ("workload", &self.workload, &plan.workload.name),
            ("kernel", &self.kernel, &plan.kernel.name),
            ("seed", &listed, &own),
        ];
        let (what, listed, own) = parts.into_iter().find(|(_, listed, own)| listed != own)?;
        Some(format!("it lists {what} {listed} for record {}, which has {own}", self.record))
    }
    /// Machine, workload and kernel: what it shares with the runs that differ only in seed.
    fn comparison(&self) -> (&str, &str, &str) {
        (&self.machine, &self.workload, &self.kernel)
    }
}

/// An open directory of an experiment.
#[derive(Debug)]
pub struct Store {
    dir: PathBuf,
    file: ExperimentFile,
    /// The runs to list once every run asked for has its record, if they are not those of `file`.
    settled: Option<Vec<Member>>,
    /// The right to write; a reader has none.
    _lock: Option<Lock>,
}

impl Store {
    /// Opens `dir` for reading.
    ///
    /// # Errors
    /// `dir` is not an experiment's directory, is of another format version, is damaged, or lists a record twice.
    pub fn open(dir: &Path) -> Result<Self, RecordError> {
        let path = dir.join(EXPERIMENT);
        if !has_list(dir)? {
            return Err(without_list(dir));
        }
        let text = text(&path)?;
        check_format(&path, &text, FORMAT, VERSION)?;
        sane::check(&path, &text)?;
        let mut file: ExperimentFile = parse_json(&path, &text)?;
        sane::clean(&mut file.title);
        let mut listed = BTreeSet::new();
        match file.runs.iter().find(|r| !listed.insert(&r.record)) {
            Some(r) => Err(RecordError::damaged(&path, format!("it lists record {} twice", r.record))),
            None => Ok(Self { dir: dir.into(), settled: None, file, _lock: None }),
        }
    }

    /// Checks that `dir` can take the runs of the experiment `name`, before there are any: it is new, empty, or has
    /// runs of that experiment. Nothing is written.
    ///
    /// # Errors
    /// `dir` has foreign contents or another experiment.
    pub fn check_place(dir: &Path, name: &str) -> Result<(), RecordError> {
        if !has_list(dir)? {
            return check_free(dir);
        }
        of_experiment(dir, &Self::open(dir)?.file, name)
    }

    /// Opens `dir` for the runs of an experiment, creates it if needed, and writes the list of runs. No other process
    /// can open it for runs while the value lives.
    ///
    /// A directory that already holds this experiment keeps what it has. Runs of the same machine, workload and kernel
    /// are replaced in the list, other runs stay, and no record is touched. Runs that have records are replaced only by
    /// [`Store::settle`], so that an interruption leaves the earlier comparison. A directory that has records and has
    /// lost its list gets a new list.
    ///
    /// # Errors
    /// `dir` has foreign contents or another experiment, another process writes to it, or the file system refuses.
    pub fn create(dir: &Path, experiment: &Experiment, cells: &[Cell]) -> Result<Self, RecordError> {
        if !has_list(dir)? {
            claim(dir)?;
        }
        let lock = lock(dir)?;
        let mut baseline = baseline(experiment, cells);
        let asked = experiment.baseline.as_ref().map(|b| b.value.as_str());
        let mut old: Vec<Member> = Vec::new();
        if has_list(dir)? {
            let file = Self::open(dir)?.file;
            of_experiment(dir, &file, &experiment.name)?;
            // Adding kernels to a comparison must not change its baseline: only a baseline that is asked for replaces
            // the earlier one. It may be a kernel of the directory that is not run now.
            let own = |b: &str| experiment.column_names().any(|k| k.value == b);
            let kept = asked.map_or(Some(file.baseline.as_str()), |b| Some(b).filter(|b| !own(b)));
            if let Some(kept) = kept.filter(|k| file.runs.iter().any(|r| r.kernel == *k)) {
                baseline = kept.to_string();
            }
            old = file.runs;
        }
        let (runs, settled) = lists(dir, &old, cells.iter().map(Member::of).collect())?;
        let file = ExperimentFile {
            format: FORMAT.into(),
            format_version: VERSION,
            name: experiment.name.clone(),
            title: experiment.title.clone(),
            baseline,
            prediction: experiment.axes.prediction.clone(),
            runs,
        };
        remove_leftovers(dir)?;
        let settled = Some(settled).filter(|s| *s != file.runs);
        let store = Self { dir: dir.into(), file, settled, _lock: Some(lock) };
        store.save(&store.file)?;
        Ok(store)
    }

    /// Removes the list of runs and the directory of an experiment of which no run has a record. Errors are ignored:
    /// the reason why the experiment is given up is the one to report.
    pub fn abandon(&self) {
        if !holds_records(&self.dir) {
            let _ = fs::remove_file(self.dir.join(EXPERIMENT));
            let _ = fs::remove_file(self.dir.join(INDEX));
            let _ = remove_leftovers(&self.dir);
            // Fails if anything else is in it.
            let _ = fs::remove_dir(&self.dir);
        }
    }

    /// Whether earlier runs are listed in place of those asked for, until [`Store::settle`] is called.
    pub fn replaces(&self) -> bool {
        self.settled.is_some()
    }

    /// Writes the list with all runs asked for in place of those that they replace. Each of them has its record by now.
    ///
    /// # Errors
    /// The file system refuses.
    pub fn settle(&self) -> Result<(), RecordError> {
        let Some(runs) = self.settled.clone() else { return self.save(&self.file) };
        self.save(&ExperimentFile { runs, ..self.file.clone() })
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
    /// The record is damaged, or its place holds something else. It is never overwritten.
    pub fn get(&self, id: &PlanId) -> Result<Option<Record>, RecordError> {
        let path = self.dir.join(id.short());
        if !is_there(&path)? {
            return Ok(None);
        }
        let record = read(&path)?;
        if record.manifest.id != id.full() {
            return Err(RecordError::damaged(&path, "another plan's record has this name"));
        }
        Ok(Some(record))
    }

    /// Writes the record of a run and reads it back.
    ///
    /// # Errors
    /// Those of [`write`] and [`read`].
    pub fn put(&self, input: &PlanInput, outcome: &Outcome) -> Result<Record, RecordError> {
        let path = match write(&self.dir, input, outcome) {
            Ok(path) => path,
            // Another process may have finished the same plan meanwhile; its record is the same.
            Err(e) => return self.get(&input.id)?.ok_or(e),
        };
        read(&path)
    }

    /// Removes the record of a plan, complete or not, so that the plan can be run again. Without a record it does
    /// nothing.
    ///
    /// # Errors
    /// The file system refuses.
    pub fn forget(&self, id: &PlanId) -> Result<(), RecordError> {
        let path = self.dir.join(id.short());
        // The record is renamed first: a record that is half gone would count as damaged, and its plan would not be run
        // again.
        let away = self.dir.join(format!("{PARTIAL}{}-{}", id.short(), std::process::id()));
        match fs::rename(&path, &away).and_then(|()| fs::remove_dir_all(&away)) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(RecordError::io(&path, &e)),
            _ => sync_dir(&self.dir).map_err(|e| RecordError::io(&self.dir, &e)),
        }
    }

    /// The record of a listed run, `None` if it has not been run yet.
    ///
    /// # Errors
    /// The record is damaged, or its plan is not the one that is listed.
    pub fn record(&self, member: &Member) -> Result<Option<Record>, RecordError> {
        let path = self.place(member)?;
        let record = is_there(&path)?.then(|| read(&path)).transpose()?;
        if let Some(r) = &record {
            self.agree(member, &r.manifest.plan, r.manifest.plan.seed)?;
        }
        Ok(record)
    }

    /// The directory of a listed run's record.
    ///
    /// # Errors
    /// The list has a name that no record has.
    pub(super) fn place(&self, member: &Member) -> Result<PathBuf, RecordError> {
        if is_short_id(&member.record) {
            return Ok(self.dir.join(&member.record));
        }
        Err(RecordError::damaged(&self.dir.join(EXPERIMENT), format!("a record named {:?}", member.record)))
    }

    /// Refuses a record that is not the one that is listed: reports show figures under the names of the list.
    ///
    /// # Errors
    /// The plan and its seed are not those of the list.
    pub(super) fn agree(&self, member: &Member, plan: &Plan, seed: u64) -> Result<(), RecordError> {
        match member.contradicts(plan, seed) {
            Some(what) => Err(RecordError::damaged(&self.dir.join(EXPERIMENT), what)),
            None => Ok(()),
        }
    }

    /// Writes the list of runs if it differs from the one on disk.
    fn save(&self, file: &ExperimentFile) -> Result<(), RecordError> {
        let path = self.dir.join(EXPERIMENT);
        let new = json::text(file).map_err(|e| RecordError::Outcome(e.to_string()))?;
        if text(&path).is_ok_and(|old| old == new) {
            return Ok(());
        }
        output::replace(&path, new.as_bytes())
            .and_then(|()| sync_dir(&self.dir))
            .map_err(|e| RecordError::unwritable(&self.dir, &e))
    }
}

/// Refuses a directory with the runs of another experiment.
fn of_experiment(dir: &Path, file: &ExperimentFile, name: &str) -> Result<(), RecordError> {
    if file.name == name {
        return Ok(());
    }
    let what = format!("it holds the experiment `{}`", file.name);
    let expected = format!("a new directory, or one of the experiment `{name}`");
    Err(RecordError::Foreign { path: dir.into(), what, expected })
}

/// Whether something is at `path`, the place of a record. A record is its own folder: through a link, files elsewhere
/// would be taken for it.
fn is_there(path: &Path) -> Result<bool, RecordError> {
    if fs::symlink_metadata(path).is_ok_and(|m| m.is_symlink()) {
        let expected = "the folder of a record (remove the link; the same command runs the plan again)";
        return Err(RecordError::Foreign {
            path: path.into(),
            what: "a symbolic link".into(),
            expected: expected.into(),
        });
    }
    path.try_exists().map_err(|e| RecordError::unreadable(path, &e))
}

/// Two lists of runs: until all of `new` have records, and from then on.
///
/// A group of runs that differ only in seed is replaced as a whole, because seeds of two settings are no sample. In the
/// first list an old group stays if one of its runs that would leave the list has a record.
fn lists(dir: &Path, old: &[Member], new: Vec<Member>) -> Result<(Vec<Member>, Vec<Member>), RecordError> {
    let again: BTreeSet<_> = new.iter().map(Member::comparison).collect();
    let asked: BTreeSet<&str> = new.iter().map(|n| n.record.as_str()).collect();
    let others = || old.iter().filter(|r| !again.contains(&r.comparison()));
    if let Some(r) = others().find(|r| asked.contains(r.record.as_str())) {
        let (machine, workload, kernel, record) = (&r.machine, &r.workload, &r.kernel, &r.record);
        let what = format!("it lists {machine} {workload} {kernel} for record {record}, a run of something else");
        return Err(RecordError::damaged(&dir.join(EXPERIMENT), what));
    }
    let would_be_lost =
        |r: &&Member| !asked.contains(r.record.as_str()) && dir.join(&r.record).join(MANIFEST).is_file();
    let staying: BTreeSet<_> = old.iter().filter(would_be_lost).map(Member::comparison).collect();
    let until = replaced(old, &new, |r| again.contains(&r.comparison()) && !staying.contains(&r.comparison()));
    let settled = replaced(old, &new, |r| again.contains(&r.comparison()));
    Ok((until, settled))
}

/// `old` with the groups for which `leaves` holds replaced by those of `new`. A group keeps its place, so that columns
/// of a report keep theirs; groups that are not in `old` follow at the end.
fn replaced(old: &[Member], new: &[Member], leaves: impl Fn(&Member) -> bool) -> Vec<Member> {
    let mut out: Vec<Member> = Vec::new();
    let mut placed = BTreeSet::new();
    for r in old {
        let own = |n: &&Member| n.comparison() == r.comparison();
        match (leaves(r), placed.insert(r.comparison())) {
            (false, _) => out.push(r.clone()),
            (true, true) => out.extend(new.iter().filter(own).cloned()),
            (true, false) => {}
        }
    }
    out.extend(new.iter().filter(|n| !placed.contains(&n.comparison())).cloned());
    out
}

/// Full name, overrides included, of the kernel with which the others are compared.
fn baseline(experiment: &Experiment, cells: &[Cell]) -> String {
    let asked = experiment.baseline.as_ref().or_else(|| experiment.column_names().next());
    let index = asked.and_then(|b| experiment.column_names().position(|k| k.value == b.value));
    let mut names: Vec<&str> = Vec::new();
    // Inside every workload kernels stand in the experiment's order, so a kernel's first appearance gives its index.
    for cell in cells {
        let name = cell.input.plan.kernel.name.as_str();
        if !names.contains(&name) {
            names.push(name);
        }
    }
    // A baseline may also be given as the full name of an overridden kernel.
    let full = || names.iter().position(|n| asked.is_some_and(|b| b.value == *n));
    names.get(index.or_else(full).unwrap_or(0)).map(|n| n.to_string()).unwrap_or_default()
}
