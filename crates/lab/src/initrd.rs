//! The initial RAM disk of a guest: a `newc` cpio archive with the worker as `/init` and its job.
//!
//! It holds only what a guest needs: directories, character devices and regular files owned by root, and the files of
//! the program that runs there, if it is one of the user. The archive is not compressed, because the guest would pay
//! for unpacking it. Equal input gives equal bytes: inode numbers count up, and times are zero but for files of a whole
//! folder ([`crate::program::tree::File`]).

use crate::program::tree::{Node, Tree};
use cpio::newc::{trailer, Builder, ModeFileType};
use numalab_worker::frame::JOB_PATH;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Folders of every guest, with their permissions.
const OWN: [(&str, u32); 4] = [("dev", 0o755), ("proc", 0o755), ("sys", 0o755), ("tmp", 0o1777)];

/// The initial RAM disk for a worker program and its job, with the files of a program of the user, if there is one.
///
/// # Errors
/// A file of 4 GiB or more, which the format has no field for.
pub fn initrd(worker: &[u8], job: &[u8], files: Option<&Tree>) -> io::Result<Vec<u8>> {
    let mut archive = Archive::default();
    for (directory, mode) in OWN {
        archive.directory(directory, mode)?;
    }
    for (path, node) in files.into_iter().flat_map(Tree::nodes) {
        let path = path.to_string_lossy();
        let path = path.trim_start_matches('/');
        match node {
            Node::Directory if OWN.iter().any(|own| own.0 == path) => {}
            Node::Directory => archive.directory(path, 0o755)?,
            Node::Link(to) => archive.link(path, to)?,
            Node::File(f) => archive.file(path, (f.mode, f.modified_s), &f.content)?,
        }
    }
    archive.device("dev/console", 5, 1)?;
    archive.device("dev/null", 1, 3)?;
    archive.file("init", (0o755, 0), worker)?;
    archive.file(JOB_PATH.trim_start_matches('/'), (0o644, 0), job)?;
    archive.finish()
}

/// An archive that is being written.
#[derive(Default)]
struct Archive {
    bytes: Vec<u8>,
    entries: u32,
}

impl Archive {
    fn directory(&mut self, path: &str, mode: u32) -> io::Result<()> {
        self.entry(Builder::new(path).mode(mode).nlink(2).set_mode_file_type(ModeFileType::Directory), &[])
    }

    /// Adds a file with its permissions and the time at which it was written, seconds since 1970.
    fn file(&mut self, path: &str, (mode, modified_s): (u32, u32), content: &[u8]) -> io::Result<()> {
        let builder = Builder::new(path).mode(mode).mtime(modified_s);
        self.entry(builder.set_mode_file_type(ModeFileType::Regular), content)
    }

    fn link(&mut self, path: &str, to: &Path) -> io::Result<()> {
        let builder = Builder::new(path).mode(0o777).set_mode_file_type(ModeFileType::Symlink);
        self.entry(builder, to.as_os_str().as_bytes())
    }

    /// Adds a character device.
    fn device(&mut self, path: &str, major: u32, minor: u32) -> io::Result<()> {
        let builder = Builder::new(path).mode(0o600).set_mode_file_type(ModeFileType::Char);
        self.entry(builder.rdev_major(major).rdev_minor(minor), &[])
    }

    fn entry(&mut self, builder: Builder, content: &[u8]) -> io::Result<()> {
        self.entries += 1;
        let size_bytes = u32::try_from(content.len()).map_err(io::Error::other)?;
        let mut writer = builder.ino(self.entries).write(&mut self.bytes, size_bytes);
        writer.write_all(content)?;
        writer.finish().map(drop)
    }

    fn finish(self) -> io::Result<Vec<u8>> {
        trailer(self.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn layout_of_an_entry() {
        let mut archive = Archive::default();
        archive.file("ab", (0o644, 0x1234), b"xyz").unwrap();
        let bytes = archive.finish().unwrap();
        let header = String::from_utf8_lossy(&bytes[..110]).into_owned();
        assert!(header.starts_with("07070100000001000081a4"), "{header}");
        // Time, file size and name size fields.
        assert_eq!(&header[6 + 5 * 8..6 + 6 * 8], "00001234");
        assert_eq!(&header[6 + 6 * 8..6 + 7 * 8], "00000003");
        assert_eq!(&header[6 + 11 * 8..6 + 12 * 8], "00000003");
        // 110 + "ab\0" = 113, padded to 116; three bytes of content padded to 120.
        assert_eq!(&bytes[110..113], b"ab\0");
        assert_eq!(&bytes[116..119], b"xyz");
        assert_eq!(&bytes[120..126], b"070701");
        assert_eq!(bytes.len() % 4, 0);
    }

    #[test]
    fn the_cpio_program_reads_what_was_written() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("data"), [1; 17]).unwrap();
        std::os::unix::fs::symlink("data", dir.path().join("link")).unwrap();
        let mut files = Tree::default();
        files.add(&dir.path().join("link")).unwrap();
        let bytes = initrd(&[7u8; 1001], b"{}", Some(&files)).unwrap();
        if !crate::probe::test_has(&["cpio"]) {
            return;
        }
        let mut command = Command::new("cpio");
        let mut child = command.args(["-tv", "--quiet"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(&bytes).unwrap();
        let output = child.wait_with_output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success());
        let lines: Vec<&str> = text.lines().collect();
        let own: Vec<&str> = lines.iter().copied().filter(|l| !l.contains(" tmp/")).collect();
        let of_program: Vec<&str> = lines.iter().copied().filter(|l| l.contains(" tmp/")).collect();
        if dir.path().starts_with("/tmp") {
            assert!(of_program.iter().any(|l| l.starts_with("l") && l.ends_with("link -> data")), "{text}");
            assert!(of_program.iter().any(|l| l.starts_with("-") && l.contains(" 17 ")), "{text}");
        }
        let lines = own;
        assert!(lines.len() >= 8, "{text}");
        assert!(lines[3].starts_with("drwxrwxrwt") && lines[3].ends_with(" tmp"), "{text}");
        assert!(lines[0].starts_with("drwxr-xr-x") && lines[0].ends_with(" dev"), "{text}");
        assert!(lines[4].starts_with("crw-------") && lines[4].contains(" 5,") && lines[4].ends_with("dev/console"));
        assert!(lines[6].starts_with("-rwxr-xr-x") && lines[6].contains(" 1001 ") && lines[6].ends_with(" init"));
    }
}
