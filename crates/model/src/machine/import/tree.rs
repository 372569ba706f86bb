//! The files of a sysfs tree: a folder, or an archive of one.
//!
//! Problem: people send `/sys` as a folder or as a tarball, copied by tools that leave out files, end lists with NUL
//! bytes, or turn files into pipes.
//! Approach: one interface over both. A file that is missing is simply absent. A file that is there and cannot be
//! understood is kept as a [`Problem`], so that nothing is dropped in silence.
//! Invariant: only regular files are read, up to [`MAX_BYTES`] each. An archive is unpacked in memory, up to
//! [`MAX_UNPACKED`] bytes and [`MAX_FILES`] files.

use super::mask::Mask;
use crate::files::input;
use crate::machine::cpulist;
use crate::spec::{clip, is_hidden, SpecError};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Longest file read, bytes; sysfs files are at most a page or two, `/proc/cpuinfo` of 4,096 CPUs is 6 MiB.
const MAX_BYTES: u64 = 16 << 20;
/// Most bytes of an archive when it is unpacked, and most files in it.
const MAX_UNPACKED: u64 = 256 << 20;
const MAX_FILES: usize = 1 << 20;
/// Where `devices/system` is below a root.
const SYSTEMS: [&str; 2] = ["sys/devices/system", "devices/system"];

/// A file that is there but cannot be understood.
pub(super) struct Problem {
    path: String,
    why: String,
}

/// Where the files are.
enum Store {
    Folder(PathBuf),
    Archive { files: BTreeMap<String, Vec<u8>>, links: BTreeMap<String, String> },
}

/// The files below a root. Paths are relative to it.
pub(super) struct Tree {
    store: Store,
    /// Folder or file, for messages.
    name: String,
    /// Path of `devices/system`.
    system: String,
    problems: RefCell<Vec<Problem>>,
}

impl Tree {
    /// The tree below a folder that holds `sys/devices/system` or `devices/system`.
    ///
    /// # Errors
    /// It holds neither.
    pub(super) fn folder(root: &Path) -> Result<Self, SpecError> {
        let name = root.display().to_string();
        let system = SYSTEMS.into_iter().find(|p| root.join(p).is_dir());
        let Some(system) = system else {
            return Err(SpecError::plain(&name, "no `sys/devices/system` below it", "`/` or a copy of its sysfs"));
        };
        Ok(Self { store: Store::Folder(root.to_path_buf()), name, system: system.into(), problems: RefCell::default() })
    }

    /// The tree in an archive (tar, or tar compressed by gzip or bzip2), which may hold it below other folders.
    ///
    /// # Errors
    /// The archive is damaged or too large, or holds no `devices/system`.
    pub(super) fn archive(name: &str, bytes: &[u8]) -> Result<Self, SpecError> {
        let (files, links) = unpack(name, bytes)?;
        let marker = "devices/system/cpu/";
        let found = files.keys().find_map(|p| p.find(marker).map(|at| p[..at].to_string()));
        let Some(prefix) = found else {
            return Err(SpecError::plain(name, "an archive without `devices/system/cpu`", "a tarball of /sys"));
        };
        let root = prefix.strip_suffix("sys/").unwrap_or(&prefix).to_string();
        let inside = |p: String| p.strip_prefix(&root).map(str::to_string);
        let files = files.into_iter().filter_map(|(p, b)| Some((inside(p)?, b))).collect();
        let links = links.into_iter().filter_map(|(p, to)| Some((inside(p)?, to))).collect();
        let system = if prefix == root { SYSTEMS[1] } else { SYSTEMS[0] };
        let store = Store::Archive { files, links };
        Ok(Self { store, name: name.into(), system: system.into(), problems: RefCell::default() })
    }

    /// Path of a file of `devices/system`.
    pub(super) fn system(&self, path: &str) -> String {
        format!("{}/{path}", self.system)
    }
    /// Path of a file of the folder that holds `devices`.
    pub(super) fn sys(&self, path: &str) -> String {
        self.system.replace("devices/system", path)
    }
    /// The place of a file, for messages.
    pub(super) fn place(&self, path: &str) -> String {
        match &self.store {
            Store::Folder(root) => root.join(path).display().to_string(),
            Store::Archive { .. } => format!("{}: {path}", self.name),
        }
    }
    /// Keeps a file that cannot be understood.
    pub(super) fn problem(&self, path: &str, why: impl Into<String>) {
        self.problems.borrow_mut().push(Problem { path: self.place(path), why: why.into() });
    }
    /// One sentence about the files that cannot be understood, if there are any.
    pub(super) fn note(&self) -> Option<String> {
        let all = self.problems.borrow();
        let first = all.first()?;
        let more = match all.len() - 1 {
            0 => String::new(),
            1 => ", and 1 more file".into(),
            n => format!(", and {n} more files"),
        };
        Some(format!("a file that cannot be understood is left out: {} ({}){more}", clip_path(&first.path), first.why))
    }

