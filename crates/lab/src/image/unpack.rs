//! What a decompressor gives, as a stream with an end: at most a stated number of bytes and of entries.

use super::limits::ENTRIES_MAX;
use crate::child::ends_with_parent;
use std::io::{self, Read, Write};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread::JoinHandle;

/// Longest path in an archive, bytes: `PATH_MAX` of Linux.
const MAX_PATH: u64 = 4096;
/// Longest extended header (pax) in an archive, bytes: a path and a link, and some more.
const MAX_PAX: u64 = 1 << 16;

/// Why an archive is not unpacked.
#[derive(Debug, thiserror::Error)]
pub enum UnpackError {
    /// The decompressor cannot be started.
    #[error("`{program}` is needed to unpack it: {error}")]
    NoDecompressor {
        /// Program.
        program: &'static str,
        /// Error of its start.
        error: io::Error,
    },
    /// It has more bytes than any real archive of its kind.
    #[error("it unpacks to more than {} MiB, the most for its kind; expected an archive from its distributor", .0 >> 20)]
    TooLarge(u64),
    /// It has more files, folders and links than any real archive.
    #[error("it has more than {ENTRIES_MAX} entries; expected an archive from its distributor")]
    TooMany,
    /// An entry would land outside of the folder, or is of a kind that no source has.
    #[error("its entry `{0}` {1}; expected an archive from its distributor")]
    Entry(String, &'static str),
    /// It is no tar archive, or it is cut off.
    #[error("it is damaged: {0}; fetch it again")]
    Damaged(String),
    /// The unpacked file cannot be written.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// The output of a decompressor.
pub struct Unpacked {
    child: Child,
    feeder: JoinHandle<()>,
    from: ChildStdout,
    /// Bytes that may still come.
    left_bytes: u64,
    most_bytes: u64,
    exceeded: bool,
}

impl Unpacked {
    /// Starts a decompressor on what `packed` gives. At most `most_bytes` come out.
    ///
    /// # Errors
    /// The program cannot be started.
    pub fn start(
        program: &'static str,
        mut packed: impl Read + Send + 'static,
        most_bytes: u64,
    ) -> Result<Self, UnpackError> {
        let mut command = Command::new(program);
        command.arg("-dc").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let started = ends_with_parent(&mut command, libc::SIGTERM).spawn();
        let mut child = started.map_err(|error| UnpackError::NoDecompressor { program, error })?;
        let input = child.stdin.take();
        let from = child.stdout.take().ok_or_else(|| io::Error::other("no output of the decompressor"))?;
        let feeder = std::thread::spawn(move || {
            if let Some(mut input) = input {
                // A broken pipe ends it early once the wanted file has been read.
                let _ = io::copy(&mut packed, &mut input);
            }
        });
        Ok(Self { child, feeder, from, left_bytes: most_bytes, most_bytes, exceeded: false })
    }

    /// Reads the rest and ends the decompressor. Returns whether it found no damage.
    ///
    /// # Errors
    /// There is too much.
    pub fn end(mut self) -> Result<bool, UnpackError> {
        // Only a decompressor that reads to the end reports damage by its exit status.
        let rest = io::copy(&mut self, &mut io::sink());
        let (exceeded, most_bytes) = (self.exceeded, self.most_bytes);
        let whole = self.stop() && rest.is_ok();
        if exceeded {
            return Err(UnpackError::TooLarge(most_bytes));
        }
        Ok(whole)
    }

    /// Ends the decompressor without reading the rest.
    pub fn abandon(mut self) {
        let _ = self.child.kill();
        self.stop();
    }

    fn stop(mut self) -> bool {
        // Whoever still writes meets a broken pipe: the decompressor here, and the feeder after it.
        drop(self.from);
        let status = self.child.wait();
        let _ = self.feeder.join();
        status.is_ok_and(|s| s.success())
    }

    /// The result of reading the stream, with the error that it is too large if that ended it.
    ///
    /// # Errors
    /// That of the result.
    pub fn explain<T>(&self, read: Result<T, UnpackError>) -> Result<T, UnpackError> {
        read.map_err(|e| if self.exceeded { UnpackError::TooLarge(self.most_bytes) } else { e })
    }
}

impl Read for Unpacked {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let n = self.from.read(to)?;
        match self.left_bytes.checked_sub(n as u64) {
            Some(left) => self.left_bytes = left,
            None => {
                self.exceeded = true;
                return Err(io::Error::other("too large"));
            }
        }
        Ok(n)
    }
}

/// An entry of a tar stream, as [`walk`] shows it.
pub struct Entry<'a> {
    /// Its path, without `./` at the beginning.
    pub path: &'a str,
    /// Its kind.
    pub kind: tar::EntryType,
    /// Bytes of its contents.
    pub size_bytes: u64,
}

