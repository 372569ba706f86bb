//! Files of this machine with their folders and links, as they go into a guest's RAM disk.

use super::error::ProgramError;
use super::ldd;
use numalab_model::plan::hex;
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

/// Most bytes of all files.
pub const MOST_BYTES: u64 = 2 << 30;
/// Links that may lead from one to the next, and scripts whose interpreters are scripts.
const MOST_LINKS: usize = 40;
/// Machine in the head of a program (ELF).
const X86_64: u16 = 62;

/// What stands at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Node {
    /// A folder.
    Directory,
    /// A link and where it leads.
    Link(PathBuf),
    /// A file.
    File(File),
}

/// A file and what is kept of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Permissions.
    pub mode: u32,
    /// When it was last written, seconds since 1970. 0 for a file that is named itself: building a program anew makes
    /// no other program of it. In a folder times tell which files were made of which, as Python's modules.
    pub modified_s: u32,
    /// Content.
    pub content: Arc<[u8]>,
}

/// Files by their absolute paths; the folders of each stand before it.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    nodes: BTreeMap<PathBuf, Node>,
    /// Folders of which all files are there, so that links between them lead to no circle.
    whole: BTreeSet<PathBuf>,
    bytes: u64,
}

impl Tree {
    /// Everything, by path.
    pub fn nodes(&self) -> impl Iterator<Item = (&Path, &Node)> {
        self.nodes.iter().map(|(path, node)| (path.as_path(), node))
    }

    /// Bytes of all files.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Path, size in bytes and SHA-256 of every file.
    pub fn files(&self) -> Vec<(String, usize, String)> {
        let file = |(path, node): (&PathBuf, &Node)| match node {
            Node::File(f) => Some((path.display().to_string(), f.content.len(), hex(&Sha256::digest(&f.content)))),
            _ => None,
        };
        self.nodes.iter().filter_map(file).collect()
    }

    /// SHA-256 of all paths, permissions, times that are kept, links and contents, hexadecimal.
    pub fn digest(&self) -> String {
        let mut all = Sha256::new();
        for (path, node) in &self.nodes {
            let what = match node {
                Node::Directory => "folder".to_string(),
                Node::Link(to) => format!("link {}", to.display()),
                Node::File(f) => {
                    let time = if f.modified_s > 0 { format!(" at {}", f.modified_s) } else { String::new() };
                    format!("file {:o} {}{time}", f.mode, hex(&Sha256::digest(&f.content)))
                }
            };
            all.update(format!("{}\0{what}\0", path.display()));
        }
        hex(&all.finalize())
    }

    /// Adds an empty folder, and those above it.
    pub fn directory(&mut self, path: &Path) {
        for folder in path.ancestors().filter(|p| p.parent().is_some()) {
            self.nodes.entry(folder.to_path_buf()).or_insert(Node::Directory);
        }
    }

    /// Adds a program, which must be one of x86-64 or a script, with what it needs.
    ///
    /// # Errors
    /// It is of another architecture, or as for [`Tree::add`].
    pub fn add_program(&mut self, path: &Path) -> Result<(), ProgramError> {
        let begin = begin_of(path)?;
        let machine = begin.get(18..20).map(|b| u16::from_le_bytes([b[0], b[1]]));
        if begin.starts_with(b"\x7fELF") && machine != Some(X86_64) {
            return Err(ProgramError::Foreign(path.display().to_string()));
        }
        self.add(path)
    }

    /// Adds a file with what it needs to be executed, or a folder with all that is in it.
    ///
    /// # Errors
    /// A file cannot be read, a library is missing, or all is too large.
    pub fn add(&mut self, path: &Path) -> Result<(), ProgramError> {
        // Whether somebody asked for it by name; a folder may have scripts and modules that are never used.
        let mut rest = vec![(path.to_path_buf(), true)];
        while let Some((path, named)) = rest.pop() {
            let Some(real) = self.place(&path)? else { continue };
            let unreadable = |e: std::io::Error| ProgramError::Unreadable(format!("{}: {e}", real.display()));
            if real.is_dir() {
                if !self.whole.insert(real.clone()) {
                    continue;
                }
                for entry in std::fs::read_dir(&real).map_err(unreadable)? {
                    rest.push((entry.map_err(unreadable)?.path(), false));
                }
            } else if real.is_file() {
                match needs(&real, &self.read(&real, named)?) {
                    Ok(needs) => rest.extend(needs.into_iter().map(|path| (path, named))),
                    Err(e) if named => return Err(e),
                    Err(_) => {}
                }
            }
        }
        Ok(())
    }

