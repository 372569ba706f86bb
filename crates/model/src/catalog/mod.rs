//! The catalog: machines, kernels, workloads, experiments and published tables by name.
//!
//! Problem: all facts of the catalog must be available to a bare binary, and each of them must be replaceable without a
//! build.
//! Approach: the TOML files are embedded at build time; `Catalog::overlay` (feature `store`) lays a folder of the same
//! shape over them, file by file. A name that looks like a path is read from disk instead. Report columns belong to the
//! crate `report`; only their overlay is here. Kernels are files, and the rows of the table of releases; a file hides
//! the row of its name.
//! Invariants: names of a kind are unique and listed in natural order (3.8 before 3.13), kernels in order of release.
//! Code that parses a file checks the `name` inside it against the file's own with [`File::check_name`].

mod natural;
#[cfg(feature = "store")]
mod overlay;
mod releases;

use natural::natural;
use releases::{by_release, ReleaseTable, RELEASES};

use crate::files::regular_text;
use crate::kernel::{self, Kernel, KernelSpec, Release, Releases, Vocabulary};
use crate::spec::{nearest, Doc, SpecError, Spot};
use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

/// (folder, name, text) of every embedded file.
const EMBEDDED: &[(&str, &str, &str)] = include!(concat!(env!("OUT_DIR"), "/catalog_files.rs"));

/// Place and text of the table of programs that `numalab advise --like` knows.
pub const LIKES: (&str, &str) = ("catalog/likes.toml", include_str!("../../catalog/likes.toml"));

/// Folder of the cost classes, inside that of the machines.
const CLASSES: &str = "classes";

/// Largest catalog file read from disk, bytes. Specs are written by hand, so a larger file is a wrong path.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// Largest machine file read from disk, bytes: an imported machine may have a matrix of a thousand nodes.
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
    /// What the file describes.
    pub kind: Kind,
    /// Name: the file name without `.toml`.
    pub name: String,
    /// Place of the file, for messages.
    pub label: String,
    /// Its text.
    pub text: Cow<'static, str>,
}

impl File {
    /// Other words for what the file describes: the key `aliases`. They are searched for suggestions, and name nothing.
    /// Empty for a file that is not valid.
    pub fn aliases(&self) -> Vec<String> {
        let Ok(doc) = Doc::parse(&self.label, &self.text) else { return Vec::new() };
        let list = doc.root().strs("aliases").unwrap_or_default();
        list.into_iter().map(|a| a.value).collect()
    }
    /// The title; empty for a file that is not valid.
    fn title(&self) -> String {
        let Ok(doc) = Doc::parse(&self.label, &self.text) else { return String::new() };
        doc.root().opt_str("title").ok().flatten().map(|t| t.value).unwrap_or_default()
    }
    /// What a list shows of a file that the program was built with, by one look at the text above its first table: such
    /// a file is valid. `None` for a file of the user, which is read in full.
    pub fn heading_as_built(&self) -> Option<Heading> {
        let Cow::Borrowed(text) = &self.text else { return None };
        let head = text.split_once("\n[").map_or(*text, |(head, _)| head);
        let doc = Doc::parse(&self.label, head).ok()?;
        let word = |key| doc.root().opt_str(key).ok().flatten().map(|w| w.value);
        let of = if self.kind == Kind::Kernel { word("alias_of") } else { word("alias") };
        let aliases = doc.root().strs("aliases").unwrap_or_default();
        Some(Heading { title: word("title")?, aliases: aliases.into_iter().map(|a| a.value).collect(), alias: of })
    }
    /// Another name for the file: the key `alias` of a published table, `None` for every other kind.
    fn alias(&self) -> Option<String> {
        if self.kind != Kind::Published {
            return None;
        }
        let doc = Doc::parse(&self.label, &self.text).ok()?;
        let alias = doc.root().opt_str("alias").ok()?;
        alias.map(|a| a.value)
    }
    /// Refuses a file whose `name` key differs from its own name.
    ///
    /// # Errors
    /// The key and the name differ.
    pub fn check_name(&self, name: &Spot<String>) -> Result<(), SpecError> {
        if name.value == self.name {
            return Ok(());
        }
        Err(name.error(format!("`name` is {:?}", name.value), format!("{:?}, as the file is called", self.name)))
    }
}

/// What a list shows of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heading {
    /// The key `title`.
    pub title: String,
    /// The key `aliases`: words for what the file describes.
    pub aliases: Vec<String>,
    /// Of a published table its other name, the key `alias`; of a kernel the one that it stands for, `alias_of`.
    pub alias: Option<String>,
}