/// Goes through a tar stream until `visit` returns true; returns whether it did. `visit` may read the contents.
///
/// # Errors
/// The stream is no archive, is cut off, or has too many entries or too long a path; or the error of `visit`.
pub fn walk(
    stream: impl Read,
    visit: &mut dyn FnMut(&Entry<'_>, &mut dyn Read) -> Result<bool, UnpackError>,
) -> Result<bool, UnpackError> {
    let of = |e: io::Error| UnpackError::Damaged(e.to_string());
    let mut archive = tar::Archive::new(stream);
    let mut long_path: Option<String> = None;
    let mut entries: u64 = 0;
    // Raw, because the crate reads a long path of any length into memory.
    for entry in archive.entries().map_err(of)?.raw(true) {
        let mut entry = entry.map_err(of)?;
        entries += 1;
        if entries > ENTRIES_MAX {
            return Err(UnpackError::TooMany);
        }
        let (kind, size_bytes) = (entry.header().entry_type(), entry.size());
        if kind.is_gnu_longlink() {
            continue;
        }
        if kind.is_gnu_longname() || kind.is_pax_local_extensions() {
            if size_bytes > if kind.is_gnu_longname() { MAX_PATH } else { MAX_PAX } {
                let what = format!("a path of {size_bytes} bytes, at most {MAX_PATH} expected");
                return Err(UnpackError::Damaged(what));
            }
            let mut bytes = Vec::new();
            entry.read_to_end(&mut bytes).map_err(of)?;
            long_path = if kind.is_gnu_longname() { Some(up_to_nul(&bytes)) } else { pax_path(&bytes).or(long_path) };
            continue;
        }
        let path = long_path.take().unwrap_or_else(|| up_to_nul(&entry.path_bytes()));
        let shown = Entry { path: path.trim_start_matches("./"), kind, size_bytes };
        if visit(&shown, &mut entry)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn up_to_nul(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes.split(|&b| b == 0).next().unwrap_or_default()).into_owned()
}

/// The path in the records of a pax header.
fn pax_path(bytes: &[u8]) -> Option<String> {
    let mut records = tar::PaxExtensions::new(bytes).map_while(Result::ok);
    records.find(|r| r.key_bytes() == b"path").map(|r| String::from_utf8_lossy(r.value_bytes()).into_owned())
}

/// Refuses an entry of a source that would land outside of its folder, and kinds that no source has. A link may point
/// anywhere, but nothing is written through it: `tar` sees to that.
///
/// # Errors
/// What is wrong with the entry.
pub fn check_place(entry: &Entry<'_>) -> Result<(), UnpackError> {
    use tar::EntryType as Kind;
    let wrong = |what| Err(UnpackError::Entry(entry.path.chars().take(80).collect(), what));
    match entry.kind {
        _ if entry.path.starts_with('/') => wrong("has an absolute path"),
        _ if entry.path.split('/').any(|part| part == "..") => wrong("leaves its folder"),
        Kind::Char | Kind::Block | Kind::Fifo => wrong("is a device or a pipe"),
        _ => Ok(()),
    }
}

/// A reader that also gives everything to a writer.
pub struct Tee<R, W> {
    /// Where the bytes come from.
    pub from: R,
    /// Where they go as well.
    pub to: W,
}

impl<R: Read, W: Write> Read for Tee<R, W> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.from.read(buffer)?;
        self.to.write_all(&buffer[..n])?;
        Ok(n)
    }
}
