//! Files that a command writes where an option names them, and standard output in place of such a file.

use crate::failure::{note, Failure};
use numalab_model::files::{input, output::Replacement};
use numalab_model::record::{self, Part};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

/// Number of bytes of a file that are read to find out its kind.
const HEAD_BYTES: u64 = 128;
/// Number of bytes at the beginning that all texts of one kind share. In an HTML page they end before the title.
const KIND_BYTES: usize = 60;

/// The name that means standard output.
const STDOUT: &str = "-";

/// Whether a path means standard output.
pub fn is_stdout(path: &Path) -> bool {
    path == Path::new(STDOUT)
}

/// Refuses to write both a file and the text of `--json` to standard output.
///
/// # Errors
/// `json` is set and `out` means standard output.
pub fn refuse_both_on_stdout(out: &Path, json: bool) -> Result<(), Failure> {
    if json && is_stdout(out) {
        return Err(Failure::usage("command line: `--json` together with `--out -`; expected one on standard output"));
    }
    Ok(())
}

/// The text that a command prints after it has written `out`. If the file went to standard output, the text goes to
/// standard error instead, and the result is empty.
pub fn text_beside(out: &Path, text: String) -> String {
    if !is_stdout(out) {
        return text;
    }
    note(&format!("numalab: {}", text.trim_end()));
    String::new()
}

/// A file given on the command line, before it is written. What has its name is replaced by the complete file, so that
/// a reader never sees half of it. A link of that name is replaced too, and what it points to stays: it may have come
/// with a folder of somebody else. A pipe, a device or standard output (`-`) is written directly.
pub struct Target {
    /// Name for messages.
    shown: PathBuf,
    /// Path whose folder has no symbolic links.
    place: PathBuf,
    /// Whether it is written directly.
    direct: bool,
}

/// A [`Target`] while it is written. Dropping the value removes an incomplete file.
pub enum Open {
    /// A pipe, a device or standard output.
    Direct(File),
    /// A file that has another name until it is complete.
    New(Replacement),
}

impl Open {
    /// The file to write to.
    pub fn file(&self) -> &File {
        match self {
            Self::Direct(file) => file,
            Self::New(new) => new.file(),
        }
    }
}

impl Target {
    /// Finds out how `path` can be written. `own` tells from the first bytes of a file whether this command may have
    /// written it: in an experiment's folder only such files are replaced.
    ///
    /// # Errors
    /// The path is a directory, or its folder does not exist; it is part of an experiment's records; it is a file of
    /// another kind in an experiment's folder.
    pub fn new(path: &Path, own: &dyn Fn(&[u8]) -> bool) -> Result<Self, Failure> {
        if is_stdout(path) {
            return Ok(Self { shown: "standard output".into(), place: path.into(), direct: true });
        }
        let place = real_place(path);
        let known = if is_systems(path) { fs::metadata(&place) } else { fs::symlink_metadata(&place) }.ok();
        if known.as_ref().is_some_and(fs::Metadata::is_dir) {
            return Err(Failure::environment(format!("{}: a directory; expected a file", path.display())));
        }
        refuse_absent_folder(path)?;
        refuse_records(path, &place, own)?;
        let direct = known.is_some_and(|m| !m.is_file() && !m.is_symlink());
        Ok(Self { shown: path.into(), place, direct })
    }
    /// Opens the file for writing.
    ///
    /// # Errors
    /// An error of the file system.
    pub fn open(&self) -> Result<Open, Failure> {
        let opened = if is_stdout(&self.place) {
            io::stdout().as_fd().try_clone_to_owned().map(|fd| Open::Direct(fd.into()))
        } else if self.direct {
            OpenOptions::new().write(true).open(&self.place).map(Open::Direct)
        } else {
            Replacement::new(&self.place).map(Open::New)
        };
        opened.map_err(|e| self.refused(&e))
    }
    /// Whether an error means that the reader of standard output has closed it, which is no failure.
    pub fn is_unread(&self, e: &io::Error) -> bool {
        is_stdout(&self.place) && e.kind() == io::ErrorKind::BrokenPipe
    }
    /// Gives the complete file its own name.
    ///
    /// # Errors
    /// An error of the file system.
    pub fn keep(&self, open: Open) -> Result<(), Failure> {
        match open {
            Open::Direct(_) => Ok(()),
            Open::New(new) => new.keep().map_err(|e| self.refused(&e)),
        }
    }
    /// The failure for an error of the file system, with the name that was given.
    pub fn refused(&self, e: &io::Error) -> Failure {
        Failure::environment(format!("{}: {e}", self.shown.display()))
    }
}