/// A kernel of the program's own catalog, with nothing overridden.
///
/// # Errors
/// See [`kernel::resolve`].
pub fn built_in_kernel(name: &str, vocabulary: &Vocabulary) -> Result<Kernel, SpecError> {
    let spot = Spot { value: name.to_string(), file: "catalog kernel".into(), line: 0, column: 0 };
    let found = kernel::resolve(std::slice::from_ref(&spot), &Catalog::embedded(), vocabulary, &[])?;
    found.into_iter().next().ok_or_else(|| spot.error("no kernel", "one"))
}

/// All files by kind and name.
#[derive(Clone, Debug)]
pub struct Catalog {
    files: Vec<File>,
    /// The table of releases. It is an error only if the program's own table is wrong.
    releases: Result<Arc<ReleaseTable>, SpecError>,
    /// Cost classes of overlays; the module `machine` has those that the program was built with.
    classes: Vec<File>,
    /// Place and text of an overlay's report columns.
    columns: Option<(String, String)>,
    /// Whether a path to a kernel means the file of this catalog with that name, and not a file on disk.
    sealed: bool,
}

impl Catalog {
    /// The catalog with which the program was built.
    pub fn embedded() -> Self {
        let mut files = Vec::new();
        for kind in Kind::ALL {
            for (_, name, text) in EMBEDDED.iter().filter(|f| f.0 == kind.folder()) {
                let label = format!("catalog/{}/{name}.toml", kind.folder());
                files.push(File { kind, name: (*name).into(), label, text: Cow::Borrowed(text) });
            }
        }
        let releases = releases::BUILT_IN.clone();
        let mut catalog = Self { files, releases, classes: Vec::new(), columns: None, sealed: false };
        catalog.sort();
        catalog
    }

    /// Adds a text as the entry `name`, in place of one of that name. Messages name it as `label`.
    pub fn insert(&mut self, kind: Kind, name: &str, label: &str, text: &str) {
        self.files.retain(|f| f.kind != kind || f.name != name);
        self.files.push(File { kind, name: name.into(), label: label.into(), text: Cow::Owned(text.into()) });
        self.sort();
    }

    /// This catalog as the sources of a record: a path to a kernel means the file of this catalog with that name, and
    /// nothing is read from disk.
    pub fn sealed(self) -> Self {
        Self { sealed: true, ..self }
    }

    /// The file of a kernel, by name or path; `None` for a name that the catalog does not have.
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

    /// Names of a kind, in natural order; kernels in order of release, each release before its variants.
    pub fn names(&self, kind: Kind) -> impl Iterator<Item = &str> {
        let mut names: Vec<&str> = self.files.iter().filter(|f| f.kind == kind).map(|f| f.name.as_str()).collect();
        if kind == Kind::Kernel {
            names.extend(self.release_names());
            names.sort_by(|a, b| by_release(a, b));
            names.dedup();
        }
        names.into_iter()
    }

    /// The file of that name, or of that alias if no file has the name. A release has none: see [`Catalog::release`].
    pub fn get(&self, kind: Kind, name: &str) -> Option<&File> {
        let mut of_kind = self.files.iter().filter(|f| f.kind == kind);
        let named = of_kind.clone().find(|f| f.name == name);
        named.or_else(|| of_kind.find(|f| f.alias().is_some_and(|alias| alias == name)))
    }

