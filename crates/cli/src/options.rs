//! Options that several verbs share.

use crate::failure::{note, Failure};
use numalab_model::experiment::SEED_MAX;
use numalab_model::record::{self, Part};
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::num::NonZeroUsize;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

/// Bytes of a file that are looked at to find out what it is.
const HEAD_BYTES: u64 = 128;
/// Bytes at the beginning of a text that every one of its kind has: of a page, up to its title.
const KIND_BYTES: usize = 60;

/// How many runs at a time: as asked, else one per CPU of this host.
pub fn jobs(asked: Option<NonZeroUsize>) -> usize {
    asked.or_else(|| std::thread::available_parallelism().ok()).map_or(1, NonZeroUsize::get)
}

/// Where records go: as asked, else `out/NAME`.
pub fn directory(asked: Option<&Path>, name: &str) -> PathBuf {
    asked.map_or_else(|| Path::new("out").join(name), Path::to_path_buf)
}

/// Reads a positive count.
///
/// # Errors
/// Not a whole number, or out of range; what was expected.
pub fn iterations(text: &str) -> Result<u32, String> {
    let max = numalab_model::experiment::ITERATIONS_MAX;
    match text.parse::<u32>() {
        Ok(n) if (1..=max).contains(&n) => Ok(n),
        _ => Err(format!("a whole number from 1 to {max}")),
    }
}

/// Reads a number of jobs.
///
/// # Errors
/// Not a whole number, or out of range; what was expected.
pub fn job_count(text: &str) -> Result<NonZeroUsize, String> {
    match text.parse::<NonZeroUsize>() {
        Ok(n) if n.get() <= 1024 => Ok(n),
        _ => Err("a whole number from 1 to 1024".into()),
    }
}

/// Reads a seed.
///
/// # Errors
/// Not a whole number that fits 63 bits; what was expected.
pub fn seed(text: &str) -> Result<u64, String> {
    text.parse::<u64>().ok().filter(|s| *s <= SEED_MAX).ok_or_else(|| format!("a whole number from 0 to {SEED_MAX}"))
}

/// Reads a text file given on the command line.
///
/// # Errors
/// It cannot be read.
pub fn read(path: &Path) -> Result<String, Failure> {
    Ok(numalab_model::machine::read_text(path)?)
}

/// The name that means standard output.
const STDOUT: &str = "-";

/// Whether a path means standard output.
pub fn is_stdout(path: &Path) -> bool {
    path == Path::new(STDOUT)
}

/// Refuses two things on standard output: the file that `out` means, and what `--json` prints.
///
/// # Errors
/// Both are asked for.
pub fn refuse_both_on_stdout(out: &Path, json: bool) -> Result<(), Failure> {
    if json && is_stdout(out) {
        return Err(Failure::usage("command line: `--json` together with `--out -`; expected one on standard output"));
    }
    Ok(())
}

/// What a command says that has written a file: on standard error if the file itself is on standard output.
pub fn said(out: &Path, text: String) -> String {
    if !is_stdout(out) {
        return text;
    }
    note(&format!("numalab: {}", text.trim_end()));
    String::new()
}

/// A file given on the command line that is being written: beside its place and renamed, so that a reader never sees
/// half of it. What a link points to is written, not the link; a pipe, a device or standard output (`-`) is written as it
/// stands.
pub struct Target {
    shown: PathBuf,
    place: PathBuf,
    partial: Option<PathBuf>,
}

