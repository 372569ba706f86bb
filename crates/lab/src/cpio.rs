//! Writing initial RAM disks: the `newc` form of cpio archives.
//!
//! Only what a guest needs: directories, character devices and regular files owned by root. The archive is not
//! compressed (the guest would pay for unpacking it), and equal input gives equal bytes: inode numbers count
//! up, times are zero.

const MAGIC: &str = "070701";
const DIRECTORY: u32 = 0o040_755;
const FILE: u32 = 0o100_000;
const CHARACTER: u32 = 0o020_600;

/// An archive being written.
#[derive(Debug, Default)]
pub struct Cpio {
    bytes: Vec<u8>,
    entries: u32,
}

impl Cpio {
    /// An empty archive.
    pub fn new() -> Self {
        Self::default()
    }
    /// Adds a directory.
    pub fn directory(&mut self, path: &str) {
        self.entry(path, DIRECTORY, (0, 0), &[]);
    }
    /// Adds a regular file with permission bits `mode`.
    pub fn file(&mut self, path: &str, mode: u32, content: &[u8]) {
        self.entry(path, FILE | (mode & 0o7777), (0, 0), content);
    }
    /// Adds a character device.
    pub fn device(&mut self, path: &str, major: u32, minor: u32) {
        self.entry(path, CHARACTER, (major, minor), &[]);
    }
    /// The finished archive. Archives may be put one behind the other.
    pub fn finish(mut self) -> Vec<u8> {
        self.entry("TRAILER!!!", 0, (0, 0), &[]);
        self.bytes
    }

    fn entry(&mut self, path: &str, mode: u32, device: (u32, u32), content: &[u8]) {
        self.entries += 1;
        let links = if mode == DIRECTORY { 2 } else { 1 };
        // ino mode uid gid nlink mtime filesize devmajor devminor rdevmajor rdevminor namesize check
        let fields = [
            self.entries,
            mode,
            0,
            0,
            links,
            0,
            content.len() as u32,
            0,
            0,
            device.0,
            device.1,
            path.len() as u32 + 1,
            0,
        ];
        self.bytes.extend_from_slice(MAGIC.as_bytes());
        for field in fields {
            self.bytes.extend_from_slice(format!("{field:08x}").as_bytes());
        }
        self.bytes.extend_from_slice(path.as_bytes());
        self.bytes.push(0);
        self.pad();
        self.bytes.extend_from_slice(content);
        self.pad();
    }

    fn pad(&mut self) {
        while self.bytes.len() % 4 != 0 {
            self.bytes.push(0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::process::{Command, Stdio};

    #[test]
    fn layout_of_an_entry() {
        let mut c = Cpio::new();
        c.file("ab", 0o644, b"xyz");
        let bytes = c.finish();
        let header = String::from_utf8_lossy(&bytes[..110]).into_owned();
        assert!(header.starts_with("07070100000001000081a4"), "{header}");
        // File size and name size fields.
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
        let mut c = Cpio::new();
        c.directory("dev");
        c.file("init", 0o755, &[7u8; 1001]);
        c.file("job.json", 0o644, b"{}");
        if !crate::probe::test_has(&["cpio"]) {
            return;
        }
        let mut command = Command::new("cpio");
        let mut child = command.args(["-tv", "--quiet"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(&c.finish()).unwrap();
        let output = child.wait_with_output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success());
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 3);
        assert!(lines[0].starts_with("drwxr-xr-x"));
        assert!(lines[1].starts_with("-rwxr-xr-x") && lines[1].contains(" 1001 ") && lines[1].ends_with("init"));
    }
}