    /// Adds the folders and links on the way to a path; returns where it leads, or `None` if that is there already.
    fn place(&mut self, path: &Path) -> Result<Option<PathBuf>, ProgramError> {
        let unreadable = |p: &Path, e: std::io::Error| ProgramError::Unreadable(format!("{}: {e}", p.display()));
        let mut todo: Vec<PathBuf> = parts(path);
        let mut at = PathBuf::from("/");
        let mut links = 0;
        while let Some(part) = todo.pop() {
            if part.as_os_str() == ".." {
                at.pop();
                continue;
            }
            let next = at.join(&part);
            let meta = next.symlink_metadata().map_err(|e| unreadable(&next, e))?;
            if meta.is_symlink() {
                links += 1;
                if links > MOST_LINKS {
                    return Err(unreadable(path, std::io::Error::other("too many links")));
                }
                let to = std::fs::read_link(&next).map_err(|e| unreadable(&next, e))?;
                if to.is_absolute() {
                    at = PathBuf::from("/");
                }
                // A link of a folder that leads nowhere is kept as it is.
                let dangling = next.metadata().is_err();
                todo.extend(parts(&to));
                self.nodes.insert(next, Node::Link(to));
                if dangling {
                    return Ok(None);
                }
                continue;
            }
            at = next;
            if meta.is_dir() {
                self.directory(&at);
            }
        }
        let known = matches!(self.nodes.get(&at), Some(Node::File(..)));
        Ok((!known).then_some(at))
    }

    /// Reads a file, and returns its content. One that is not `named` itself keeps its time.
    fn read(&mut self, path: &Path, named: bool) -> Result<Arc<[u8]>, ProgramError> {
        let unreadable = |e: std::io::Error| ProgramError::Unreadable(format!("{}: {e}", path.display()));
        let meta = path.metadata().map_err(unreadable)?;
        self.bytes += meta.len();
        if self.bytes > MOST_BYTES {
            return Err(ProgramError::TooLarge(MOST_BYTES));
        }
        let content: Arc<[u8]> = std::fs::read(path).map_err(unreadable)?.into();
        let mode = meta.permissions().mode() & 0o7777;
        // The format has no time after 2106, nor one before 1970.
        let modified_s = if named { 0 } else { u32::try_from(meta.mtime()).unwrap_or(0) };
        self.nodes.insert(path.to_path_buf(), Node::File(File { mode, modified_s, content: content.clone() }));
        Ok(content)
    }
}

/// What a file needs to be executed: the libraries of a program, or the interpreter of a script.
///
/// # Errors
/// One of them is missing.
fn needs(path: &Path, content: &[u8]) -> Result<Vec<PathBuf>, ProgramError> {
    if content.starts_with(b"\x7fELF") {
        return ldd::libraries(path);
    }
    let Some(script) = content.strip_prefix(b"#!") else { return Ok(Vec::new()) };
    let line = script.split(|&b| b == b'\n').next().unwrap_or_default();
    interpreters(path, String::from_utf8_lossy(line).trim())
}

/// The interpreter that the first line of a script names, and the program that `env` is to find.
fn interpreters(script: &Path, line: &str) -> Result<Vec<PathBuf>, ProgramError> {
    let mut words = line.split_whitespace();
    let find = |name: &str| {
        let (script, interpreter) = (script.display().to_string(), name.to_string());
        super::find::program(name).map_err(|_| ProgramError::Interpreter { script, interpreter })
    };
    let Some(first) = words.next() else { return Ok(Vec::new()) };
    let mut out = vec![find(first)?];
    if first.ends_with("/env") {
        let name = words.find(|w| !w.starts_with('-') && !w.contains('='));
        out.extend(name.map(find).transpose()?);
    }
    Ok(out)
}

