//! Takes one file out of a Debian package without the package tools.
//!
//! A package is an `ar` archive (deb(5)). Its `data.tar.*` member is piped through the decompressor that its name asks
//! for, and the tar stream is read up to the wanted file. A package is not trusted: the number of members and the
//! length of a path are bounded, and no path of the archive is ever used as a path of this host.

use crate::child::ends_with_parent;
use object::read::archive::ArchiveFile;
use object::read::ReadCache;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Members searched for the data: deb(5) has three, and leaves room for a few of other tools.
const MAX_MEMBERS: usize = 16;
/// Longest path in an archive, bytes: `PATH_MAX` of Linux.
const MAX_PATH: u64 = 4096;

/// A package from which the wanted file could not be taken.
#[derive(Debug, thiserror::Error)]
#[error("{}: {kind}", package.display())]
pub struct DebError {
    /// The package.
    pub package: PathBuf,
    /// What is wrong.
    pub kind: DebErrorKind,
}

/// What is wrong with a package.
#[derive(Debug, thiserror::Error)]
pub enum DebErrorKind {
    /// The file is not an `ar` archive, or its headers are damaged.
    #[error("not a Debian package ({0})")]
    NotPackage(object::read::Error),
    /// The archive has no member `data.tar.*`.
    #[error("a package without data")]
    NoData,
    /// The name of the data member ends in an unknown way.
    #[error("{0} is compressed in an unknown way")]
    Compression(String),
    /// The decompressor cannot be started.
    #[error("`{program}` is needed to unpack it: {error}")]
    NoDecompressor {
        /// Program.
        program: &'static str,
        /// Error of its start.
        error: io::Error,
    },
    /// The data cannot be decompressed, or is not a tar archive.
    #[error("the package is damaged: {0}; fetch it again")]
    Damaged(String),
    /// The package is whole and lacks the wanted file.
    #[error("the wanted file is not in it")]
    NotFound,
    /// The package cannot be read, or the file cannot be written.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Writes the first regular file whose path (without leading `./`) `wanted` accepts to `to`; returns its path.
///
/// # Errors
/// [`DebError`].
pub fn extract(package: &Path, wanted: &dyn Fn(&str) -> bool, to: &Path) -> Result<String, DebError> {
    extract_from(package, wanted, to).map_err(|kind| DebError { package: package.into(), kind })
}

fn extract_from(package: &Path, wanted: &dyn Fn(&str) -> bool, to: &Path) -> Result<String, DebErrorKind> {
    let data = DataMember::find(File::open(package)?)?;
    let program = data.decompressor()?;
    let mut command = Command::new(program);
    command.arg("-dc").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = ends_with_parent(&mut command, libc::SIGTERM)
        .spawn()
        .map_err(|error| DebErrorKind::NoDecompressor { program, error })?;
    let input = child.stdin.take();
    let name = data.name.clone();
    let feeder = std::thread::spawn(move || {
        if let Some(mut input) = input {
            // A broken pipe ends it early once the wanted file has been read.
            let _ = data.copy_to(&mut input);
        }
    });
    let mut tar = BufReader::new(child.stdout.take().ok_or_else(|| io::Error::other("no output of the decompressor"))?);
    let found = take_from_tar(&mut tar, wanted, to);
    if matches!(found, Ok(None)) {
        // Only a decompressor that reads to the end reports damage by its exit status.
        let _ = io::copy(&mut tar, &mut io::sink());
    } else {
        // The rest of the archive is not needed.
        let _ = child.kill();
    }
    let status = child.wait();
    let _ = feeder.join();
    match found? {
        Some(path) => Ok(path),
        None if status.is_ok_and(|s| s.success()) => Err(DebErrorKind::NotFound),
        None => Err(DebErrorKind::Damaged(format!("`{program}` cannot unpack {name}"))),
    }
}

/// The member of a package that holds the files.
struct DataMember {
    file: File,
    name: String,
    offset: u64,
    size_bytes: u64,
}

impl DataMember {
    fn find(file: File) -> Result<Self, DebErrorKind> {
        let cache = ReadCache::new(file);
        let archive = ArchiveFile::parse(&cache).map_err(DebErrorKind::NotPackage)?;
        for member in archive.members().take(MAX_MEMBERS) {
            let member = member.map_err(DebErrorKind::NotPackage)?;
            if member.name().starts_with(b"data.tar") {
                let name = String::from_utf8_lossy(member.name()).into_owned();
                let (offset, size_bytes) = member.file_range();
                return Ok(Self { file: cache.into_inner(), name, offset, size_bytes });
            }
        }
        Err(DebErrorKind::NoData)
    }

