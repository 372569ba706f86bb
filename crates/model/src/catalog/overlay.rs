//! A folder of catalog files laid over the embedded ones.

use super::releases::{ReleaseTable, RELEASES};
use super::{read, Catalog, File, Kind, CLASSES, FILE_BYTES_MAX};
use crate::files::{reason, regular_text};
use crate::spec::{nearest, SpecError};
use std::borrow::Cow;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

/// File of the report columns, beside the folders.
const COLUMNS: &str = "columns.toml";

impl Catalog {
    /// Lays the files of `dir` over this catalog: a file of an equal name is replaced, a new one is added.
    ///
    /// `dir` has folders `machines`, `kernels` and so on, `machines/classes` for cost classes, and the file
    /// `columns.toml`, all of them optional. A file `releases.toml` replaces the whole table of releases.
    ///
    /// # Errors
    /// `dir` is no catalog folder, has a folder or file of a misspelt name, has a file that cannot be read as text, or
    /// has a wrong table of releases.
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
            self.columns = Some(regular_text(&columns, "a TOML file of report columns", FILE_BYTES_MAX)?);
        }
        let releases = dir.join(RELEASES);
        if releases.exists() {
            found = true;
            let (label, text) = regular_text(&releases, "a TOML file with a table of releases", FILE_BYTES_MAX)?;
            self.releases = Ok(Arc::new(ReleaseTable::parse(&label, Cow::Owned(text))?));
        }
        if !found {
            refuse_unreadable(dir)?;
            let e = no_folder(dir, "no catalog here".into());
            let folders: Vec<_> = Kind::ALL.iter().map(|k| k.folder()).collect();
            let expected = format!("a folder with any of {}, {COLUMNS}, {RELEASES}", folders.join(", "));
            return Err(SpecError { expected, ..e });
        }
        refuse_misspelt(dir)?;
        self.sort();
        Ok(())
    }
}

/// Adds the TOML files of `folder` to `files`; each replaces the one of its kind and name.
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

/// Refuses a folder that may be a catalog but cannot be read.
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

/// Refuses folders and files that nothing reads but that were probably meant to be read: a folder with TOML files or
/// with a name near a known one, and a file with a name near that of the columns or the releases.
fn refuse_misspelt(dir: &Path) -> Result<(), SpecError> {
    let known = Kind::ALL.map(Kind::folder);
    let io =
        |path: &Path, e: &std::io::Error| SpecError::plain(&path.display().to_string(), reason(e), "a readable folder");
    for entry in std::fs::read_dir(dir).map_err(|e| io(dir, &e))? {
        let path = entry.map_err(|e| io(dir, &e))?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let meant = nearest(&name, [COLUMNS, RELEASES]).filter(|meant| path.is_file() && *meant != name);
        if let Some(meant) = meant {
            let e = SpecError::plain(&path.display().to_string(), "nothing reads this file", meant.as_str());
            return Err(SpecError { nearest: Some(meant), ..e });
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel;

    #[test]
    fn files_larger_than_any_spec_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("w.toml");
        std::fs::write(&path, "#".repeat(FILE_BYTES_MAX as usize + 1)).unwrap();
        let e = read(Kind::Workload, &path).unwrap_err().to_string();
        assert!(e.contains("w.toml: 1048577 bytes, more than 1 MiB; expected a TOML file"), "{e}");
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
    fn a_folder_that_cannot_be_read_is_refused_as_unreadable() {
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
            // The superuser can read everything.
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
        assert_eq!(c.columns().map(|f| f.1), Some("# none"), "the file alone makes a catalog");
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
        let modern = include_str!("../../catalog/machines/classes/modern.toml");
        std::fs::write(folder.join("mine.toml"), modern.replace("pte_skip_ns = 8 ", "pte_skip_ns = 80 ")).unwrap();
        let of = |c: &Catalog, name: &str| {
            let text = c.get(Kind::Machine, "milan-2s-nps1").unwrap().text.replace("\"modern\"", &format!("{name:?}"));
            crate::machine::from_toml_with("m.toml", &text, &|n| c.machine_text(n))
        };
        let e = of(&c, "mine").unwrap_err().to_string();
        assert!(e.contains("no cost class `mine`") && e.contains("machines/classes/ of --catalog"), "{e}");
        c.overlay(dir.path()).unwrap();
        let (mine, own) = (of(&c, "mine").unwrap().costs, of(&c, "modern").unwrap().costs);
        assert_eq!((mine.pte_skip_ns / own.pte_skip_ns, mine.pte_mark_ns), (10.0, own.pte_mark_ns));
        // A file of a built-in name replaces it, for shorthand machines too, and its errors are reported.
        std::fs::write(folder.join("modern.toml"), modern.replace("pte_skip_ns = 8 ", "pte_skip_us = 8 ")).unwrap();
        c.overlay(dir.path()).unwrap();
        for e in [of(&c, "modern"), crate::machine::load("2x1x2x1", &|n| c.machine_text(n), &[])] {
            let e = e.unwrap_err().to_string();
            assert!(e.contains("classes/modern.toml:") && e.contains("`cpu.pte_skip_ns` is missing"), "{e}");
        }
        // A cost class is no machine.
        let e = crate::machine::load("classes/mine", &|n| c.machine_text(n), &[]).unwrap_err().to_string();
        assert!(e.contains("classes/mine: cannot be read"), "{e}");
    }
}