    /// File name and text of a machine by name or path, or of a cost class as `classes/NAME`, as
    /// [`machine::load`](crate::machine::load) asks for them.
    pub fn machine_text(&self, name: &str) -> Option<(String, String)> {
        let file = match name.split_once('/') {
            Some((CLASSES, class)) => self.classes.iter().find(|f| f.name == class),
            _ if is_path(name) && !self.sealed => {
                let file = read(Kind::Machine, Path::new(name)).ok()?;
                return Some((file.label, file.text.into_owned()));
            }
            _ => self.get(Kind::Machine, &crate::machine::file_name(name)),
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
    /// There is no such file or name, or the file cannot be read as text. The error has the nearest name.
    pub fn find(&self, kind: Kind, name: &Spot<String>) -> Result<Cow<'_, File>, SpecError> {
        if is_path(&name.value) {
            return read(kind, Path::new(&name.value)).map(Cow::Owned);
        }
        self.get(kind, &name.value).map(Cow::Borrowed).ok_or_else(|| self.unknown(kind, name))
    }

    /// The error for a name that the catalog does not have, with the nearest name or alias.
    pub fn unknown(&self, kind: Kind, name: &Spot<String>) -> SpecError {
        let noun = kind.noun();
        let a = if kind == Kind::Experiment { "an" } else { "a" };
        let expected = format!("{a} {noun} of the catalog (`numalab list {}`) or a path to a TOML file", kind.folder());
        let nearest = self.suggest(kind, &name.value);
        SpecError { nearest, ..name.error(format!("unknown {noun} `{}`", name.value), expected) }
    }

    /// The name of the catalog that `name` probably means: that of [`Self::by_word`], or the nearest of names and
    /// aliases.
    pub fn suggest(&self, kind: Kind, name: &str) -> Option<String> {
        if let Some(found) = self.by_word(kind, name) {
            return Some(found);
        }
        let aliases = self.aliases_of(kind);
        let own: Vec<String> = self.files.iter().filter(|f| f.kind == kind).filter_map(|f| f.alias()).collect();
        let known = self.names(kind).chain(own.iter().map(String::as_str)).chain(aliases.iter().map(|a| a.0.as_str()));
        let near = nearest(&name.to_lowercase(), known)?;
        Some(aliases.into_iter().find(|a| a.0 == near).map_or(near, |a| a.1.to_string()))
    }
    /// The name of the catalog with the word `name` among its aliases, or else in its title; the first of several.
    pub fn by_word(&self, kind: Kind, name: &str) -> Option<String> {
        let wanted = name.to_lowercase();
        if let Some((_, found)) = self.aliases_of(kind).into_iter().find(|a| a.0 == wanted) {
            return Some(found.to_string());
        }
        let has_word = |f: &&File| {
            let title = f.title().to_lowercase();
            title.split(|c: char| !c.is_alphanumeric()).any(|word| word == wanted)
        };
        self.files.iter().filter(|f| f.kind == kind).find(has_word).map(|f| f.name.clone())
    }
    /// Aliases in lower case, each with the name of its file.
    fn aliases_of(&self, kind: Kind) -> Vec<(String, &str)> {
        let files = self.files.iter().filter(|f| f.kind == kind);
        files.flat_map(|f| f.aliases().into_iter().map(|a| (a.to_lowercase(), f.name.as_str()))).collect()
    }

    fn sort(&mut self) {
        self.files.sort_by(|a, b| a.kind.cmp(&b.kind).then_with(|| natural(&a.name, &b.name)));
    }
}

/// Kernels beside the files: the rows of the table of releases.
impl Catalog {
    /// The table of releases.
    ///
    /// # Errors
    /// The program's own table is wrong.
    pub fn releases(&self) -> Result<&Releases, SpecError> {
        self.releases.as_ref().map(|table| table.parsed()).map_err(Clone::clone)
    }

    /// File name and text of the table of releases, as a record keeps it.
    ///
    /// # Errors
    /// As [`Catalog::releases`].
    pub fn release_table(&self) -> Result<(&'static str, &str), SpecError> {
        self.releases.as_ref().map(|table| (RELEASES, table.text())).map_err(Clone::clone)
    }

    /// The row that a kernel's name means; `None` if it means a file or nothing.
    pub fn release(&self, name: &str) -> Option<&Release> {
        let table = self.releases.as_ref().ok().filter(|_| self.get(Kind::Kernel, name).is_none())?;
        table.parsed().find(name)
    }

    /// Whether there is a kernel of that name: a file, or a row of the table of releases.
    pub fn has_kernel(&self, name: &str) -> bool {
        self.get(Kind::Kernel, name).is_some() || self.release(name).is_some()
    }