    fn decompressor(&self) -> Result<&'static str, DebErrorKind> {
        match self.name.rsplit('.').next() {
            Some("xz") => Ok("xz"),
            Some("zst") => Ok("zstd"),
            Some("gz") => Ok("gzip"),
            _ => Err(DebErrorKind::Compression(self.name.clone())),
        }
    }

    fn copy_to(mut self, to: &mut impl Write) -> io::Result<u64> {
        self.file.seek(SeekFrom::Start(self.offset))?;
        io::copy(&mut self.file.take(self.size_bytes), to)
    }
}

/// Reads a tar stream up to the wanted file; `None` if the stream ends before.
fn take_from_tar(tar: impl Read, wanted: &dyn Fn(&str) -> bool, to: &Path) -> Result<Option<String>, DebErrorKind> {
    let damaged = |e: io::Error| DebErrorKind::Damaged(e.to_string());
    let mut archive = tar::Archive::new(tar);
    let mut long_path: Option<Vec<u8>> = None;
    // Raw, because the crate reads a long path of any length into memory.
    for entry in archive.entries().map_err(damaged)?.raw(true) {
        let mut entry = entry.map_err(damaged)?;
        let (kind, size_bytes) = (entry.header().entry_type(), entry.size());
        if kind.is_gnu_longname() {
            if size_bytes > MAX_PATH {
                let what = format!("a path of {size_bytes} bytes, at most {MAX_PATH} expected");
                return Err(DebErrorKind::Damaged(what));
            }
            let mut path = Vec::new();
            entry.read_to_end(&mut path).map_err(damaged)?;
            path.truncate(path.iter().position(|&b| b == 0).unwrap_or(path.len()));
            long_path = Some(path);
            continue;
        }
        let path = long_path.take().unwrap_or_else(|| entry.path_bytes().into_owned());
        let path = String::from_utf8_lossy(&path).trim_start_matches("./").to_string();
        if kind.is_file() && wanted(&path) {
            let mut out = tempfile::NamedTempFile::new_in(to.parent().unwrap_or(Path::new(".")))?;
            if io::copy(&mut entry, &mut out)? != size_bytes {
                return Err(DebErrorKind::Damaged("it ends inside the wanted file".into()));
            }
            out.flush()?;
            out.persist(to).map_err(|e| e.error)?;
            return Ok(Some(path));
        }
    }
    Ok(None)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    fn run(program: &str, arguments: &[&str], directory: &Path) {
        assert!(Command::new(program).args(arguments).current_dir(directory).status().unwrap().success());
    }

    /// An `ar` archive, made by hand because the tool `ar` may be missing.
    fn ar(members: &[(&str, Vec<u8>)]) -> Vec<u8> {
        let mut bytes = b"!<arch>\n".to_vec();
        for (name, content) in members {
            bytes.extend(format!("{name:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", 0, 0, 0, 644, content.len()).bytes());
            bytes.extend(content);
            if content.len() % 2 == 1 {
                bytes.push(b'\n');
            }
        }
        bytes
    }

    /// A package with one file.
    pub(crate) fn package(path: &str, content: &str) -> Vec<u8> {
        let directory = tempfile::tempdir().unwrap();
        let d = directory.path();
        std::fs::create_dir_all(d.join(path).parent().unwrap()).unwrap();
        std::fs::write(d.join(path), content).unwrap();
        run("tar", &["-cf", "data.tar", path], d);
        run("gzip", &["data.tar"], d);
        ar(&[("debian-binary", b"2.0\n".to_vec()), ("data.tar.gz", std::fs::read(d.join("data.tar.gz")).unwrap())])
    }

    /// A header that announces a long path of `size` bytes.
    fn long_path_header(size: u64) -> Vec<u8> {
        let mut header = tar::Header::new_gnu();
        header.set_path("././@LongLink").unwrap();
        header.set_entry_type(tar::EntryType::GNULongName);
        header.set_size(size);
        header.set_cksum();
        header.as_bytes().to_vec()
    }

    #[test]
    fn a_forged_header_does_not_ask_for_gigabytes() {
        let directory = tempfile::tempdir().unwrap();
        let (d, package) = (directory.path(), directory.path().join("forged.deb"));
        for size in [MAX_PATH + 1, (8 << 30) - 1] {
            std::fs::write(d.join("forged.tar"), long_path_header(size)).unwrap();
            run("gzip", &["-kf", "forged.tar"], d);
            std::fs::write(&package, ar(&[("data.tar.gz", std::fs::read(d.join("forged.tar.gz")).unwrap())])).unwrap();
            let e = extract(&package, &|_| true, &d.join("out")).unwrap_err().to_string();
            assert!(e.contains("forged.deb") && e.contains(&format!("a path of {size} bytes")), "{e}");
        }
        // Data that cannot be decompressed is damage, not a missing file.
        std::fs::write(&package, ar(&[("data.tar.gz", b"not gzip".to_vec())])).unwrap();
        let e = extract(&package, &|_| true, &d.join("out")).unwrap_err().to_string();
        assert!(e.contains("forged.deb: the package is damaged: `gzip` cannot unpack data.tar.gz"), "{e}");
    }

    #[test]
    fn forged_archive_headers_are_errors() {
        let directory = tempfile::tempdir().unwrap();
        let (d, package) = (directory.path(), directory.path().join("forged.deb"));
        let why = |bytes: &[u8]| {
            std::fs::write(&package, bytes).unwrap();
            extract(&package, &|_| true, &d.join("out")).unwrap_err().kind
        };
        // A name that refers to a missing table, and members longer than the file.
        assert!(matches!(why(&ar(&[("/999", vec![])])), DebErrorKind::NotPackage(_)));
        for name in ["//", "/", "#1/9999999999", "debian-binary"] {
            let bytes = ar(&[(name, vec![])]);
            let forged = String::from_utf8(bytes).unwrap().replace("0         `", "9999999999`");
            let kind = why(forged.as_bytes());
            assert!(matches!(kind, DebErrorKind::NotPackage(_) | DebErrorKind::NoData), "{name}: {kind:?}");
        }
        assert!(matches!(why(&ar(&vec![("debian-binary", vec![]); 1000])), DebErrorKind::NoData));
        assert!(matches!(why(&ar(&[("data.tar.lz4", vec![])])), DebErrorKind::Compression(_)));
        assert!(!d.join("out").exists());
    }

    #[test]
    fn a_file_is_taken_out_of_a_package() {
        let directory = tempfile::tempdir().unwrap();
        let d = directory.path();
        let long = format!("usr/share/{}", "long/".repeat(30));
        std::fs::create_dir_all(d.join("boot")).unwrap();
        std::fs::create_dir_all(d.join(&long)).unwrap();
        std::fs::write(d.join(&long).join("x"), b"other").unwrap();
        std::fs::write(d.join("boot/vmlinuz-6.12"), vec![5u8; 100_001]).unwrap();
        std::fs::write(d.join("debian-binary"), b"2.0\n").unwrap();
        run("tar", &["-cf", "data.tar", "./usr", "./boot"], d);
        for (tool, member) in [("gzip", "data.tar.gz"), ("xz", "data.tar.xz")] {
            if !crate::probe::test_has(&[tool]) {
                continue;
            }
            run(tool, &["-kf", "data.tar"], d);
            let package = format!("{tool}.deb");
            let read = |name: &str| std::fs::read(d.join(name)).unwrap();
            let bytes = ar(&[("debian-binary", read("debian-binary")), (member, read(member))]);
            std::fs::write(d.join(&package), bytes).unwrap();
            let to = d.join("out");
            let found = extract(&d.join(&package), &|p| p.starts_with("boot/vmlinuz-"), &to).unwrap();
            assert_eq!(found, "boot/vmlinuz-6.12");
            assert_eq!(std::fs::read(&to).unwrap(), vec![5u8; 100_001]);
            assert_eq!(extract(&d.join(&package), &|p| p.ends_with("long/x"), &to).unwrap(), format!("{long}x"));
            assert!(extract(&d.join(&package), &|_| false, &to).unwrap_err().to_string().contains("not in it"));
        }
        assert!(extract(&d.join("data.tar"), &|_| true, &d.join("o"))
            .unwrap_err()
            .to_string()
            .contains("not a Debian package"));
    }
}
