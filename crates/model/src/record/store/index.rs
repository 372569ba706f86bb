//! `index.jsonl`: the summaries of an experiment's records in one file.
//!
//! Problem: 100,000 records are as many folders, with gigabytes of plans, sources and series. Reading them takes
//! minutes, and a comparison needs some hundred bytes of each.
//! Approach: a header, lines of what records share (plans, names of figures, words), a line for each record, and the
//! digest of all before it. An entry has the stamp of its record: which files it has, and when they changed.
//! Invariants: an entry counts only while the stamp is that of the files that are there. A file that is damaged, of
//! another version or too large counts as none. Nothing needs it: without it the records are read.

use super::manifest::{status_of, status_words};
use super::names::{INDEX, MANIFEST, SCALARS};
use super::sane;
use super::summary::Summary;
use crate::files::input;
use crate::files::output::Replacement;
use crate::plan::{hex, Plan};
use crate::record::{Outcome, Scalar, Settled};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::{self, DirEntry, File, Metadata};
use std::io::{self, BufRead, BufReader, BufWriter, Read, Seek, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// First line of an index. Another form of what follows needs another number.
const HEAD: &str = "{\"format\":\"numalab index\",\"format_version\":1}\n";
/// Beginning of the last line: the digest of all lines before it.
const DIGEST: &str = "sha256 ";
/// Largest index that is read or written, bytes: so much for each run, and for what runs share.
const ROW_BYTES_MAX: u64 = 4 << 10;
const SHARED_BYTES_MAX: u64 = 64 << 20;
/// Longest line: a plan has some tens of kilobytes.
const LINE_BYTES_MAX: u64 = 64 << 20;
/// A record that changed so recently is not entered: a second change might leave the same stamp.
const SETTLED: Duration = Duration::from_secs(1);
/// Folders in folders that a record may have; its sources have the shape of a catalog.
const FOLDERS_DEEP: u32 = 8;

/// What many records have in common. Each has a number: its place among the lines of this kind.
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
enum Shared {
    /// A plan, as [`Summary::plan`] has it.
    Plan(Arc<Plan>),
    /// Names of figures, in order.
    Figures { scalars: Vec<(String, String, bool)>, counters: Vec<String>, reasons: Vec<String> },
    /// Digests, timing, status and reason; or warnings.
    Words(Vec<Arc<str>>),
}

/// The line of a record: its name, its stamp, and the numbers of its plan, words, warnings and figures; then seed,
/// settled state, and the values of scalars, counters and reasons.
#[derive(Serialize, Deserialize)]
struct Row<'a>(&'a str, &'a str, [usize; 4], u64, Option<Settled>, Vec<f64>, Vec<u64>, Vec<u64>);

/// An index: where the line of each record is in the file, and what the lines share.
#[derive(Debug, Default)]
pub(super) struct Index {
    /// The file, and the length of its lines without the last.
    file: Option<(File, u64)>,
    /// What the lines share, by number.
    shared: Vec<Shared>,
    /// Number by digest of the line.
    numbers: HashMap<[u8; 32], usize>,
    /// Place and length of a record's line in the file, by its name.
    rows: HashMap<u64, (u64, u32)>,
    /// Number of the last plan.
    last_plan: Option<usize>,
    /// How many of `shared` have a line in the file.
    lines: usize,
    /// The file that is to take its place, once a record was added.
    next: Next,
}

/// The next file of an index.
#[derive(Debug, Default)]
enum Next {
    /// No record was added.
    #[default]
    Same,
    /// It has the lines of the file, and those that were added.
    Growing(Box<Growing>),
    /// Nothing can be written here.
    None,
}

/// A file under construction, and the digest of what is in it.
#[derive(Debug)]
struct Growing {
    file: BufWriter<Replacement>,
    digest: Sha256,
    bytes: u64,
}

impl Growing {
    fn line(&mut self, line: &str) -> io::Result<()> {
        for part in [line.as_bytes(), b"\n"] {
            self.digest.update(part);
            self.file.write_all(part)?;
        }
        self.bytes += line.len() as u64 + 1;
        Ok(())
    }
}

impl Index {
    /// The index in `dir` for an experiment of so many runs; an empty one if there is none that can be trusted.
    pub(super) fn read(dir: &Path, runs: usize) -> Self {
        let index = Self::of(dir, runs).unwrap_or_default();
        // Lines of records that are gone stay behind: with many of them a new file is shorter.
        if index.rows.len() > 2 * runs {
            return Self::default();
        }
        index
    }

    /// The index in a file; `None` if it is damaged, or a line is of no known form.
    fn of(dir: &Path, runs: usize) -> Option<Self> {
        let mut file = input::open(&dir.join(INDEX), bytes_max(runs)).ok()?;
        let mut lines = BufReader::new(&file);
        let (mut index, mut digest, mut at, mut line) = (Self::default(), Sha256::new(), 0, String::new());
        loop {
            line.clear();
            let len = lines.by_ref().take(LINE_BYTES_MAX).read_line(&mut line).ok()?;
            if let Some(last) = line.strip_prefix(DIGEST) {
                (hex(&digest.finalize()) == last.trim_end() && lines.fill_buf().ok()?.is_empty()).then_some(())?;
                break;
            }
            digest.update(&line);
            match line.strip_prefix("[\"") {
                _ if at == 0 => (line == HEAD).then_some(())?,
                Some(row) => drop(index.rows.insert(key(row.get(..16)?)?, (at, len as u32))),
                None => {
                    index.numbers.insert(Sha256::digest(line.trim_end()).into(), index.shared.len());
                    index.shared.push(shared(&line)?);
                }
            }
            at += len as u64;
        }
        file.rewind().ok()?;
        (index.file, index.lines) = (Some((file, at)), index.shared.len());
        Some(index)
    }

    /// The summary of a record whose files have this stamp.
    pub(super) fn get(&self, record: &str, stamp: &Stamp) -> Option<Summary> {
        let (at, len) = *self.rows.get(&key(record)?)?;
        let mut line = vec![0; len as usize];
        self.file.as_ref()?.0.read_exact_at(&mut line, at).ok()?;
        let Row(name, stamped, [plan, words, warnings, figures], seed, settled, values, counts, skips) =
            serde_json::from_slice(&line).ok()?;
        let (Shared::Plan(plan), Shared::Words(words)) = (self.shared.get(plan)?, self.shared.get(words)?) else {
            return None;
        };
        let (Shared::Words(warnings), Shared::Figures { scalars, counters, reasons }) =
            (self.shared.get(warnings)?, self.shared.get(figures)?)
        else {
            return None;
        };
        let fits = (scalars.len(), counters.len(), reasons.len()) == (values.len(), counts.len(), skips.len());
        if (name, stamped) != (record, stamp.text.as_str()) || !fits {
            return None;
        }
        let [workload, file, timing, status, reason] = words.as_slice() else { return None };
        let scalar = |((name, unit, higher), value): (&(String, String, bool), f64)| Scalar {
            name: name.clone(),
            value,
            unit: unit.clone(),
            higher_is_better: *higher,
        };
        let outcome = Outcome {
            status: status_of(status, Some(reason.to_string()))?,
            scalars: scalars.iter().zip(values).map(scalar).collect(),
            counters: counters.iter().cloned().zip(counts).collect(),
            reasons: reasons.iter().cloned().zip(skips).collect(),
            warnings: warnings.iter().map(ToString::to_string).collect(),
            settled: settled.filter(Settled::is_sane),
            ..Outcome::default()
        };
        let (workload_sha256, workload_file_sha256) = (Arc::clone(workload), Arc::clone(file));
        let (plan, guest_timing) = (Arc::clone(plan), Arc::clone(timing));
        Some(Summary { plan, seed, workload_sha256, workload_file_sha256, guest_timing, outcome })
    }

    /// Makes a summary share what summaries before it had.
    pub(super) fn share(&mut self, summary: &mut Summary) -> Option<()> {
        let plan = self.number(Shared::Plan(Arc::clone(&summary.plan)))?;
        let words = self.number(words_of(summary))?;
        if let (Shared::Plan(plan), Shared::Words(words)) = (&self.shared[plan], &self.shared[words]) {
            summary.plan = Arc::clone(plan);
            summary.workload_sha256 = Arc::clone(&words[0]);
            summary.workload_file_sha256 = Arc::clone(&words[1]);
            summary.guest_timing = Arc::clone(&words[2]);
        }
        Some(())
    }

    /// Enters the summary of a record in `dir`, if its stamp lasts.
    pub(super) fn add(&mut self, dir: &Path, record: &str, stamp: &Stamp, summary: &Summary) -> Option<()> {
        if !stamp.lasts || matches!(self.next, Next::None) {
            return None;
        }
        let o = &summary.outcome;
        let names = |pairs: &[(String, u64)]| pairs.iter().map(|p| p.0.clone()).collect();
        let figures = Shared::Figures {
            scalars: o.scalars.iter().map(|s| (s.name.clone(), s.unit.clone(), s.higher_is_better)).collect(),
            counters: names(&o.counters),
            reasons: names(&o.reasons),
        };
        let numbers = [
            self.number(Shared::Plan(Arc::clone(&summary.plan)))?,
            self.number(words_of(summary))?,
            self.number(Shared::Words(o.warnings.iter().map(|w| w.as_str().into()).collect()))?,
            self.number(figures)?,
        ];
        let values = |pairs: &[(String, u64)]| pairs.iter().map(|p| p.1).collect();
        let scalars = o.scalars.iter().map(|s| s.value).collect();
        let settled = o.settled.clone();
        let (counts, skips) = (values(&o.counters), values(&o.reasons));
        let row = Row(record, &stamp.text, numbers, summary.seed, settled, scalars, counts, skips);
        let row = serde_json::to_string(&row).ok()?;
        if matches!(self.next, Next::Same) {
            // The answer does not depend on it, so a full or protected disk is no error.
            self.next = self.grow(dir).map_or(Next::None, |next| Next::Growing(Box::new(next)));
        }
        self.line(&row)
    }

    /// The next file, with the lines of this one.
    fn grow(&self, dir: &Path) -> io::Result<Growing> {
        let file = BufWriter::new(Replacement::new(&dir.join(INDEX))?);
        let mut next = Growing { file, digest: Sha256::new(), bytes: 0 };
        match &self.file {
            None => next.line(HEAD.trim_end())?,
            Some((file, len)) => {
                for line in BufReader::new(file).take(*len).lines() {
                    next.line(&line?)?;
                }
            }
        }
        // What is shared has no line yet if it came before the first record.
        for new in &self.shared[self.lines..] {
            next.line(&serde_json::to_string(new)?)?;
        }
        Ok(next)
    }

    /// Writes a line into the next file, if there is one.
    fn line(&mut self, line: &str) -> Option<()> {
        if let Next::Growing(next) = &mut self.next {
            if next.line(line).is_err() {
                self.next = Next::None;
                return None;
            }
        }
        Some(())
    }

    /// The number of something shared: a new line if no record before had it.
    fn number(&mut self, new: Shared) -> Option<usize> {
        // Most records have the plan of the one before.
        if let (Shared::Plan(plan), Some(at)) = (&new, self.last_plan) {
            if matches!(&self.shared[at], Shared::Plan(last) if last == plan) {
                return Some(at);
            }
        }
        let line = serde_json::to_string(&new).ok()?;
        let digest = Sha256::digest(&line).into();
        let at = match self.numbers.get(&digest) {
            Some(at) => *at,
            None => {
                self.line(&line);
                self.numbers.insert(digest, self.shared.len());
                self.shared.push(new);
                self.shared.len() - 1
            }
        };
        if matches!(self.shared[at], Shared::Plan(_)) {
            self.last_plan = Some(at);
        }
        Some(at)
    }

    /// Puts the next file in place, if a record was added. A directory that nothing can be written to goes without.
    pub(super) fn keep(self, runs: usize) {
        let Next::Growing(mut next) = self.next else { return };
        let digest = hex(&next.digest.clone().finalize());
        if next.bytes > bytes_max(runs) || next.line(&format!("{DIGEST}{digest}")).is_err() {
            return;
        }
        if let Ok(file) = next.file.into_inner() {
            let _ = file.keep();
        }
    }
}

/// Reads `lines` as the index in `dir`, with the digest that belongs to them, and all its rows. Returns how many rows
/// are of a known form. It is there for those who try the reader with hostile lines, which the digest would hide.
///
/// # Errors
/// The file cannot be written.
pub fn try_index(dir: &Path, lines: &str) -> io::Result<usize> {
    let lines = format!("{}\n", lines.trim_end_matches('\n'));
    fs::write(dir.join(INDEX), format!("{lines}{DIGEST}{}\n", hex(&Sha256::digest(&lines))))?;
    let index = Index::read(dir, INDEXED_RUNS);
    let row = |line: &str| {
        let Row(name, stamp, ..) = serde_json::from_str(line).ok()?;
        index.get(name, &Stamp { text: stamp.into(), lasts: true })
    };
    Ok(lines.lines().filter_map(row).count())
}

/// Runs of the experiment whose index [`try_index`] reads.
const INDEXED_RUNS: usize = 1000;

/// The words of a record that others may share: digests, timing, status and reason.
fn words_of(summary: &Summary) -> Shared {
    let (status, reason) = status_words(&summary.outcome.status);
    let mut words = vec![summary.workload_sha256.clone(), summary.workload_file_sha256.clone()];
    words.extend([summary.guest_timing.clone(), status.into(), reason.unwrap_or_default().into()]);
    Shared::Words(words)
}

/// The largest index of an experiment of so many runs, bytes.
fn bytes_max(runs: usize) -> u64 {
    (runs as u64).saturating_mul(ROW_BYTES_MAX).saturating_add(SHARED_BYTES_MAX)
}

/// What a line says that records share; `None` if it is of no known form, or what no record may say.
fn shared(line: &str) -> Option<Shared> {
    let shared = serde_json::from_str(line).ok()?;
    match &shared {
        Shared::Words(words) => words.iter().all(|w| sane::is_clean(w)),
        Shared::Plan(_) | Shared::Figures { .. } => sane::check(Path::new(INDEX), line).is_ok(),
    }
    .then_some(shared)
}

/// The name of a record as a number.
fn key(record: &str) -> Option<u64> {
    u64::from_str_radix(record, 16).ok()
}

/// Which files a record has, and when they last changed.
#[derive(Debug)]
pub(super) struct Stamp {
    text: String,
    /// Whether the last change is so long ago that another one would show.
    lasts: bool,
}

impl Stamp {
    /// The stamp of the record in `dir`; `None` if it has no figures, or anything but files and folders.
    pub(super) fn of(dir: &Path) -> Option<Self> {
        let folder = fs::symlink_metadata(dir).ok().filter(Metadata::is_dir)?;
        let (mut digest, mut newest) = (Sha256::new(), Duration::ZERO);
        digest.update(folder.ino().to_le_bytes());
        // Each file is looked at, and none is read: a comparison without an index reads them all.
        let found = stamp_files(dir, &mut digest, &mut newest, FOLDERS_DEEP)?;
        [MANIFEST, SCALARS].iter().all(|name| found.iter().any(|n| n == name)).then_some(())?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let lasts = now.saturating_sub(newest) > SETTLED;
        Some(Self { text: hex(&digest.finalize()[..16]), lasts })
    }
}

/// Adds the files in `dir` and in its folders, in the order of their names, and returns the names of `dir`'s own.
fn stamp_files(dir: &Path, digest: &mut Sha256, newest: &mut Duration, deep: u32) -> Option<Vec<OsString>> {
    let mut all: Vec<_> = fs::read_dir(dir).ok()?.collect::<io::Result<_>>().ok()?;
    all.sort_by_key(DirEntry::file_name);
    let mut files = Vec::new();
    for entry in all {
        let (name, found) = (entry.file_name(), entry.metadata().ok()?);
        digest.update(name.as_bytes());
        digest.update([0]);
        if found.is_dir() {
            stamp_files(&entry.path(), digest, newest, deep.checked_sub(1)?)?;
            continue;
        }
        found.is_file().then_some(())?;
        for n in [found.dev(), found.ino(), found.size()] {
            digest.update(n.to_le_bytes());
        }
        for n in [found.mtime(), found.mtime_nsec(), found.ctime(), found.ctime_nsec()] {
            digest.update(n.to_le_bytes());
        }
        *newest = (*newest).max(Duration::new(found.ctime().max(0) as u64, found.ctime_nsec().max(0) as u32));
        files.push(name);
    }
    Some(files)
}
