//! The catalog: machines, kernels, workloads, experiments and published tables by name.
//!
//! Problem: everything numalab knows about the world must work from a bare binary, and every piece of
//! it must be replaceable without building anything.
//! Approach: the TOML files are embedded at build time; [`Catalog::overlay`] lays a folder of the same
//! shape over them, file by file. Report columns belong to the crate `report`; of them only the overlay is here. A name that looks like a path is read from disk instead.
//! Invariants: names of a kind are unique and listed in natural order (3.8 before 3.13); the `name`
//! inside a file is checked against the file's by whoever parses it, with [`File::check_name`].

use crate::kernel::{self, KernelSpec};
use crate::spec::{nearest, position, SpecError, Spot};
use std::borrow::Cow;
use std::cmp::Ordering;
use std::io::ErrorKind;
use std::path::Path;

/// (folder, name, text) of every embedded file.
const EMBEDDED: &[(&str, &str, &str)] = include!(concat!(env!("OUT_DIR"), "/catalog_files.rs"));

/// Folder of the cost classes, inside that of the machines.
const CLASSES: &str = "classes";

/// File of the report columns, beside the folders.
const COLUMNS: &str = "columns.toml";

/// Largest catalog file read from disk, bytes: specs are written by hand, names in them are looked up one by one, and a
/// wrong path may be anything.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// The same of a machine, which may be an import with a matrix of a thousand nodes.
const MACHINE_BYTES_MAX: u64 = 16 << 20;

/// What a catalog file describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Machines.
    Machine,
    /// Kernels.
    Kernel,
    /// Workloads.
    Workload,
    /// Experiments.
    Experiment,
    /// Published tables.
    Published,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Kind; 5] = [Kind::Machine, Kind::Kernel, Kind::Workload, Kind::Experiment, Kind::Published];

    /// Folder of the catalog.
    pub fn folder(self) -> &'static str {
        match self {
            Kind::Machine => "machines",
            Kind::Kernel => "kernels",
            Kind::Workload => "workloads",
            Kind::Experiment => "experiments",
            Kind::Published => "published",
        }
    }
    /// Singular noun for messages.
    pub fn noun(self) -> &'static str {
        match self {
            Kind::Machine => "machine",
            Kind::Kernel => "kernel",
            Kind::Workload => "workload",
            Kind::Experiment => "experiment",
            Kind::Published => "published table",
        }
    }
}

/// A catalog file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// What it describes.
    pub kind: Kind,
    /// Name: the file name without `.toml`.
    pub name: String,
    /// Where it is, for messages.
    pub label: String,
    /// Its text.
    pub text: Cow<'static, str>,
}

impl File {
    /// Refuses a file whose `name` key differs from its own name.
    ///
    /// # Errors
    /// They differ.
    pub fn check_name(&self, name: &Spot<String>) -> Result<(), SpecError> {
        if name.value == self.name {
            return Ok(());
        }
        Err(name.error(format!("`name` is {:?}", name.value), format!("{:?}, as the file is called", self.name)))
    }
}

/// All files by kind and name.
#[derive(Clone, Debug)]
pub struct Catalog {
    files: Vec<File>,
    /// Cost classes of overlays; those the program was built with are `machine`'s.
    classes: Vec<File>,
    /// Place and text of an overlay's report columns.
    columns: Option<(String, String)>,
    /// Paths to kernels mean the files of this catalog that are called so.
    sealed: bool,
}

impl Catalog {
    /// The catalog the program was built with.
    pub fn embedded() -> Self {
        let mut files = Vec::new();
        for kind in Kind::ALL {
            for (_, name, text) in EMBEDDED.iter().filter(|f| f.0 == kind.folder()) {
                let label = format!("catalog/{}/{name}.toml", kind.folder());
                files.push(File { kind, name: (*name).into(), label, text: Cow::Borrowed(text) });
            }
        }
        let mut catalog = Self { files, classes: Vec::new(), columns: None, sealed: false };
        catalog.sort();
        catalog
    }

