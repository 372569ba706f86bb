//! Taking one file out of a Debian package without the package tools.
//!
//! A package is an `ar` archive whose `data.tar.*` member is decompressed by the usual program and read as a
//! tar stream, up to the file wanted.

use crate::child::ends_with_parent;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::process::{Command, Stdio};

const AR_MAGIC: &[u8; 8] = b"!<arch>\n";
const AR_HEADER: usize = 60;
const BLOCK: usize = 512;
/// Longest path in an archive, bytes: the kernel's own limit for paths. Headers are not to be trusted.
const MAX_PATH: u64 = 4096;

/// Writes the first regular file whose path (without leading `./`) `wanted` accepts to `to`; returns its path.
///
/// # Errors
/// Not a package, no such file in it, or the decompressor is missing.
pub fn extract(package: &Path, wanted: &dyn Fn(&str) -> bool, to: &Path) -> Result<String, String> {
    let fail = |e: io::Error| format!("{}: {e}", package.display());
    let mut file = File::open(package).map_err(fail)?;
    let (name, length) = data_member(&mut file).map_err(fail)?;
    let program = match name.rsplit('.').next() {
        Some("xz") => "xz",
        Some("zst") => "zstd",
        Some("gz") => "gzip",
        _ => return Err(format!("{}: {name} is compressed in an unknown way", package.display())),
    };
    let mut command = Command::new(program);
    command.arg("-dc").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = ends_with_parent(&mut command, libc::SIGTERM)
        .spawn()
        .map_err(|e| format!("`{program}` is needed to unpack {}: {e}", package.display()))?;
    let input = child.stdin.take();
    let feeder = std::thread::spawn(move || {
        if let Some(mut input) = input {
            // Ends early, with a broken pipe, when the file wanted has been read.
            let _ = io::copy(&mut file.take(length), &mut input);
        }
    });
    let mut tar = io::BufReader::new(child.stdout.take().ok_or("no output of the decompressor")?);
    let found = take_from_tar(&mut tar, wanted, to);
    if matches!(found, Ok(None)) {
        // Read to its end, the program says whether all was well.
        let _ = io::copy(&mut tar, &mut io::sink());
    } else {
        // The rest of the archive is not needed.
        let _ = child.kill();
    }
    let status = child.wait();
    let _ = feeder.join();
    match found.map_err(fail)? {
        Some(name) => Ok(name),
        None if status.is_ok_and(|s| s.success()) => {
            Err(format!("{}: the file wanted is not in it", package.display()))
        }
        None => Err(format!("{} is damaged: `{program}` cannot unpack {name}; fetch it again", package.display())),
    }
}

/// Seeks to the data member; returns its name and length.
fn data_member(file: &mut File) -> io::Result<(String, u64)> {
    let bad = |what: &str| io::Error::new(io::ErrorKind::InvalidData, what.to_string());
    let mut magic = [0; 8];
    file.read_exact(&mut magic)?;
    if &magic != AR_MAGIC {
        return Err(bad("not a Debian package"));
    }
    loop {
        let mut header = [0; AR_HEADER];
        file.read_exact(&mut header).map_err(|_| bad("a package without data"))?;
        let text = String::from_utf8_lossy(&header).into_owned();
        let name = text.get(..16).unwrap_or("").trim().trim_end_matches('/').to_string();
        let length: u64 = text.get(48..58).unwrap_or("").trim().parse().map_err(|_| bad("damaged archive header"))?;
        if name.starts_with("data.tar") {
            return Ok((name, length));
        }
        file.seek(SeekFrom::Current((length + length % 2) as i64))?;
    }
}

/// Reads a tar stream up to the file wanted.
fn take_from_tar(mut tar: impl Read, wanted: &dyn Fn(&str) -> bool, to: &Path) -> io::Result<Option<String>> {
    let bad = |what: String| io::Error::new(io::ErrorKind::InvalidData, what);
    let mut long_name: Option<String> = None;
    loop {
        let mut header = [0u8; BLOCK];
        if tar.read_exact(&mut header).is_err() || header.iter().all(|&b| b == 0) {
            return Ok(None);
        }
        let size = octal(&header[124..136]).ok_or_else(|| bad("damaged tar header".into()))?;
        let padded = size.next_multiple_of(BLOCK as u64);
        let kind = header[156];
        if kind == b'L' {
            if size > MAX_PATH {
                return Err(bad(format!("damaged tar header: a path of {size} bytes, at most {MAX_PATH} expected")));
            }
            let mut name = vec![0; padded as usize];
            tar.read_exact(&mut name)?;
            long_name = Some(text(&name));
            continue;
        }
        let name = long_name.take().unwrap_or_else(|| {
            let (name, prefix) = (text(&header[..100]), text(&header[345..500]));
            if prefix.is_empty() {
                name
            } else {
                format!("{prefix}/{name}")
            }
        });
        let name = name.trim_start_matches("./").to_string();
        if matches!(kind, b'0' | 0) && wanted(&name) {
            let directory = to.parent().unwrap_or(Path::new("."));
            let mut out = tempfile::NamedTempFile::new_in(directory)?;
            let copied = io::copy(&mut tar.take(size), &mut out)?;
            if copied != size {
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the archive ends inside the file wanted"));
            }
            out.flush()?;
            out.persist(to).map_err(|e| e.error)?;
            return Ok(Some(name));
        }
        io::copy(&mut tar.by_ref().take(padded), &mut io::sink())?;
    }
}

fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|&b| b == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

fn octal(bytes: &[u8]) -> Option<u64> {
    let digits = text(bytes);
    u64::from_str_radix(digits.trim(), 8).ok()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    fn run(program: &str, arguments: &[&str], directory: &Path) {
        assert!(Command::new(program).args(arguments).current_dir(directory).status().unwrap().success());
    }

    /// An `ar` archive by hand: the tool is not always there.
    fn ar(members: &[(&str, Vec<u8>)]) -> Vec<u8> {
        let mut bytes = AR_MAGIC.to_vec();
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
        let mut header = vec![0u8; BLOCK];
        header[..12].copy_from_slice(b"././@LongLin");
        header[124..136].copy_from_slice(format!("{size:011o}\0").as_bytes());
        header[156] = b'L';
        header
    }

    #[test]
    fn a_forged_header_does_not_ask_for_gigabytes() {
        let directory = tempfile::tempdir().unwrap();
        let (d, package) = (directory.path(), directory.path().join("forged.deb"));
        for size in [MAX_PATH + 1, (8 << 30) - 1] {
            std::fs::write(d.join("forged.tar"), long_path_header(size)).unwrap();
            run("gzip", &["-kf", "forged.tar"], d);
            std::fs::write(&package, ar(&[("data.tar.gz", std::fs::read(d.join("forged.tar.gz")).unwrap())])).unwrap();
            let e = extract(&package, &|_| true, &d.join("out")).unwrap_err();
            assert!(e.contains("forged.deb") && e.contains(&format!("a path of {size} bytes")), "{e}");
        }
        // What is no archive of the program that its name says is told from one that lacks the file.
        std::fs::write(&package, ar(&[("data.tar.gz", b"not gzip".to_vec())])).unwrap();
        let e = extract(&package, &|_| true, &d.join("out")).unwrap_err();
        assert!(e.contains("forged.deb is damaged"), "{e}");
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
            assert!(extract(&d.join(&package), &|_| false, &to).unwrap_err().contains("not in it"));
        }
        assert!(extract(&d.join("data.tar"), &|_| true, &d.join("o")).unwrap_err().contains("not a Debian package"));
    }
}