impl Target {
    /// Finds out how `path` can be written; `own` says of the first bytes of a file whether they are of this form, so
    /// that beside records nothing but an older file of the kind is replaced.
    ///
    /// # Errors
    /// It is a directory, or would be in one that is not there; it is part of an experiment's records, or a file
    /// beside them that is something else.
    pub fn new(path: &Path, own: &dyn Fn(&[u8]) -> bool) -> Result<Self, Failure> {
        if is_stdout(path) {
            return Ok(Self { shown: "standard output".into(), place: path.into(), partial: None });
        }
        let known = fs::metadata(path).ok();
        if known.as_ref().is_some_and(fs::Metadata::is_dir) {
            return Err(Failure::environment(format!("{}: a directory; expected a file", path.display())));
        }
        refuse_absent_folder(path)?;
        let place = real(path);
        refuse_records(path, &place, own)?;
        let partial = known.is_none_or(|m| m.is_file()).then(|| {
            let mut partial = place.as_os_str().to_owned();
            partial.push(format!(".partial-{}", std::process::id()));
            PathBuf::from(partial)
        });
        Ok(Self { shown: path.into(), place, partial })
    }
    /// Opens it for writing.
    ///
    /// # Errors
    /// The file system refuses.
    pub fn open(&self) -> Result<File, Failure> {
        let opened = match &self.partial {
            _ if is_stdout(&self.place) => std::io::stdout().as_fd().try_clone_to_owned().map(File::from),
            Some(partial) => File::create(partial),
            None => OpenOptions::new().write(true).open(&self.place),
        };
        opened.map_err(|e| self.refused(&e))
    }
    /// Whether an error is that the reader of standard output has gone away, which is no failure.
    pub fn is_unread(&self, e: &std::io::Error) -> bool {
        is_stdout(&self.place) && e.kind() == std::io::ErrorKind::BrokenPipe
    }
    /// Puts what was written in its place.
    ///
    /// # Errors
    /// The file system refuses.
    pub fn keep(&self) -> Result<(), Failure> {
        self.partial.as_ref().map_or(Ok(()), |p| fs::rename(p, &self.place)).map_err(|e| self.refused(&e))
    }
    /// Removes what was half written, which helps nobody; the error that matters is the one before.
    pub fn discard(&self) {
        if let Some(partial) = &self.partial {
            let _ = fs::remove_file(partial);
        }
    }
    /// A refusal of the file system, under the name that was given.
    pub fn refused(&self, e: &std::io::Error) -> Failure {
        Failure::environment(format!("{}: {e}", self.shown.display()))
    }
}

/// The path without links. Of a file that is not there yet its folder's is meant.
fn real(path: &Path) -> PathBuf {
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let absent = || Some(fs::canonicalize(folder).ok()?.join(path.file_name()?));
    fs::canonicalize(path).ok().or_else(absent).unwrap_or_else(|| path.into())
}

/// Refuses what belongs to an experiment's records, and files beside them that this command has not written.
fn refuse_records(path: &Path, place: &Path, own: &dyn Fn(&[u8]) -> bool) -> Result<(), Failure> {
    let what = match record::part_of(place) {
        Part::Records => "part of an experiment's records, which are never overwritten",
        Part::Beside if !may_replace(place, own) => {
            "a file in an experiment's folder that this command has not written"
        }
        _ => return Ok(()),
    };
    let expected = "another name, such as a new one beside experiment.json";
    Err(Failure::usage(format!("{}: {what}; expected {expected}", path.display())))
}

/// Whether a file is not there, empty, or begins as `own` says.
fn may_replace(place: &Path, own: &dyn Fn(&[u8]) -> bool) -> bool {
    let mut head = Vec::new();
    let read = File::open(place).map(|f| f.take(HEAD_BYTES).read_to_end(&mut head));
    match read {
        Err(e) => e.kind() == std::io::ErrorKind::NotFound,
        Ok(read) => read.is_ok() && (head.is_empty() || own(&head)),
    }
}

/// Refuses a file whose directory is not there, which the file system would say without a name.
fn refuse_absent_folder(path: &Path) -> Result<(), Failure> {
    // A name alone has an empty parent, which is the directory at hand.
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty() && !p.is_dir());
    let Some(folder) = folder else { return Ok(()) };
    let what = match folder.try_exists() {
        Ok(true) => "is no directory",
        Ok(false) => "is not there",
        // Opening the file says why.
        Err(_) => return Ok(()),
    };
    let (path, folder) = (path.display(), folder.display());
    Err(Failure::environment(format!("{path}: {folder} {what}; expected a directory to write in")))
}

/// How a text file that begins like `text` can be written, found out before there is all of it.
///
/// # Errors
/// See [`Target::new`].
pub fn target_for(path: &Path, text: &str) -> Result<Target, Failure> {
    let kind = &text.as_bytes()[..text.len().min(KIND_BYTES)];
    Target::new(path, &|head| head.starts_with(kind))
}

/// Writes a text file given on the command line (see [`Target`]); one that begins alike is of its kind.
///
/// # Errors
/// See [`Target::new`]; the file system refuses.
pub fn write(path: &Path, text: &str) -> Result<(), Failure> {
    let target = target_for(path, text)?;
    let mut file = target.open()?;
    let written = match file.write_all(text.as_bytes()) {
        Err(e) if !target.is_unread(&e) => Err(target.refused(&e)),
        _ => target.keep(),
    };
    written.inspect_err(|_| target.discard())
}