    /// Lays the files of `dir` (with folders `machines`, `kernels`, …, `machines/classes` for cost classes, and the file
    /// `columns.toml`) over this catalog: equal names are replaced, new ones added.
    ///
    /// # Errors
    /// `dir` is no folder, or a file in it cannot be read as text.
    pub fn overlay(&mut self, dir: &Path) -> Result<(), SpecError> {
        let mut found = false;
        for kind in Kind::ALL {
            let folder = dir.join(kind.folder());
            if !folder.is_dir() {
                continue;
            }
            found = true;
            lay_over(&mut self.files, kind, &folder)?;
        }
        let classes = dir.join(Kind::Machine.folder()).join(CLASSES);
        if classes.is_dir() {
            lay_over(&mut self.classes, Kind::Machine, &classes)?;
        }
        let columns = dir.join(COLUMNS);
        if columns.exists() {
            found = true;
            self.columns = Some(text_of(&columns, "a TOML file of report columns", FILE_BYTES_MAX)?);
        }
        if !found {
            refuse_unreadable(dir)?;
            let e = no_folder(dir, "no catalog here".into());
            let folders: Vec<_> = Kind::ALL.iter().map(|k| k.folder()).collect();
            return Err(SpecError { expected: format!("a folder with any of {}, {COLUMNS}", folders.join(", ")), ..e });
        }
        refuse_misspelt(dir)?;
        self.sort();
        Ok(())
    }

    /// The same catalog as a record's sources are: a path that a kernel extends means the file kept under that name, and
    /// nothing is read from the directory at hand.
    pub fn sealed(self) -> Self {
        Self { sealed: true, ..self }
    }

    /// The file of a kernel, by name or path; `None` for a name that is not there.
    ///
    /// # Errors
    /// A path that cannot be read as text.
    pub fn kernel_file(&self, name: &str) -> Result<Option<Cow<'_, File>>, SpecError> {
        let path = Path::new(name);
        match (is_path(name), self.sealed) {
            (false, _) => Ok(self.get(Kind::Kernel, name).map(Cow::Borrowed)),
            (true, false) => read(Kind::Kernel, path).map(|file| Some(Cow::Owned(file))),
            (true, true) => {
                let stem = path.file_stem().unwrap_or_default().to_string_lossy();
                Ok(self.get(Kind::Kernel, &stem).map(Cow::Borrowed))
            }
        }
    }

    /// Names of a kind, in natural order.
    pub fn names(&self, kind: Kind) -> impl Iterator<Item = &str> {
        self.files.iter().filter(move |f| f.kind == kind).map(|f| f.name.as_str())
    }

    /// The file of that name.
    pub fn get(&self, kind: Kind, name: &str) -> Option<&File> {
        self.files.iter().find(|f| f.kind == kind && f.name == name)
    }

    /// File name and text of a machine, or of a cost class as `classes/NAME`: the catalog as
    /// [`machine::load`](crate::machine::load) looks into it.
    pub fn machine_text(&self, name: &str) -> Option<(String, String)> {
        let file = match name.split_once('/') {
            Some((CLASSES, class)) => self.classes.iter().find(|f| f.name == class),
            _ => self.get(Kind::Machine, name),
        };
        file.map(|f| (f.label.clone(), f.text.to_string()))
    }

    /// Place and text of the overlay's report columns, if it has any.
    pub fn columns(&self) -> Option<(&str, &str)> {
        self.columns.as_ref().map(|(label, text)| (label.as_str(), text.as_str()))
    }

    /// The file that `name` means: a path if it ends in `.toml` or has a `/`, else a name.
    ///
    /// # Errors
    /// No such file or name (with the nearest one), or it cannot be read as text.
    pub fn find(&self, kind: Kind, name: &Spot<String>) -> Result<Cow<'_, File>, SpecError> {
        if is_path(&name.value) {
            return read(kind, Path::new(&name.value)).map(Cow::Owned);
        }
        self.get(kind, &name.value).map(Cow::Borrowed).ok_or_else(|| self.unknown(kind, name))
    }

    /// The error for a name that is not there.
    pub fn unknown(&self, kind: Kind, name: &Spot<String>) -> SpecError {
        let noun = kind.noun();
        let a = if kind == Kind::Experiment { "an" } else { "a" };
        let expected = format!("{a} {noun} of the catalog (`numalab list {}`) or a path to a TOML file", kind.folder());
        name.error(format!("unknown {noun} `{}`", name.value), expected).near(&name.value, self.names(kind))
    }

    fn sort(&mut self) {
        self.files.sort_by(|a, b| a.kind.cmp(&b.kind).then_with(|| natural(&a.name, &b.name)));
    }
}

/// Adds the TOML files of `folder` to `files`, in place of those of the same kind and name.
fn lay_over(files: &mut Vec<File>, kind: Kind, folder: &Path) -> Result<(), SpecError> {
    let bad = |e: std::io::Error| no_folder(folder, reason(&e));
    for entry in std::fs::read_dir(folder).map_err(bad)? {
        let path = entry.map_err(bad)?.path();
        if path.extension().is_some_and(|e| e == "toml") {
            let file = read(kind, &path)?;
            files.retain(|f| f.kind != kind || f.name != file.name);
            files.push(file);
        }
    }
    Ok(())
}