/// The parts of a path, the last one first. A leading `/` is left out.
fn parts(path: &Path) -> Vec<PathBuf> {
    let plain = path.components().filter_map(|c| match c {
        Component::Normal(name) => Some(PathBuf::from(name)),
        Component::ParentDir => Some(PathBuf::from("..")),
        _ => None,
    });
    let mut out: Vec<PathBuf> = plain.collect();
    out.reverse();
    out
}

/// The first bytes of a file.
fn begin_of(path: &Path) -> Result<Vec<u8>, ProgramError> {
    use std::io::Read;
    let mut out = Vec::new();
    let read = std::fs::File::open(path).and_then(|f| f.take(64).read_to_end(&mut out));
    read.map(|_| out).map_err(|e| ProgramError::Unreadable(format!("{}: {e}", path.display())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn links_are_links_and_lead_to_the_same_file() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        std::fs::create_dir_all(at("real/deep")).unwrap();
        std::fs::write(at("real/deep/file"), "x").unwrap();
        symlink("real/deep", at("folder")).unwrap();
        symlink("../real/deep/file", at("real/by-link")).unwrap();
        symlink("..", at("real/deep/up")).unwrap();
        symlink("nowhere", at("real/dangling")).unwrap();
        let mut tree = Tree::default();
        tree.add(&at("folder/file")).unwrap();
        tree.add(&at("real")).unwrap();
        let node = |name: &str| tree.nodes.get(&at(name)).cloned();
        assert_eq!(node("folder"), Some(Node::Link("real/deep".into())));
        assert_eq!(node("real/dangling"), Some(Node::Link("nowhere".into())));
        assert!(matches!(node("real/deep/file"), Some(Node::File(f)) if f.content[..] == *b"x"));
        assert_eq!((tree.files().len(), tree.bytes()), (1, 1), "the file is there once");
        let paths: Vec<&Path> = tree.nodes().map(|n| n.0).collect();
        let of = |p: &Path| paths.iter().position(|q| *q == p).unwrap();
        assert!(of(&at("real")) < of(&at("real/deep/file")), "folders stand before their files");
        let before = tree.digest();
        std::fs::write(at("more"), "").unwrap();
        tree.add(&at("more")).unwrap();
        assert_ne!(before, tree.digest());
    }

    #[test]
    fn files_of_a_folder_keep_their_times() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("modules")).unwrap();
        for name in ["modules/module", "named"] {
            let file = std::fs::File::create(dir.path().join(name)).unwrap();
            file.set_modified(std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_007)).unwrap();
        }
        let mut tree = Tree::default();
        tree.add(&dir.path().join("modules")).unwrap();
        tree.add(&dir.path().join("named")).unwrap();
        let time = |name: &str| match tree.nodes.get(&dir.path().join(name)) {
            Some(Node::File(f)) => f.modified_s,
            other => panic!("{name}: {other:?}"),
        };
        assert_eq!((time("modules/module"), time("named")), (1_000_000_007, 0));
        let before = tree.digest();
        let path = dir.path().join("modules/module");
        tree.nodes.insert(path, Node::File(File { mode: 0o644, modified_s: 5, content: Arc::from(&b""[..]) }));
        assert_ne!(before, tree.digest(), "a guest with another time is another one");
    }

    #[test]
    fn what_a_script_lacks_counts_only_where_it_was_asked_for() {
        let dir = tempfile::tempdir().unwrap();
        let script = dir.path().join("script");
        std::fs::write(&script, "#!/no/such/interpreter -x\n").unwrap();
        let error = Tree::default().add(&script).unwrap_err().to_string();
        assert!(error.contains("script: its interpreter /no/such/interpreter is not there"), "{error}");
        assert_eq!(Tree::default().add(dir.path()), Ok(()));
    }

    #[test]
    fn a_program_of_another_architecture_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let mut head = [0u8; 64];
        head[..4].copy_from_slice(b"\x7fELF");
        head[18] = 183;
        let path = dir.path().join("arm");
        std::fs::write(&path, head).unwrap();
        assert!(matches!(Tree::default().add_program(&path), Err(ProgramError::Foreign(_))));
    }
}