/// Whether a path is the system's own name of something that is open or of a device, such as `/dev/stdout`. Such links
/// are followed, because nobody else can have put them there.
fn is_systems(path: &Path) -> bool {
    ["/dev", "/proc"].iter().any(|p| path.starts_with(p))
}

/// The path with a folder without symbolic links. The last name stays, unless it is the system's own.
fn real_place(path: &Path) -> PathBuf {
    if is_systems(path) {
        return fs::canonicalize(path).unwrap_or_else(|_| path.into());
    }
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let real = || Some(fs::canonicalize(folder).ok()?.join(path.file_name()?));
    real().unwrap_or_else(|| path.into())
}

/// Refuses a path that belongs to an experiment's records, and a file beside them that this command has not written.
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

/// Whether a file may be replaced: it does not exist, it is a link or empty, or `own` accepts its first bytes.
fn may_replace(place: &Path, own: &dyn Fn(&[u8]) -> bool) -> bool {
    match fs::symlink_metadata(place) {
        Err(e) => return e.kind() == io::ErrorKind::NotFound,
        // What it points to stays.
        Ok(meta) if meta.is_symlink() => return true,
        Ok(_) => {}
    }
    let mut head = Vec::new();
    let read = input::open(place, u64::MAX).map(|f| f.take(HEAD_BYTES).read_to_end(&mut head));
    matches!(read, Ok(Ok(_))) && (head.is_empty() || own(&head))
}

/// Refuses a file whose folder does not exist. The error of the file system would not name the folder.
fn refuse_absent_folder(path: &Path) -> Result<(), Failure> {
    // A name alone has an empty parent, which means the current directory.
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty() && !p.is_dir());
    let Some(folder) = folder else { return Ok(()) };
    let what = match folder.try_exists() {
        Ok(true) => "is no directory",
        Ok(false) => "is not there",
        // Opening the file gives the reason.
        Err(_) => return Ok(()),
    };
    let (path, folder) = (path.display(), folder.display());
    Err(Failure::environment(format!("{path}: {folder} {what}; expected a directory to write in")))
}

/// Finds out how a text file can be written of which only the beginning, `text`, is known yet.
///
/// # Errors
/// See [`Target::new`].
pub fn target_for(path: &Path, text: &str) -> Result<Target, Failure> {
    let kind = &text.as_bytes()[..text.len().min(KIND_BYTES)];
    Target::new(path, &|head| head.starts_with(kind))
}

/// Writes a text file given on the command line (see [`Target`]). Files with the same beginning are of the same kind.
///
/// # Errors
/// See [`Target::new`]; an error of the file system.
pub fn write(path: &Path, text: &str) -> Result<(), Failure> {
    put(&target_for(path, text)?, text.as_bytes())
}

/// As [`write`], a file whose kind is told by its first bytes, `magic`.
///
/// # Errors
/// See [`Target::new`]; an error of the file system.
pub fn write_bytes(path: &Path, bytes: &[u8], magic: &[u8]) -> Result<(), Failure> {
    put(&Target::new(path, &|head| head.starts_with(magic))?, bytes)
}

fn put(target: &Target, bytes: &[u8]) -> Result<(), Failure> {
    let open = target.open()?;
    match open.file().write_all(bytes) {
        Err(e) if !target.is_unread(&e) => Err(target.refused(&e)),
        _ => target.keep(open),
    }
}
