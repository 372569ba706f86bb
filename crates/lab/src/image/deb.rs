//! Takes one file out of a Debian package without the package tools.
//!
//! A package is an `ar` archive (deb(5)). Its `data.tar.*` member is piped through the decompressor that its name asks
//! for, and the tar stream is read up to the wanted file. A package is not trusted: its size, the number of members,
//! what they unpack to and the length of a path are bounded, and no path of the archive is ever used as a path of this
//! host.

use super::limits::{PACKAGE_BYTES_MAX, PACKAGE_UNPACKED_BYTES_MAX};
use super::unpack::{self, UnpackError, Unpacked};
use numalab_model::files::input::{self, limit, InputErrorKind};
use object::read::archive::ArchiveFile;
use object::read::ReadCache;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// Members searched for the data: deb(5) has three, and leaves room for a few of other tools.
const MAX_MEMBERS: usize = 16;

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
    /// The package is no regular file, or it is too large.
    #[error("{}; expected {}", .0, .0.expected())]
    Input(InputErrorKind),
    /// The data cannot be unpacked.
    #[error("the package is not unpacked: {0}")]
    Unpack(#[from] UnpackError),
    /// The wanted file is larger than any of its kind.
    #[error("{path} has {size_bytes} bytes, more than {}; expected a package of its distributor", limit(*.most_bytes))]
    TooLarge {
        /// Its path.
        path: String,
        /// Its size.
        size_bytes: u64,
        /// Most bytes of its kind.
        most_bytes: u64,
    },
    /// The package is whole and lacks the wanted file.
    #[error("the wanted file is not in it")]
    NotFound,
    /// The package cannot be read.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// A file to take out of a package.
pub struct Wanted<'a> {
    /// Whether a path (without leading `./`) is the one.
    pub is: &'a dyn Fn(&str) -> bool,
    /// Most bytes that it may have.
    pub most_bytes: u64,
}

/// Writes the first regular file that is wanted to `to`, a new file; returns its path.
///
/// # Errors
/// [`DebError`].
pub fn extract(package: &Path, wanted: &Wanted<'_>, to: &Path) -> Result<String, DebError> {
    extract_at_most(package, wanted, to, PACKAGE_UNPACKED_BYTES_MAX)
        .map_err(|kind| DebError { package: package.into(), kind })
}

