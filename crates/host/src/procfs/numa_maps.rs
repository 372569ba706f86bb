//! `numa_maps` of a process: pages of each mapping on each node.
//!
//! The kernel walks the page tables of a mapping while the reader waits, and holds the process's `mmap_lock` for
//! reading as long as it fills one buffer of 4 KiB. So the file is read in slices of that size: between two slices the
//! lock is free, and a reader that has used up its time goes on at the next look. The walk of one mapping cannot be
//! divided.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::time::{Duration, Instant};

/// A mapping.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mapping {
    /// First address.
    pub start: u64,
    /// Memory policy, such as `default`, `bind:0-1`, `interleave:0-3` or `prefer:1`.
    pub policy: String,
    /// Path of its file; empty for anonymous memory.
    pub file: String,
    /// It consists of reserved huge pages (hugetlbfs).
    pub hugetlb: bool,
    /// Anonymous pages, 4 KiB each.
    pub anon: u64,
    /// Largest number of processes that map one of its pages, at least 1.
    pub mapmax: u64,
    /// Node ids with their pages of 4 KiB.
    pub nodes: Vec<(u32, u64)>,
}

impl Mapping {
    /// Pages of 4 KiB on all nodes.
    pub fn pages(&self) -> u64 {
        self.nodes.iter().map(|n| n.1).fold(0, u64::saturating_add)
    }
    /// Whether the mapping follows the policy of its process, which is none unless someone sets one.
    pub fn has_own_policy(&self) -> bool {
        self.policy != "default"
    }

    /// The mapping of a line; `None` for a line of another form.
    pub fn parse(line: &str) -> Option<Self> {
        let mut words = line.split_ascii_whitespace();
        let start = u64::from_str_radix(words.next()?, 16).ok()?;
        let mut out = Self { start, policy: words.next()?.to_string(), mapmax: 1, ..Self::default() };
        let mut page_kib = 4;
        for word in words {
            let Some((key, value)) = word.split_once('=') else {
                out.hugetlb |= word == "huge";
                continue;
            };
            let number = || value.parse::<u64>().ok();
            match key {
                "file" => out.file = value.to_string(),
                "anon" => out.anon = number().unwrap_or(0),
                "mapmax" => out.mapmax = number().unwrap_or(1).max(1),
                "kernelpagesize_kB" => page_kib = number().unwrap_or(4).clamp(4, 1 << 24),
                _ => {
                    let node = key.strip_prefix('N').and_then(|n| n.parse().ok());
                    if let (Some(node), Some(pages)) = (node, number()) {
                        out.nodes.push((node, pages));
                    }
                }
            }
        }
        let base = page_kib / 4;
        out.anon = out.anon.saturating_mul(base);
        out.nodes.iter_mut().for_each(|n| n.1 = n.1.saturating_mul(base));
        Some(out)
    }
}

/// Mappings of the file's text. Lines of another form are skipped.
pub fn parse(text: &str) -> Vec<Mapping> {
    text.lines().filter_map(Mapping::parse).collect()
}

/// Bytes that are asked for at a time: what the kernel fills while it holds the lock.
const SLICE_BYTES: usize = 4096;
/// Longest line that is kept, bytes; a longer one is skipped.
const LINE_BYTES_MAX: usize = 1 << 16;

/// A `numa_maps` that is being read.
#[derive(Debug)]
pub struct Reading {
    file: File,
    line: Vec<u8>,
    mappings: Vec<Mapping>,
    ended: bool,
}

impl Reading {
    /// Opens the file of a process.
    ///
    /// # Errors
    /// The process has ended, belongs to somebody else, or the kernel has no NUMA.
    pub fn open(path: &Path) -> io::Result<Self> {
        Ok(Self { file: File::open(path)?, line: Vec::new(), mappings: Vec::new(), ended: false })
    }