/// Refuses a folder that may be a catalog but cannot be looked into.
fn refuse_unreadable(dir: &Path) -> Result<(), SpecError> {
    // A folder without the right to search it can be listed, but nothing in it can be found.
    let looked = std::fs::read_dir(dir).and_then(|_| std::fs::metadata(dir.join(".")));
    match looked {
        Err(e) if ![ErrorKind::NotFound, ErrorKind::NotADirectory].contains(&e.kind()) => {
            Err(no_folder(dir, reason(&e)))
        }
        _ => Ok(()),
    }
}

fn no_folder(path: &Path, what: String) -> SpecError {
    SpecError::plain(&path.display().to_string(), what, "a catalog folder")
}

impl kernel::Lookup for Catalog {
    fn kernel_spec(&self, name: &str) -> Result<Option<KernelSpec>, SpecError> {
        let Some(file) = self.kernel_file(name)? else { return Ok(None) };
        let spec = kernel::parse(&file.label, &file.text)?;
        file.check_name(&spec.name)?;
        Ok(Some(spec))
    }
    fn kernel_names(&self) -> Vec<String> {
        self.names(Kind::Kernel).map(str::to_string).collect()
    }
    fn built_in(&self, name: &str) -> Option<String> {
        Self::embedded().get(Kind::Kernel, name).map(|file| file.label.clone())
    }
}

/// Refuses what nothing reads but was meant to be read: a folder with TOML files or nearly of a known name, and a file
/// nearly called as that of the columns.
fn refuse_misspelt(dir: &Path) -> Result<(), SpecError> {
    let known = Kind::ALL.map(Kind::folder);
    let io =
        |path: &Path, e: &std::io::Error| SpecError::plain(&path.display().to_string(), reason(e), "a readable folder");
    for entry in std::fs::read_dir(dir).map_err(|e| io(dir, &e))? {
        let path = entry.map_err(|e| io(dir, &e))?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_file() && name != COLUMNS && nearest(&name, [COLUMNS]).is_some() {
            let e = SpecError::plain(&path.display().to_string(), "nothing reads this file", COLUMNS);
            return Err(e.near(&name, [COLUMNS]));
        }
        if !path.is_dir() || name.starts_with('.') || known.contains(&name.as_str()) {
            continue;
        }
        let files = std::fs::read_dir(&path).map_err(|e| io(&path, &e))?;
        let toml = files.flatten().any(|f| f.path().extension().is_some_and(|e| e == "toml"));
        let near = nearest(&name, known);
        if toml || near.is_some() {
            let what = format!("no folder of a catalog is called `{name}`");
            let e = SpecError::plain(&path.display().to_string(), what, format!("one of {}", known.join(", ")));
            return Err(SpecError { nearest: near, ..e });
        }
    }
    Ok(())
}

/// Whether a name given by a person means a file.
pub fn is_path(name: &str) -> bool {
    name.ends_with(".toml") || name.contains('/')
}

/// Reads a spec from disk.
///
/// # Errors
/// It does not exist, is no regular file, is larger than 1 MiB (a machine: 16 MiB), or is not UTF-8.
pub fn read(kind: Kind, path: &Path) -> Result<File, SpecError> {
    let most = if kind == Kind::Machine { MACHINE_BYTES_MAX } else { FILE_BYTES_MAX };
    let (label, text) = text_of(path, &format!("a TOML file with a description of the {}", kind.noun()), most)?;
    let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    Ok(File { kind, name, label, text: Cow::Owned(text) })
}

/// Place and text of a file of at most `most` bytes; errors as in [`read`].
fn text_of(path: &Path, expected: &str, most: u64) -> Result<(String, String), SpecError> {
    let label = path.display().to_string();
    let bad = |what: String| SpecError::plain(&label, what, expected);
    let meta = std::fs::metadata(path).map_err(|e| bad(reason(&e)))?;
    if !meta.is_file() {
        return Err(bad("not a file".into()));
    }
    if meta.len() > most {
        return Err(bad(format!("{} bytes, more than {most}", meta.len())));
    }
    let bytes = std::fs::read(path).map_err(|e| bad(reason(&e)))?;
    let text = String::from_utf8(bytes).map_err(|e| {
        let good = String::from_utf8_lossy(&e.as_bytes()[..e.utf8_error().valid_up_to()]);
        let (line, column) = position(&good, good.len());
        SpecError { line, column, ..bad("not UTF-8 text".into()) }
    })?;
    Ok((label, text))
}

fn reason(e: &std::io::Error) -> String {
    match e.kind() {
        ErrorKind::NotFound => "no such file".into(),
        ErrorKind::PermissionDenied => "not readable (permission denied)".into(),
        _ => e.to_string(),
    }
}