    /// Names of all rows, oldest release first.
    fn release_names(&self) -> impl Iterator<Item = &str> {
        self.releases.iter().flat_map(|table| table.parsed().rows()).map(|row| row.spec.name.value.as_str())
    }
}

impl kernel::Lookup for Catalog {
    fn kernel_spec(&self, name: &str) -> Result<Option<KernelSpec>, SpecError> {
        let Some(file) = self.kernel_file(name)? else {
            let row = self.releases()?.find(name).map(|row| row.spec.clone());
            return Ok(row.or_else(|| kernel::uname::nearest(name, &self.kernel_names())));
        };
        let spec = kernel::parse(&file.label, &file.text)?;
        file.check_name(&spec.name)?;
        Ok(Some(spec))
    }
    fn kernel_names(&self) -> Vec<String> {
        self.names(Kind::Kernel).map(str::to_string).collect()
    }
    fn suggest(&self, name: &str) -> Option<String> {
        Catalog::suggest(self, Kind::Kernel, name)
    }
    fn built_in(&self, name: &str) -> Option<String> {
        let built_in = Self::embedded();
        let row = || Some(built_in.releases().ok()?.find(name)?.spec.name.file.clone());
        built_in.get(Kind::Kernel, name).map(|file| file.label.clone()).or_else(row)
    }
}

/// Whether a name given by a user means a path to a file: it ends in `.toml` or has a `/`.
pub fn is_path(name: &str) -> bool {
    name.ends_with(".toml") || name.contains('/')
}

/// Reads a spec from disk.
///
/// # Errors
/// The file does not exist, is not regular, is larger than 1 MiB (for a machine 16 MiB), or is not UTF-8.
pub fn read(kind: Kind, path: &Path) -> Result<File, SpecError> {
    let most = if kind == Kind::Machine { MACHINE_BYTES_MAX } else { FILE_BYTES_MAX };
    let (label, text) = regular_text(path, &format!("a TOML file with a description of the {}", kind.noun()), most)?;
    let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    Ok(File { kind, name, label, text: Cow::Owned(text) })
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
    fn the_heading_of_a_file_is_what_all_of_it_says() {
        for file in &Catalog::embedded().files {
            let heading = file.heading_as_built().unwrap_or_else(|| panic!("{} has no heading", file.label));
            assert_eq!((&heading.title, &heading.aliases), (&file.title(), &file.aliases()), "{}", file.label);
            if file.kind == Kind::Published {
                assert_eq!(heading.alias, file.alias(), "{}", file.label);
            }
            let own = File { text: Cow::Owned(file.text.to_string()), ..file.clone() };
            assert_eq!(own.heading_as_built(), None, "a file of the user is read in full");
        }
    }

    #[test]
    fn a_text_of_a_program_replaces_the_entry_of_its_name() {
        let mut c = Catalog::embedded();
        let before = c.names(Kind::Workload).count();
        c.insert(Kind::Workload, "numa02", "<python>", "name = \"numa02\"");
        let file = c.get(Kind::Workload, "numa02").unwrap();
        assert_eq!((file.label.as_str(), c.names(Kind::Workload).count()), ("<python>", before));
        c.insert(Kind::Workload, "mine", "<python>", "name = \"mine\"");
        assert_eq!(c.names(Kind::Workload).count(), before + 1);
    }

    #[test]
    fn published_tables_have_the_numbers_of_their_threads_as_aliases() {
        let c = Catalog::embedded();
        for (alias, name) in [
            ("000", "disjoint-vma-2023"),
            ("001", "shared-cow-2018"),
            ("002", "numa-core-autonuma-2012"),
            ("003", "thp-locality-2019"),
            ("004", "imb-numa-nr-2021"),
            ("004-stream", "imb-numa-nr-2021-stream"),
        ] {
            assert_eq!(c.get(Kind::Published, alias).unwrap().name, name);
            assert_eq!(c.find(Kind::Published, &spot(name)).unwrap(), c.find(Kind::Published, &spot(alias)).unwrap());
            assert_eq!(c.get(Kind::Experiment, alias), None);
        }
        let near = |name: &str| c.find(Kind::Published, &spot(name)).unwrap_err().nearest;
        assert_eq!(near("disjoint-vma").as_deref(), Some("disjoint-vma-2023"));
        assert_eq!(near("004-strem").as_deref(), Some("004-stream"));
    }

    #[test]
    fn unknown_names_and_bad_paths_are_refused() {
        let c = Catalog::embedded();
        let e = c.find(Kind::Kernel, &spot("6.4-rc3")).unwrap_err().to_string();
        assert!(e.contains("unknown kernel `6.4-rc3`") && e.contains("did you mean `6.4-rc1`?"), "{e}");
        let suggested = |kind, name: &str| c.suggest(kind, name);
        for (name, release) in [("6.33", "6.19"), ("2.6", "3.7"), ("7.19", "7.2")] {
            assert_eq!(
                suggested(Kind::Kernel, name).as_deref(),
                Some(release),
                "the nearest release, whatever its spelling"
            );
        }
        for (name, workload) in [
            ("postgres", "buffer-pool"),
            ("PostgreSQL", "buffer-pool"),
            ("postgrs", "buffer-pool"),
            ("numa02_thread", "numa02"),
            ("warehouses", "specjbb"),
        ] {
            let got = suggested(Kind::Workload, name);
            assert!(got.as_deref().is_some_and(|g| g.starts_with(workload)), "{name}: {got:?}");
        }
        assert_eq!(suggested(Kind::Workload, "qqqq"), None);
        let e = c.find(Kind::Machine, &spot("nowhere/m.toml")).unwrap_err().to_string();
        assert_eq!(e, "nowhere/m.toml: no such file; expected a TOML file with a description of the machine");
    }
}