    /// The text of a file without the white space and NUL bytes around it; `None` if there is none.
    pub(super) fn text(&self, path: &str) -> Option<String> {
        let bytes = match self.bytes(path) {
            Ok(bytes) => bytes?,
            Err(why) => {
                self.problem(path, why);
                return None;
            }
        };
        let Ok(text) = String::from_utf8(bytes) else {
            self.problem(path, "not text");
            return None;
        };
        let text = text.trim_matches(|c: char| c.is_whitespace() || c == '\0');
        (!text.is_empty()).then(|| text.to_string())
    }

    /// The bytes of a regular file; `None` if there is no such file.
    fn bytes(&self, path: &str) -> Result<Option<Vec<u8>>, String> {
        let root = match &self.store {
            Store::Archive { files, .. } => return Ok(files.get(&self.resolved(path)).cloned()),
            Store::Folder(root) => root,
        };
        let path = root.join(path);
        if std::fs::metadata(&path).is_err() {
            return Ok(None);
        }
        input::bytes(&path, MAX_BYTES).map(Some).map_err(|e| e.kind.to_string())
    }

    /// The path of an archive with the first link on it followed.
    fn resolved(&self, path: &str) -> String {
        let Store::Archive { links, .. } = &self.store else { return path.to_string() };
        let ends = path.match_indices('/').map(|(at, _)| at).chain([path.len()]);
        for end in ends {
            if let Some(to) = links.get(&path[..end]) {
                let folder = path[..end].rsplit_once('/').map_or("", |(folder, _)| folder);
                return joined(folder, &format!("{to}{}", &path[end..]));
            }
        }
        path.to_string()
    }

    /// What a symbolic link says, or the path itself if it is none.
    pub(super) fn link(&self, path: &str) -> String {
        match &self.store {
            Store::Folder(root) => {
                std::fs::read_link(root.join(path)).map_or_else(|_| path.into(), |to| to.display().to_string())
            }
            Store::Archive { links, .. } => links.get(path).cloned().unwrap_or_else(|| path.into()),
        }
    }

    /// A whole number in a file.
    pub(super) fn number(&self, path: &str) -> Option<u64> {
        let text = self.text(path)?;
        let number = text.parse().ok();
        if number.is_none() {
            self.problem(path, format!("`{}` is not a whole number", clip(&text)));
        }
        number
    }

    /// CPUs or nodes in a file as a list, whose parts may also be separated by line breaks.
    pub(super) fn list(&self, path: &str) -> Option<Vec<u32>> {
        self.parsed(path, |text| {
            let parts = text.split(|c: char| c == ',' || c == '\0' || c.is_whitespace()).filter(|p| !p.is_empty());
            cpulist::parse(&parts.collect::<Vec<_>>().join(","))
        })
    }
    /// CPUs in a file as hexadecimal words.
    pub(super) fn mask(&self, path: &str) -> Option<Vec<u32>> {
        self.parsed(path, |text| {
            let cpus = Mask::parse(&text.replace(['\n', '\0', ' '], ""))?.cpus();
            if cpus.len() > cpulist::MAX_COUNT {
                return Err(format!("more than {} ids", cpulist::MAX_COUNT));
            }
            Ok(cpus)
        })
    }
    fn parsed(&self, path: &str, parse: impl Fn(&str) -> Result<Vec<u32>, String>) -> Option<Vec<u32>> {
        match parse(&self.text(path)?) {
            Ok(ids) => Some(ids),
            Err(why) => {
                self.problem(path, why);
                None
            }
        }
    }
    /// CPUs from the first of several files that can be understood. Names that end in `list` are lists, others are
    /// hexadecimal words.
    pub(super) fn cpus(&self, folder: &str, files: &[&str]) -> Option<Vec<u32>> {
        files.iter().find_map(|f| {
            let path = format!("{folder}/{f}");
            if f.ends_with("list") {
                self.list(&path)
            } else {
                self.mask(&path)
            }
        })
    }

    /// Whether a file is there.
    pub(super) fn has(&self, path: &str) -> bool {
        match &self.store {
            Store::Folder(root) => root.join(path).exists(),
            Store::Archive { files, .. } => files.contains_key(&self.resolved(path)),
        }
    }

