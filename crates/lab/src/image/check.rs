//! Checks that an image exists, before tools are required and before anything is fetched or built.
//!
//! Problem: a mistake of the user must be reported before a missing tool of the host, and before a large download.
//! Approach: the check reads only files, git and the local package lists. It writes nothing and creates no folder of
//! the cache. Without package lists it accepts every series, and [`super::resolve`] decides.

use super::file::{cut_off, is_bzimage, is_elf, starts_with};
use super::limits::{IMAGE_BYTES_MAX, PACKAGE_BYTES_MAX};
use super::spec::{ImageSpec, COMMAND_LINE};
use super::{debian, patches, series_file, source};
use crate::cache::Cache;
use numalab_model::files::input;
use numalab_model::spec::SpecError;
use std::path::Path;

impl ImageSpec {
    /// Checks that the image's files, commit or release series exist.
    ///
    /// # Errors
    /// What does not exist, what was expected, and the nearest patch.
    pub fn check(&self) -> Result<(), SpecError> {
        self.check_with(&debian::Apt::default(), Cache::existing().as_ref())
    }

    fn check_with(&self, apt: &debian::Apt, cache: Option<&Cache>) -> Result<(), SpecError> {
        match self {
            Self::Debian(series) if cache.is_some_and(|c| debian::is_kept(series, c)) => Ok(()),
            Self::Debian(series) => listed("kernel", series, &debian::series_of_images(apt)),
            Self::Deb(path) => {
                file(path, "package", PACKAGE_BYTES_MAX, "a Debian package (.deb)")?;
                right(path, "package", starts_with(path, 0, b"!<arch>\n"), "a Debian package (.deb)")
            }
            Self::BzImage(path) => {
                file(path, "bzImage", IMAGE_BYTES_MAX, BZIMAGE)?;
                right(path, "bzImage", is_bzimage(path), BZIMAGE)?;
                cut_off(path).map_or(Ok(()), |what| Err(wrong(what, "the whole file: copy it again")))
            }
            Self::Vmlinux(path) => {
                file(path, "vmlinux", IMAGE_BYTES_MAX, VMLINUX)?;
                right(path, "vmlinux", is_elf(path), VMLINUX)
            }
            Self::Tree(tree) => directory(tree),
            Self::Commit { tree, revision } => commit(tree, revision),
            Self::Series(folder) => {
                let base = series_file::read(folder)?.series.base;
                let kept = cache.is_some_and(|c| source::kept(&base.value, c).is_some());
                if kept {
                    return Ok(());
                }
                let known = listed("source", &base.value, &debian::series_of_sources(apt));
                known.map_err(|e| base.error(e.what, e.expected))
            }
            Self::Source { series, patches } => {
                patches.iter().try_for_each(|p| patch(p))?;
                if cache.is_some_and(|c| source::kept(series, c).is_some()) {
                    return Ok(());
                }
                listed("source", series, &debian::series_of_sources(apt))
            }
        }
    }
}

/// What a `bzImage:` is expected to be.
const BZIMAGE: &str = "a kernel that boot loaders start (/boot/vmlinuz-…)";
/// What a `vmlinux:` is expected to be.
const VMLINUX: &str = "an ELF file with a PVH entry";

fn wrong(what: String, expected: impl Into<String>) -> SpecError {
    SpecError::plain(COMMAND_LINE, what, expected)
}

/// Checks that the package lists have a series; without lists every series passes.
fn listed(what: &str, series: &str, known: &[String]) -> Result<(), SpecError> {
    if known.is_empty() || known.iter().any(|k| k == series) {
        return Ok(());
    }
    let what = format!("the package lists have no {what} of the {series} series");
    let expected = format!("{} (`apt-get update` brings new lists), or an image of your own", known.join(", "));
    Err(wrong(what, expected))
}

/// Checks that a file is there and can be read, before its contents are looked at.
fn file(path: &Path, kind: &str, most: u64, expected: &str) -> Result<(), SpecError> {
    input::open(path, most).map(drop).map_err(|e| wrong(format!("{kind} {e}"), expected))
}

fn right(path: &Path, kind: &str, right: bool, expected: &str) -> Result<(), SpecError> {
    if right {
        return Ok(());
    }
    Err(wrong(format!("{} is no {kind}", path.display()), expected))
}

fn directory(tree: &Path) -> Result<(), SpecError> {
    if source::is_tree(tree) {
        return Ok(());
    }
    let what = if tree.exists() { "is no kernel source tree" } else { "no such directory" };
    Err(wrong(format!("{}: {what}", tree.display()), source::TREE))
}

/// Checks that a repository has a commit. The tree need not be checked out.
fn commit(tree: &Path, revision: &str) -> Result<(), SpecError> {
    if !tree.join(".git").exists() {
        let what = if tree.exists() { "is no git repository" } else { "no such directory" };
        let what = format!("{}: {what}", tree.display());
        return Err(wrong(what, format!("a repository for `@{revision}`; tree:DIR builds a directory as it is")));
    }
    if !source::is_repository(tree) {
        return Ok(());
    }
    source::commit_of(tree, revision).map(drop).map_err(|e| {
        wrong(format!("no commit `{revision}` in {} ({e})", tree.display()), "anything git takes for a commit")
    })
}