/// Order in which people expect names: runs of digits compare as numbers.
pub fn natural(a: &str, b: &str) -> Ordering {
    let (mut a_rest, mut b_rest) = (a, b);
    while !a_rest.is_empty() && !b_rest.is_empty() {
        let (x, a_next) = token(a_rest);
        let (y, b_next) = token(b_rest);
        let order = match (number(x), number(y)) {
            (Some(x), Some(y)) => x.cmp(&y),
            _ => x.cmp(y),
        };
        if order != Ordering::Equal {
            return order;
        }
        (a_rest, b_rest) = (a_next, b_next);
    }
    // Equal so far: the shorter first, then by text so that 01 and 1 still have an order.
    a_rest.len().cmp(&b_rest.len()).then_with(|| a.cmp(b))
}

fn token(s: &str) -> (&str, &str) {
    let digit = s.starts_with(|c: char| c.is_ascii_digit());
    s.split_at(s.find(|c: char| c.is_ascii_digit() != digit).unwrap_or(s.len()))
}

fn number(s: &str) -> Option<u128> {
    s.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spot(name: &str) -> Spot<String> {
        Spot { value: name.into(), file: "--kernel".into(), line: 0, column: 0 }
    }

    #[test]
    fn embedded_catalog_is_complete_and_in_natural_order() {
        let c = Catalog::embedded();
        let kernels: Vec<_> = c.names(Kind::Kernel).collect();
        let at = |n: &str| kernels.iter().position(|k| *k == n).unwrap_or_else(|| panic!("{n} is missing"));
        assert!(at("3.8") < at("3.13") && at("3.13") < at("4.15") && at("6.3") < at("6.12") && at("6.12") < at("off"));
        assert!(at("6.4-rc2") < at("6.4-rc2+rfc-v3") && at("off") < at("oracle"));
    }

    #[test]
    fn unknown_names_and_bad_paths_are_refused() {
        let c = Catalog::embedded();
        let e = c.find(Kind::Kernel, &spot("6.4-rc3")).unwrap_err().to_string();
        assert!(e.contains("unknown kernel `6.4-rc3`") && e.contains("did you mean `6.4-rc2`?"), "{e}");
        let e = c.find(Kind::Machine, &spot("nowhere/m.toml")).unwrap_err().to_string();
        assert_eq!(e, "nowhere/m.toml: no such file; expected a TOML file with a description of the machine");
    }

    #[test]
    fn a_file_is_as_large_as_somebody_may_have_written() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("w.toml");
        std::fs::write(&path, "#".repeat(FILE_BYTES_MAX as usize + 1)).unwrap();
        let e = read(Kind::Workload, &path).unwrap_err().to_string();
        assert!(e.contains("w.toml: 1048577 bytes, more than 1048576; expected a TOML file"), "{e}");
        assert!(read(Kind::Machine, &path).is_ok());
    }

    #[test]
    fn overlay_replaces_and_adds_by_name() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("kernels");
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(folder.join("6.1.toml"), "name = \"6.1\"").unwrap();
        std::fs::write(folder.join("mine.toml"), "name = \"other\"\ntitle = \"t\"").unwrap();
        std::fs::write(folder.join("notes.txt"), "not TOML").unwrap();
        let mut c = Catalog::embedded();
        let before = c.names(Kind::Kernel).count();
        c.overlay(dir.path()).unwrap();
        assert_eq!(c.names(Kind::Kernel).count(), before + 1);
        assert_eq!(c.get(Kind::Kernel, "6.1").unwrap().text, "name = \"6.1\"");
        let e = kernel::Lookup::kernel_spec(&c, "mine").unwrap_err();
        assert!(e.to_string().contains("mine.toml:1:8: `name` is \"other\"; expected \"mine\""), "{e}");
        assert!(c.overlay(&dir.path().join("absent")).unwrap_err().to_string().contains("no catalog here"));
        let (typo, other) = (dir.path().join("workload"), dir.path().join("notes"));
        std::fs::create_dir(&typo).unwrap();
        let e = c.overlay(dir.path()).unwrap_err().to_string();
        assert!(e.contains("workload: no folder of a catalog is called `workload`; expected one of machines, "), "{e}");
        assert!(e.ends_with("did you mean `workloads`?"), "{e}");
        std::fs::remove_dir(typo).unwrap();
        std::fs::create_dir(&other).unwrap();
        c.overlay(dir.path()).unwrap();
        std::fs::write(other.join("a.toml"), "").unwrap();
        assert!(c.overlay(dir.path()).unwrap_err().to_string().contains("no folder of a catalog is called `notes`"));
        std::fs::remove_dir_all(other).unwrap();
        std::fs::write(folder.join("bin.toml"), [0xff, 0xfe]).unwrap();
        assert!(c.overlay(dir.path()).unwrap_err().to_string().contains("not UTF-8"));
    }

    #[test]
    #[cfg(unix)]
    fn a_folder_that_cannot_be_read_is_not_called_empty() {
        use std::os::unix::fs::{symlink, PermissionsExt};
        let dir = tempfile::tempdir().unwrap();
        let refusal = |path: &Path| Catalog::embedded().overlay(path).unwrap_err().to_string();
        let circle = dir.path().join("circle");
        symlink(&circle, &circle).unwrap();
        let e = refusal(&circle);
        assert!(!e.contains("no catalog here") && e.contains("expected a catalog folder"), "{e}");
        let closed = dir.path().join("closed");
        std::fs::create_dir_all(closed.join("kernels")).unwrap();
        for mode in [0o000, 0o400] {
            std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(mode)).unwrap();
            // Nothing is closed to root.
            if std::fs::metadata(closed.join("kernels")).is_err() {
                assert!(refusal(&closed).contains("closed: not readable (permission denied)"), "{}", refusal(&closed));
            }
        }
        std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o700)).unwrap();
    }

    #[test]
    fn overlay_has_report_columns() {
        let dir = tempfile::tempdir().unwrap();
        let mut c = Catalog::embedded();
        assert_eq!(c.columns(), None);
        std::fs::write(dir.path().join("columns.toml"), "# none").unwrap();
        c.overlay(dir.path()).unwrap();
        assert_eq!(c.columns().map(|f| f.1), Some("# none"), "it makes a catalog alone");
        assert!(c.columns().unwrap().0.ends_with("/columns.toml"));
        std::fs::write(dir.path().join("column.toml"), "").unwrap();
        let e = c.overlay(dir.path()).unwrap_err().to_string();
        assert!(e.ends_with("nothing reads this file; expected columns.toml; did you mean `columns.toml`?"), "{e}");
    }

    #[test]
    fn overlay_has_cost_classes() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("machines/classes");
        std::fs::create_dir_all(&folder).unwrap();
        let mut c = Catalog::embedded();
        let modern = include_str!("../../../catalog/machines/classes/modern.toml");
        std::fs::write(folder.join("mine.toml"), modern.replace("pte_skip_ns = 8 ", "pte_skip_ns = 80 ")).unwrap();
        let of = |c: &Catalog, name: &str| {
            let text = c.get(Kind::Machine, "milan-2s-nps1").unwrap().text.replace("\"modern\"", &format!("{name:?}"));
            crate::machine::Machine::from_toml_with("m.toml", &text, &|n| c.machine_text(n))
        };
        let e = of(&c, "mine").unwrap_err().to_string();
        assert!(e.contains("no cost class `mine`") && e.contains("machines/classes/ of --catalog"), "{e}");
        c.overlay(dir.path()).unwrap();
        let (mine, own) = (of(&c, "mine").unwrap().costs, of(&c, "modern").unwrap().costs);
        assert_eq!((mine.pte_skip_ns / own.pte_skip_ns, mine.pte_mark_ns), (10.0, own.pte_mark_ns));
        // A file of a built-in name replaces it, for shorthand machines too, and its faults are told.
        std::fs::write(folder.join("modern.toml"), modern.replace("pte_skip_ns = 8 ", "pte_skip_us = 8 ")).unwrap();
        c.overlay(dir.path()).unwrap();
        for e in [of(&c, "modern"), crate::machine::load("2x1x2x1", &|n| c.machine_text(n), &[])] {
            let e = e.unwrap_err().to_string();
            assert!(e.contains("classes/modern.toml:") && e.contains("`cpu.pte_skip_ns` is missing"), "{e}");
        }
        // A class is no machine.
        let e = crate::machine::load("classes/mine", &|n| c.machine_text(n), &[]).unwrap_err().to_string();
        assert!(e.contains("classes/mine: cannot be read"), "{e}");
    }

    #[test]
    fn natural_order() {
        let mut v = vec!["6.12", "6.3", "off", "6.4-rc2+x", "6.4-rc2", "4.15", "2x10", "2x9"];
        v.sort_by(|a, b| natural(a, b));
        assert_eq!(v, ["2x9", "2x10", "4.15", "6.3", "6.4-rc2", "6.4-rc2+x", "6.12", "off"]);
        assert_eq!(natural("1", "01"), Ordering::Greater);
        assert_eq!(natural("1", "1"), Ordering::Equal);
    }
}
