//! Names of the locks of images.
//!
//! A lock has the name of what is written: the packages of a series, the mirror of a tree, the copy of a source with
//! certain patches. A process holds at most two, first that of a patched source and then that of the source below it,
//! so no two processes wait for each other.

use super::lock::of_source;
use super::spec::ImageSpec;
use super::{series_file, source};
use crate::cache;
use std::path::Path;

/// Name of the lock of an image; `None` if preparing it writes nothing that others write.
pub(super) fn of(spec: &ImageSpec) -> Option<String> {
    Some(match spec {
        ImageSpec::BzImage(_) | ImageSpec::Vmlinux(_) => return None,
        ImageSpec::Debian(series) => format!("debian-{series}"),
        ImageSpec::Deb(path) => format!("deb-{}", of_path(path)),
        ImageSpec::Tree(path) => format!("tree-{}", of_path(path)),
        ImageSpec::Commit { tree, revision } => {
            // Without such a commit the extraction fails, whatever the lock is called.
            format!("commit-{}", source::commit_of(tree, revision).unwrap_or_else(|_| of_path(tree)))
        }
        // A series that cannot be read is refused before anything is written.
        ImageSpec::Series(folder) => format!("series-{}", &series_file::read(folder).ok()?.key()[..16]),
        ImageSpec::Source { series, patches } if patches.is_empty() => of_source(series),
        ImageSpec::Source { series, patches } => {
            let texts = patches.iter().filter_map(|p| source::patch_text(p).ok());
            format!("patched-{}", short(&[series.as_bytes().to_vec()].into_iter().chain(texts).collect::<Vec<_>>()))
        }
    })
}

/// A path, however it was written.
fn of_path(path: &Path) -> String {
    let path = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    short(&[path.to_string_lossy().into_owned().into_bytes()])
}

/// A short checksum of texts.
fn short(texts: &[Vec<u8>]) -> String {
    let mut all = Vec::new();
    for text in texts {
        all.extend_from_slice(cache::sha256(text).as_bytes());
    }
    cache::sha256(&all)[..16].to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::Cache;
    use crate::image::lock::take;
    use crate::image::{resolve, PackageVersion};

    fn spec(text: &str) -> ImageSpec {
        ImageSpec::parse(text).unwrap()
    }

    #[test]
    fn what_is_written_has_one_lock_however_it_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let d = directory.path().display();
        assert_eq!(of(&spec(&format!("tree:{d}"))), of(&spec(&format!("tree:{d}/."))));
        assert_ne!(of(&spec(&format!("tree:{d}"))), of(&spec("tree:/")));
        assert_ne!(of(&spec("source:6.12")), of(&spec("source:6.12+patch:disjoint-vma-budget")));
        assert_ne!(of(&spec("debian-6.12")), of(&spec("debian-6.1")));
        assert_eq!(of(&spec("bzImage:/k")), None);
    }

    #[test]
    fn an_image_does_not_wait_for_another_one() {
        let directory = tempfile::tempdir().unwrap();
        let cache = Cache::at(&directory.path().join("cache")).unwrap();
        let kernel = directory.path().join("k");
        std::fs::write(&kernel, b"\x7fELF and so on").unwrap();
        let _built = cache.lock(&of(&spec("source:6.12")).unwrap(), &mut || {}).unwrap();
        let mut said = Vec::new();
        let other = spec(&format!("vmlinux:{}", kernel.display()));
        resolve(&other, PackageVersion::Kept, &cache, &mut |line| said.push(line.to_string())).unwrap();
        take("debian-6.1", "debian-6.1", &cache, &mut |line| said.push(line.to_string())).unwrap();
        assert!(said.is_empty(), "{said:?}");
    }
}