fn patch(patch: &Path) -> Result<(), SpecError> {
    let names = patches::PATCHES.iter().map(|p| p.0);
    source::patch_text(patch).map(drop).map_err(|e| {
        let what = format!("patch {e}").split("; expected").next().unwrap_or_default().to_string();
        let expected = format!("a file, or one of {}", names.clone().collect::<Vec<_>>().join(", "));
        wrong(what, expected).near(&patch.to_string_lossy(), names)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(spec: &str, apt: &debian::Apt, cache: Option<&Cache>) -> SpecError {
        ImageSpec::parse(spec).unwrap().check_with(apt, cache).unwrap_err()
    }

    #[test]
    fn a_missing_image_is_refused_and_nothing_is_written() {
        let directory = tempfile::tempdir().unwrap();
        let d = directory.path();
        let cache = Cache::at(&d.join("cache")).unwrap();
        let apt =
            debian::tests::lists(d, "linux-image-6.12.9+deb12-amd64\nlinux-image-6.1.0-9-amd64\nlinux-source-6.1");
        let empty = debian::tests::lists(&d.join("empty"), "");
        let says = |spec: &str, parts: &[&str]| {
            let e = refused(spec, &apt, Some(&cache)).to_string();
            assert!(parts.iter().all(|p| e.contains(p)), "{spec}: {e}");
        };
        says("debian-6.99", &["no kernel of the 6.99 series", "expected 6.1, 6.12", "apt-get update"]);
        says("source:6.12", &["no source of the 6.12 series", "expected 6.1 "]);
        says("source:6.1+patch:/no/such.patch", &["patch /no/such.patch: no such file", "disjoint-vma-budget"]);
        says("bzImage:/no/such", &["bzImage /no/such: no such file", "expected a kernel that boot loaders start"]);
        says(&format!("vmlinux:{}", d.display()), &["not a regular file (a folder)", "ELF"]);
        says("tree:/no/such", &["/no/such: no such directory", "Kbuild"]);
        says(&format!("tree:{}@HEAD", d.display()), &["is no git repository", "`@HEAD`"]);
        let near = refused("source:6.1+patch:disjoint-vma-budge", &apt, None);
        assert_eq!(near.nearest.as_deref(), Some("disjoint-vma-budget"));
        for spec in ["debian-6.12", "source:6.1+patch:disjoint-vma-budget"] {
            assert_eq!(ImageSpec::parse(spec).unwrap().check_with(&apt, Some(&cache)), Ok(()));
        }
        // Without lists every series passes.
        assert_eq!(ImageSpec::parse("debian-6.99").unwrap().check_with(&empty, None), Ok(()));
        assert_eq!(std::fs::read_dir(d.join("cache")).unwrap().count(), 0, "the cache is as it was");
    }

    #[test]
    fn a_kernel_that_is_cut_off_is_told() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("k");
        let mut kernel = vec![0u8; 5 * 512 + 4096];
        kernel[0x1f1] = 4;
        kernel[0x1f4..0x1f8].copy_from_slice(&256u32.to_le_bytes());
        kernel[0x202..0x206].copy_from_slice(b"HdrS");
        let spec = ImageSpec::BzImage(path.clone());
        let apt = debian::tests::lists(directory.path(), "");
        std::fs::write(&path, &kernel).unwrap();
        assert_eq!(spec.check_with(&apt, None), Ok(()));
        std::fs::write(&path, &kernel[..kernel.len() - 1]).unwrap();
        let e = spec.check_with(&apt, None).unwrap_err().to_string();
        assert!(e.contains("k is cut off: it has 6655 bytes, and its header says 6656"), "{e}");
        let cache = Cache::at(&directory.path().join("cache")).unwrap();
        let e = super::super::resolve(&spec, super::super::PackageVersion::Kept, &cache, &mut |_| {}).unwrap_err();
        assert!(e.contains("is cut off"), "{e}");
    }

    #[test]
    fn a_kernel_in_the_cache_needs_no_lists() {
        let directory = tempfile::tempdir().unwrap();
        let cache = Cache::at(&directory.path().join("cache")).unwrap();
        let apt = debian::tests::lists(directory.path(), "linux-source-6.1\nlinux-image-6.1.0-9-amd64");
        assert!(refused("source:6.12", &apt, Some(&cache)).what.contains("6.12"));
        let tree = cache.directory("kernels/linux-source-6.12_6.12.1-1").unwrap();
        std::fs::write(tree.join("Kbuild"), "").unwrap();
        assert_eq!(ImageSpec::parse("source:6.12").unwrap().check_with(&apt, Some(&cache)), Ok(()));
    }
}