    /// Reads slices until the end of the file, or until `limit` has passed. Returns the mappings at the end.
    ///
    /// # Errors
    /// The process has ended, or may no longer be looked at.
    pub fn advance(&mut self, limit: Duration) -> io::Result<Option<Vec<Mapping>>> {
        let start = Instant::now();
        let mut slice = [0; SLICE_BYTES];
        while !self.ended {
            match self.file.read(&mut slice) {
                Ok(0) => {
                    self.take_line();
                    self.ended = true;
                }
                Ok(n) => self.feed(&slice[..n]),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
            if !self.ended && start.elapsed() >= limit {
                return Ok(None);
            }
        }
        Ok(Some(std::mem::take(&mut self.mappings)))
    }

    fn feed(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            match byte {
                b'\n' => self.take_line(),
                _ if self.line.len() < LINE_BYTES_MAX => self.line.push(byte),
                _ => {}
            }
        }
    }

    fn take_line(&mut self) {
        if self.line.len() < LINE_BYTES_MAX {
            self.mappings.extend(Mapping::parse(&String::from_utf8_lossy(&self.line)));
        }
        self.line.clear();
    }
}

/// Pages of 4 KiB on each of `ids`, over all mappings.
pub fn pages_on(mappings: &[Mapping], ids: &[u32]) -> Vec<u64> {
    let mut out = vec![0u64; ids.len()];
    for (id, pages) in mappings.iter().flat_map(|m| &m.nodes) {
        if let Some(i) = ids.iter().position(|known| known == id) {
            out[i] = out[i].saturating_add(*pages);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::fmt::Write as _;

    const TEXT: &str = "55d0 default file=/usr/bin/x mapped=3 mapmax=4 N0=3 kernelpagesize_kB=4\n\
        7f00 bind:0-1 anon=700 dirty=700 active=0 N0=512 N4=188 kernelpagesize_kB=4\n\
        8000 default file=/dev/hugepages/a huge dirty=2 N0=2 kernelpagesize_kB=2048\n\
        7ffc default stack anon=3 dirty=3 N0=3 kernelpagesize_kB=4\n";

    #[test]
    fn mappings_with_policy_sharing_and_huge_pages() {
        let m = parse(TEXT);
        assert_eq!((m[0].mapmax, m[0].file.as_str(), m[0].has_own_policy()), (4, "/usr/bin/x", false));
        assert_eq!(
            (m[1].policy.as_str(), m[1].anon, m[1].nodes.as_slice()),
            ("bind:0-1", 700, &[(0, 512), (4, 188)][..])
        );
        assert!(m[2].hugetlb && m[2].pages() == 1024);
        assert_eq!(pages_on(&m, &[0, 4]), [3 + 512 + 1024 + 3, 188]);
    }

    #[test]
    fn slices_give_what_the_whole_gives_however_they_are_cut() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("numa_maps");
        let mut text = String::new();
        for i in 0..4000 {
            let _ = writeln!(text, "{:x} default anon={i} N{}={i} kernelpagesize_kB=4", 0x1000 * i, i % 3);
        }
        std::fs::write(&path, &text).unwrap();
        let mut reading = Reading::open(&path).unwrap();
        let mut looks = 0;
        let all = loop {
            looks += 1;
            if let Some(all) = reading.advance(Duration::ZERO).unwrap() {
                break all;
            }
        };
        assert_eq!(all, parse(&text));
        assert!(looks > text.len() / SLICE_BYTES, "{looks} looks");
    }

    #[test]
    fn hostile_text_is_skipped() {
        let huge =
            format!("7f00 default N0=18446744073709551615 N0=18446744073709551615 kernelpagesize_kB={}\n", u64::MAX);
        assert_eq!(parse(&huge)[0].pages(), u64::MAX);
        for bad in ["", "zz default", "7f00", "\0\0\0", "=== = =", "7f00 default N=1 Nx=1 N1= N0=-1"] {
            let m = parse(bad);
            assert!(m.len() <= 1 && m.iter().all(|m| m.nodes.is_empty()), "{bad}");
        }
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("m");
        let mut bytes = vec![b'x'; 3 * LINE_BYTES_MAX];
        bytes.extend(b"\n7f00 default N1=4\n\xff\xfe");
        std::fs::write(&path, bytes).unwrap();
        let m = Reading::open(&path).unwrap().advance(Duration::from_secs(60)).unwrap().unwrap();
        assert_eq!((m.len(), m[0].nodes.as_slice()), (1, &[(1, 4)][..]));
        assert!(Reading::open(&dir.path().join("none")).is_err());
    }
}
