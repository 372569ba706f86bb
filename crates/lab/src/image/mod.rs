//! Kernel images: named on the command line, then found, fetched or built, and identified by checksum.
//!
//! The names are `debian-6.12` (the distribution's package, through its own package tool), `deb:FILE`, `bzImage:FILE`,
//! `vmlinux:FILE`, `tree:DIR` (a source tree to build), `tree:DIR@REVISION` (a commit of it), and `source:6.12` with
//! any number of `+patch:FILE` (a file or the name of a patch in [`patches`]), and `series:DIR` (a folder of patches).

pub mod build;
pub mod build_tools;
mod check;
pub mod deb;
pub mod debian;
mod file;
mod kernel;
mod limits;
mod lock;
mod lock_names;
pub mod patches;
mod series;
mod series_file;
pub mod source;
mod spec;
pub(crate) mod store;
mod unpack;

pub use kernel::{Built, Image, Revision};
pub use spec::{ImageSpec, PackageVersion};

use crate::cache::Cache;
use build::Source;

/// Finds, fetches or builds an image; `say` gets a line for every step that takes time. `which` applies to packaged
/// kernels and sources ([`ImageSpec::is_packaged`]); other images are read in their present state.
///
/// # Errors
/// What is missing and the command that supplies it, or the errors of the build.
pub fn resolve(
    spec: &ImageSpec,
    which: PackageVersion,
    cache: &Cache,
    say: &mut dyn FnMut(&str),
) -> Result<Image, String> {
    // Two builds in one tree would corrupt each other. Other images have locks of their own.
    let _lock = lock_names::of(spec).map(|name| lock::take(&name, &spec.to_string(), cache, say)).transpose()?;
    // An interrupted build may have left gigabytes. An error is no reason to refuse the image.
    let _ = cache.sweep();
    cache.remove_former_leftovers();
    let image = match spec {
        // A kernel from a package needs no copy: its path has the package's version or checksum.
        ImageSpec::Debian(series) => return debian::image(series, which, cache, say),
        ImageSpec::Deb(path) => return debian::image_of_package(path, cache, say),
        ImageSpec::BzImage(path) => file::image(path, "bzImage", file::is_bzimage(path)),
        ImageSpec::Vmlinux(path) => file::image(path, "vmlinux", file::is_elf(path)),
        // A tree is always built again, so the tools are needed in any case.
        ImageSpec::Tree(path) => {
            build_tools::check()?;
            build::image(&source::mirror(path, cache, say)?, Source::Mirror, cache, say)
        }
        ImageSpec::Commit { tree, revision } => {
            build::image(&source::commit(tree, revision, cache, say)?, Source::Fixed, cache, say)
        }
        ImageSpec::Series(folder) => build::image(&series::tree(folder, which, cache, say)?, Source::Fixed, cache, say),
        ImageSpec::Source { series, patches } => {
            build::image(&source::patched(series, patches, which, cache, say)?, Source::Fixed, cache, say)
        }
    };
    store::keep(image?, cache)
}

/// The image with which a changed kernel is compared: of a series the packaged source of its base, of a tree its last
/// commit, or else the packaged source of its series.
///
/// # Errors
/// Not a kernel tree, or no series.
pub fn base_of(changed: &ImageSpec) -> Result<ImageSpec, String> {
    let packaged = |series| Ok(ImageSpec::Source { series, patches: Vec::new() });
    match changed {
        ImageSpec::Series(folder) => packaged(series_file::listed(folder).map_err(|e| e.to_string())?.base.value),
        ImageSpec::Tree(tree) if source::is_repository(tree) => {
            Ok(ImageSpec::Commit { tree: tree.clone(), revision: "HEAD".into() })
        }
        ImageSpec::Tree(tree) => packaged(source::series_of(tree)?),
        other => Err(format!("{other} has no base; expected a source tree or a series")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache;

    #[test]
    fn files_of_another_kind_are_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("k");
        std::fs::write(&path, [0u8; 1024]).unwrap();
        let cache = Cache::at(directory.path()).unwrap();
        let of = |s: ImageSpec| resolve(&s, PackageVersion::Kept, &cache, &mut |_| {});
        assert!(of(ImageSpec::BzImage(path.clone())).unwrap_err().contains("is no bzImage"));
        let mut boot = vec![0u8; 1024];
        boot[0x202..0x206].copy_from_slice(b"HdrS");
        std::fs::write(&path, &boot).unwrap();
        let image = of(ImageSpec::BzImage(path.clone())).unwrap();
        assert_eq!(image.sha256, cache::sha256(&boot));
        assert!(image.origin.ends_with(&path.canonicalize().unwrap().display().to_string()), "{}", image.origin);
        std::fs::write(&path, b"another").unwrap();
        assert_eq!(cache::sha256_file(&image.path).unwrap(), image.sha256, "guests would boot another kernel");
    }
}