/// [`extract`] of a package of which at most `unpacked_bytes` are unpacked.
fn extract_at_most(
    package: &Path,
    wanted: &Wanted<'_>,
    to: &Path,
    unpacked_bytes: u64,
) -> Result<String, DebErrorKind> {
    let file = input::open(package, PACKAGE_BYTES_MAX).map_err(|e| DebErrorKind::Input(e.kind))?;
    let data = DataMember::find(file)?;
    let (name, program) = (data.name.clone(), data.decompressor()?);
    let mut unpacked = Unpacked::start(program, data.packed()?, unpacked_bytes)?;
    let mut found = None;
    let walked = unpack::walk(&mut unpacked, &mut |entry, contents| {
        if !entry.kind.is_file() || !(wanted.is)(entry.path) {
            return Ok(false);
        }
        found = Some((entry.path.to_string(), entry.size_bytes));
        if entry.size_bytes <= wanted.most_bytes && io::copy(contents, &mut File::create_new(to)?)? != entry.size_bytes
        {
            return Err(UnpackError::Damaged("it ends inside the wanted file".into()));
        }
        Ok(true)
    });
    let walked = unpacked.explain(walked);
    match (walked, found) {
        (Ok(true), Some((path, size_bytes))) => {
            // The rest of the archive is not needed.
            unpacked.abandon();
            match wanted.most_bytes {
                most_bytes if size_bytes > most_bytes => Err(DebErrorKind::TooLarge { path, size_bytes, most_bytes }),
                _ => Ok(path),
            }
        }
        (Ok(_), _) => Err(match unpacked.end()? {
            true => DebErrorKind::NotFound,
            false => UnpackError::Damaged(format!("`{program}` cannot unpack {name}")).into(),
        }),
        (Err(e), _) => {
            unpacked.abandon();
            Err(e.into())
        }
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

    fn packed(mut self) -> io::Result<impl Read + Send> {
        self.file.seek(SeekFrom::Start(self.offset))?;
        Ok(self.file.take(self.size_bytes))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::image::limits::IMAGE_BYTES_MAX;
    use std::process::{Command, Stdio};

    const PATH_BYTES_MAX: u64 = 4096;

    /// Takes the first file that `is` accepts out of a package.
    fn extract(package: &Path, is: &dyn Fn(&str) -> bool, to: &Path) -> Result<String, DebError> {
        let _ = std::fs::remove_file(to);
        super::extract(package, &Wanted { is, most_bytes: IMAGE_BYTES_MAX }, to)
    }

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
        for size in [PATH_BYTES_MAX + 1, (8 << 30) - 1] {
            std::fs::write(d.join("forged.tar"), long_path_header(size)).unwrap();
            run("gzip", &["-kf", "forged.tar"], d);
            std::fs::write(&package, ar(&[("data.tar.gz", std::fs::read(d.join("forged.tar.gz")).unwrap())])).unwrap();
            let e = extract(&package, &|_| true, &d.join("out")).unwrap_err().to_string();
            assert!(e.contains("forged.deb") && e.contains(&format!("a path of {size} bytes")), "{e}");
        }
        // Data that cannot be decompressed is damage, not a missing file.
        std::fs::write(&package, ar(&[("data.tar.gz", b"not gzip".to_vec())])).unwrap();
        let e = extract(&package, &|_| true, &d.join("out")).unwrap_err().to_string();
        assert!(
            e.contains("forged.deb: the package is not unpacked: it is damaged: `gzip` cannot unpack data.tar.gz"),
            "{e}"
        );
    }

    /// A package whose data is a tar archive of one file of zeros, which takes next to nothing.
    fn bomb(path: &str, size_bytes: u64) -> Vec<u8> {
        let mut gzip = Command::new("gzip").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut to = gzip.stdin.take().unwrap();
        let mut header = tar::Header::new_gnu();
        header.set_path(path).unwrap();
        header.set_size(size_bytes);
        header.set_cksum();
        let feeder = std::thread::spawn(move || {
            std::io::Write::write_all(&mut to, header.as_bytes()).unwrap();
            io::copy(&mut io::repeat(0).take(size_bytes), &mut to).unwrap();
        });
        let mut data = Vec::new();
        gzip.stdout.take().unwrap().read_to_end(&mut data).unwrap();
        feeder.join().unwrap();
        assert!(gzip.wait().unwrap().success());
        ar(&[("data.tar.gz", data)])
    }

    #[test]
    fn a_package_that_unpacks_to_too_much_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let (package, to) = (directory.path().join("bomb.deb"), directory.path().join("out"));
        // The wanted file says its size, so that nothing of it is written.
        std::fs::write(&package, bomb("boot/vmlinuz-x", 64 << 20)).unwrap();
        assert!(std::fs::metadata(&package).unwrap().len() < 1 << 20);
        let wanted = Wanted { is: &|_| true, most_bytes: 32 << 20 };
        let e = super::extract(&package, &wanted, &to).unwrap_err().to_string();
        assert!(e.contains("bomb.deb: boot/vmlinuz-x has 67108864 bytes, more than 32 MiB; expected a package"), "{e}");
        assert!(!to.exists());
        // Another file may not hide the end of the archive behind any number of bytes.
        let none = Wanted { is: &|_| false, most_bytes: 1 };
        let e = extract_at_most(&package, &none, &to, 16 << 20).unwrap_err().to_string();
        assert!(e.contains("it unpacks to more than 16 MiB"), "{e}");
        assert!(matches!(extract_at_most(&package, &none, &to, 65 << 20), Err(DebErrorKind::NotFound)));
    }

    #[test]
    fn a_pipe_is_no_package() {
        let directory = tempfile::tempdir().unwrap();
        let pipe = directory.path().join("p.deb");
        run("mkfifo", &["p.deb"], directory.path());
        let e = extract(&pipe, &|_| true, &directory.path().join("out")).unwrap_err().to_string();
        assert!(e.contains("p.deb: not a regular file (a FIFO); expected a regular file"), "{e}");
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
