//! A series of patches for a release of Linux: `series:DIR`, the packaged source of its base with all of it built in.
//!
//! The tree is identified by what the series has in it, so a changed patch gives another tree, and the same series in
//! another folder gives the same one. Knobs are no part of it: they choose in the running kernel.

use super::series_file::{read, Contents};
use super::source::{self, Derived, Tree};
use super::spec::PackageVersion;
use crate::cache::Cache;
use crate::failure::at_path;
use std::path::Path;

/// Puts a series into a copy of its base. `scratch` is a folder for a patch at a time.
fn apply(contents: &Contents, tree: &Path, scratch: &Path) -> Result<(), String> {
    for (name, text) in &contents.patches {
        source::apply_text(tree, Path::new(name), text, scratch)?;
    }
    contents.files.iter().try_for_each(|(to, text)| put(tree, to, text))
}

/// Writes a file into a tree. The file that is there may be a link to that of another tree, so it is replaced.
fn put(tree: &Path, to: &str, text: &[u8]) -> Result<(), String> {
    let path = tree.join(to);
    let parent = path.parent().unwrap_or(tree);
    std::fs::create_dir_all(parent).map_err(at_path(parent))?;
    let (real, root) = (parent.canonicalize().map_err(at_path(parent))?, tree.canonicalize().map_err(at_path(tree))?);
    if !real.starts_with(&root) || path.is_dir() {
        return Err(format!("{to}: expected the place of a file inside of the source"));
    }
    let _ = std::fs::remove_file(&path);
    std::fs::write(&path, text).map_err(at_path(&path))
}

/// The tree of a series: a copy of the packaged source of its base, with patches and files.
///
/// # Errors
/// See [`read`] and [`source::packaged`]; a patch that does not apply, with what `patch` said.
pub fn tree(folder: &Path, which: PackageVersion, cache: &Cache, say: &mut dyn FnMut(&str)) -> Result<Tree, String> {
    let contents = read(folder).map_err(|e| e.to_string())?;
    let count = match contents.patches.len() {
        1 => "1 patch".to_string(),
        n => format!("{n} patches"),
    };
    let derived = Derived {
        kind: "series",
        base: &contents.series.base.value,
        key: contents.key().into_bytes(),
        with: format!("series {} ({count})", folder.display()),
        change: &|tree, scratch| apply(&contents, tree, scratch),
    };
    let tree = source::derived(&derived, which, cache, say)?;
    let config = contents.series.config.iter().map(|line| format!("{}\n", line.value)).collect();
    Ok(Tree { config, ..tree })
}

#[cfg(test)]
mod tests {
    use super::super::series_file::listed;
    use super::*;
    use crate::cache::KERNELS;
    use numalab_model::kernel::series::SERIES_FILE;
    use std::path::PathBuf;

    const PATCH: &str = "--- a/kernel/x.c\n+++ b/kernel/x.c\n@@ -1,2 +1,2 @@\n-int a = 1;\n+int a = 7;\n int b = 2;\n";
    const TOML: &str = "base = \"6.12\"\npatches = [\"1.patch\"]\nconfig = [\"CONFIG_NUMALAB=y\"]\n\
                        files = [{ from = \"n.c\", to = \"kernel/n.c\" }, { from = \"n.c\", to = \"Kbuild\" }]\n";

    fn folder(at: &Path) -> PathBuf {
        let folder = at.join("linux");
        std::fs::create_dir_all(&folder).unwrap();
        for (name, text) in [(SERIES_FILE, TOML), ("1.patch", PATCH), ("n.c", "int n;\n")] {
            std::fs::write(folder.join(name), text).unwrap();
        }
        folder
    }

    fn cache_with_source(at: &Path) -> (Cache, PathBuf) {
        let cache = Cache::at(&at.join("cache")).unwrap();
        let tree = cache.directory(KERNELS).unwrap().join("linux-source-6.12_6.12.1-1");
        std::fs::create_dir_all(tree.join("kernel")).unwrap();
        std::fs::write(tree.join("Kbuild"), "k").unwrap();
        std::fs::write(tree.join("kernel/x.c"), "int a = 1;\nint b = 2;\n").unwrap();
        (cache, tree)
    }

    #[test]
    fn patches_and_files_are_in_the_copy_alone() {
        let directory = tempfile::tempdir().unwrap();
        let (cache, base) = cache_with_source(directory.path());
        let folder = folder(directory.path());
        let tree = |cache: &Cache| super::tree(&folder, PackageVersion::Kept, cache, &mut |_| {}).unwrap();
        let made = tree(&cache);
        let text = |p: &Path| std::fs::read_to_string(p).unwrap();
        assert!(text(&made.path.join("kernel/x.c")).contains("a = 7") && made.path.join("kernel/n.c").is_file());
        assert_eq!((text(&made.path.join("Kbuild")), text(&base.join("Kbuild"))), ("int n;\n".into(), "k".into()));
        assert!(text(&base.join("kernel/x.c")).contains("a = 1"), "the packaged source is as it was");
        assert_eq!(made.config, "CONFIG_NUMALAB=y\n");
        assert!(made.origin.starts_with("linux-source-6.12_6.12.1-1 + series "), "{}", made.origin);
        assert_eq!(tree(&cache), made, "the same series gives the same tree");
    }

    #[test]
    fn what_is_in_a_series_decides_its_tree_and_nothing_else() {
        let directory = tempfile::tempdir().unwrap();
        let (a, b) = (folder(&directory.path().join("a")), folder(&directory.path().join("b")));
        let key = |f: &Path| read(f).unwrap().key();
        let first = key(&a);
        assert_eq!(first, key(&b), "another folder");
        let with = |name: &str, text: &str| {
            std::fs::write(b.join(name), text).unwrap();
            let changed = key(&b);
            folder(&directory.path().join("b"));
            changed
        };
        assert_ne!(with("1.patch", &PATCH.replace('7', "8")), first);
        assert_ne!(with("n.c", "int m;\n"), first);
        assert_ne!(with(SERIES_FILE, &TOML.replace("=y", "=n")), first);
        assert_ne!(with(SERIES_FILE, &TOML.replace("kernel/n.c", "kernel/m.c")), first);
        let knob = "[[knob]]\nname = \"k\"\npath = \"/proc/sys/k\"\nvalues = [\"a\"]\ndefault = \"a\"\n";
        assert_eq!(with(SERIES_FILE, &format!("{TOML}{knob}")), first, "knobs are not built in");
    }

    #[test]
    fn what_is_missing_is_named_with_its_place() {
        let directory = tempfile::tempdir().unwrap();
        let folder = folder(directory.path());
        std::fs::remove_file(folder.join("1.patch")).unwrap();
        let e = read(&folder).err().unwrap();
        assert!(e.file.ends_with(SERIES_FILE) && e.line == 2 && e.what.contains("1.patch: no such file"), "{e}");
        let e = listed(directory.path()).unwrap_err().to_string();
        assert!(e.contains("series.toml: no such file; expected the folder of a series"), "{e}");
    }

    #[test]
    fn a_file_is_never_written_outside_of_the_tree() {
        let directory = tempfile::tempdir().unwrap();
        let (tree, outside) = (directory.path().join("tree"), directory.path().join("outside"));
        std::fs::create_dir_all(&tree).unwrap();
        std::fs::create_dir_all(&outside).unwrap();
        std::os::unix::fs::symlink(&outside, tree.join("away")).unwrap();
        assert!(put(&tree, "away/x.c", b"x").is_err());
        assert!(!outside.join("x.c").exists());
    }
}