    /// Names of the entries of a folder, sorted.
    pub(super) fn entries(&self, folder: &str) -> Vec<String> {
        let mut names: Vec<String> = match &self.store {
            Store::Folder(root) => {
                let entries = std::fs::read_dir(root.join(folder)).into_iter().flatten().flatten();
                entries.filter_map(|e| e.file_name().into_string().ok()).collect()
            }
            Store::Archive { files, links } => {
                let inside = format!("{}/", self.resolved(folder));
                let below = |p: &'_ String| {
                    let rest = p.strip_prefix(&inside)?;
                    Some(rest.split('/').next().unwrap_or(rest).to_string())
                };
                let range = |from: &str| from.to_string()..;
                let near = files.range(range(&inside)).map(|(p, _)| p).take_while(|p| p.starts_with(&inside));
                let mut names: Vec<String> = near.filter_map(below).collect();
                let linked = links.range(range(&inside)).map(|(p, _)| p).take_while(|p| p.starts_with(&inside));
                names.extend(linked.filter_map(below));
                names
            }
        };
        names.sort_unstable();
        names.dedup();
        names
    }
    /// Numbers N of the entries `prefixN` of a folder, ascending.
    pub(super) fn numbered(&self, folder: &str, prefix: &str) -> Vec<u32> {
        let names = self.entries(folder);
        let mut ids: Vec<u32> = names.iter().filter_map(|n| n.strip_prefix(prefix)?.parse().ok()).collect();
        ids.sort_unstable();
        ids.dedup();
        ids
    }
}

/// A path for a note: its end, where the file's name is.
fn clip_path(path: &str) -> String {
    let clean: String = path.chars().map(|c| if is_hidden(c) { ' ' } else { c }).collect();
    let skip = clean.chars().count().saturating_sub(80);
    match skip {
        0 => clean,
        _ => format!("...{}", clean.chars().skip(skip).collect::<String>()),
    }
}

/// A path relative to a folder, without `.` and `..`.
fn joined(folder: &str, path: &str) -> String {
    let mut out: Vec<&str> = folder.split('/').filter(|p| !p.is_empty()).collect();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                out.pop();
            }
            part => out.push(part),
        }
    }
    out.join("/")
}

type Unpacked = (BTreeMap<String, Vec<u8>>, BTreeMap<String, String>);

/// Whether bytes are those of an archive: tar, or a compressed file.
pub(super) fn is_archive(bytes: &[u8]) -> bool {
    let packed: [&[u8]; 5] = [&[0x1f, 0x8b], b"BZh", &[0xfd, b'7', b'z'], &[0x28, 0xb5, 0x2f, 0xfd], b"PK\x03\x04"];
    packed.iter().any(|magic| bytes.starts_with(magic)) || bytes.get(257..262) == Some(b"ustar")
}

/// Files and symbolic links of an archive by their paths.
fn unpack(name: &str, bytes: &[u8]) -> Result<Unpacked, SpecError> {
    let bad = |what: String| SpecError::plain(name, what, "a tarball of /sys, plain or compressed by gzip or bzip2");
    let mut plain = Vec::new();
    let plain: &[u8] = match bytes {
        [0x1f, 0x8b, ..] => {
            let read = flate2::read::MultiGzDecoder::new(bytes).take(MAX_UNPACKED + 1).read_to_end(&mut plain);
            read.map_err(|e| bad(format!("damaged: {e}")))?;
            &plain
        }
        [b'B', b'Z', b'h', ..] => {
            let read = bzip2::read::MultiBzDecoder::new(bytes).take(MAX_UNPACKED + 1).read_to_end(&mut plain);
            read.map_err(|e| bad(format!("damaged: {e}")))?;
            &plain
        }
        [0xfd, b'7', b'z', ..] | [0x28, 0xb5, 0x2f, 0xfd, ..] | [b'P', b'K', ..] => {
            return Err(bad("a compressed file of another kind: unpack it first".into()));
        }
        _ => bytes,
    };
    if plain.len() as u64 > MAX_UNPACKED {
        return Err(bad("more than 256 MiB unpacked".into()));
    }
    let (mut files, mut links) = Unpacked::default();
    let mut archive = tar::Archive::new(plain);
    for entry in archive.entries().map_err(|e| bad(e.to_string()))? {
        let mut entry = entry.map_err(|e| bad(format!("damaged: {e}")))?;
        let path = joined("", &String::from_utf8_lossy(&entry.path_bytes()));
        let kind = entry.header().entry_type();
        if kind.is_symlink() {
            let to = entry.link_name_bytes().map(|l| String::from_utf8_lossy(&l).into_owned());
            links.extend(to.map(|to| (path, to)));
        } else if kind.is_file() {
            let mut text = Vec::new();
            entry.by_ref().take(MAX_BYTES).read_to_end(&mut text).map_err(|e| bad(format!("damaged: {e}")))?;
            files.insert(path, text);
        }
        if files.len() + links.len() > MAX_FILES {
            return Err(bad(format!("more than {MAX_FILES} files")));
        }
    }
    Ok((files, links))
}
