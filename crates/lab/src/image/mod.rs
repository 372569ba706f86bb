//! Kernel images: named on the command line, then found, fetched or built, and identified by checksum.
//!
//! The names are `debian-6.12` (the distribution's package, through its own package tool), `deb:FILE`, `bzImage:FILE`,
//! `vmlinux:FILE`, `tree:DIR` (a source tree to build), `tree:DIR@REVISION` (a commit of it), and `source:6.12` with any
//! number of `+patch:FILE` (a file or the name of a patch in [`patches`]).

pub mod build;
mod check;
pub mod deb;
pub mod debian;
pub mod patches;
pub mod source;
pub(crate) mod store;

use crate::cache::{self, Cache};
use crate::doctor;
use crate::failure::at_path;
use build::Source;
use numalab_model::kernel::{IMAGE_FORMS, IMAGE_KINDS};
use numalab_model::spec::SpecError;
use source::Revision;
use std::path::{Path, PathBuf};

/// Place of an error in an image's name, for messages.
const COMMAND_LINE: &str = "command line";

/// Name of an image on the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ImageSpec {
    /// The packaged kernel of a release series, e.g. `6.12`, in the version that [`PackageVersion`] says.
    Debian(String),
    /// A package file.
    Deb(PathBuf),
    /// A compressed kernel.
    BzImage(PathBuf),
    /// An uncompressed kernel with a PVH entry.
    Vmlinux(PathBuf),
    /// A source tree of the user, as it is now.
    Tree(PathBuf),
    /// A commit of a source tree that is a git repository.
    Commit {
        /// Tree.
        tree: PathBuf,
        /// Any name that git accepts for a commit.
        revision: String,
    },
    /// The packaged source of a release series with patches, in order.
    Source {
        /// Series, e.g. `6.12`.
        series: String,
        /// Patches for `patch -p1`: files, or names of shipped ones.
        patches: Vec<PathBuf>,
    },
}

/// A kernel ready to boot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// File for QEMU's `-kernel`; later builds do not change it.
    pub path: PathBuf,
    /// SHA-256 of the file.
    pub sha256: String,
    /// Package, file or source of the kernel, for records.
    pub origin: String,
    /// Whether the kernel patches its own code while it runs (`CONFIG_JUMP_LABEL`), as packaged kernels do.
    pub patches_itself: bool,
    /// Source and configuration, if numalab built the kernel.
    pub built: Option<Built>,
}

/// Source and configuration of a kernel that was built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Built {
    /// Commit of the source, if it is a git repository.
    pub revision: Option<Revision>,
    /// SHA-256 of the configuration (`.config`).
    pub config_sha256: String,
}

/// Version of a packaged kernel or source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PackageVersion {
    /// The version in the cache, so that runs stay comparable; the newest if there is none.
    Kept,
    /// The newest version in the package lists, which then becomes the one that is kept.
    Newest,
}

impl std::fmt::Display for ImageSpec {
    /// The form that [`ImageSpec::parse`] reads.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Debian(series) => write!(f, "debian-{series}"),
            Self::Deb(path) => write!(f, "deb:{}", path.display()),
            Self::BzImage(path) => write!(f, "bzImage:{}", path.display()),
            Self::Vmlinux(path) => write!(f, "vmlinux:{}", path.display()),
            Self::Tree(path) => write!(f, "tree:{}", path.display()),
            Self::Commit { tree, revision } => write!(f, "tree:{}@{revision}", tree.display()),
            Self::Source { series, patches } => {
                write!(f, "source:{series}")?;
                patches.iter().try_for_each(|p| write!(f, "+patch:{}", p.display()))
            }
        }
    }
}

impl ImageSpec {
    /// Whether a text has the form of an image's name, valid or not.
    pub fn looks_like_image(text: &str) -> bool {
        text.starts_with(IMAGE_KINDS[0]) || text.contains(':')
    }

    /// The release series in the image's name, e.g. `6.12`, if it has one.
    pub fn series(&self) -> Option<String> {
        match self {
            Self::Debian(series) | Self::Source { series, .. } => Some(series.clone()),
            _ => None,
        }
    }

    /// Whether the package tool supplies the image, so that [`PackageVersion`] matters.
    pub fn is_packaged(&self) -> bool {
        matches!(self, Self::Debian(_) | Self::Source { .. })
    }

    /// Parses a value of `--kernel`.
    ///
    /// # Errors
    /// What is wrong, what was expected, and the nearest kind of image.
    pub fn parse(text: &str) -> Result<Self, SpecError> {
        let wrong = |what: String| SpecError::plain(COMMAND_LINE, what, IMAGE_FORMS);
        let series = |s: &str| {
            let number = |p: &str| !p.is_empty() && p.chars().all(|c| c.is_ascii_digit());
            let parts: Vec<&str> = s.split('.').collect();
            (parts.len() == 2 && parts.iter().all(|p| number(p))).then(|| s.to_string())
        };
        if let Some(rest) = text.strip_prefix("debian-") {
            return series(rest).map(Self::Debian).ok_or_else(|| wrong(format!("kernel series `{rest}`")));
        }
        let (kind, rest) =
            text.split_once(':').ok_or_else(|| wrong(format!("kernel image `{text}`")).near(text, IMAGE_KINDS))?;
        if rest.is_empty() {
            return Err(wrong(format!("kernel image `{text}` names no file")));
        }
        match kind {
            "deb" => Ok(Self::Deb(rest.into())),
            "bzImage" => Ok(Self::BzImage(rest.into())),
            "vmlinux" => Ok(Self::Vmlinux(rest.into())),
            "tree" => Ok(match rest.rsplit_once('@') {
                Some((tree, revision)) if !tree.is_empty() && !revision.is_empty() && !revision.contains('/') => {
                    Self::Commit { tree: tree.into(), revision: revision.into() }
                }
                _ => Self::Tree(rest.into()),
            }),
            "source" => {
                let mut parts = rest.split("+patch:");
                let first = parts.next().unwrap_or("");
                let series = series(first).ok_or_else(|| wrong(format!("kernel series `{first}`")))?;
                Ok(Self::Source { series, patches: parts.map(PathBuf::from).collect() })
            }
            _ => Err(wrong(format!("kind of kernel image `{kind}`")).near(text, IMAGE_KINDS)),
        }
    }
}

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
    // Two builds in one tree would corrupt each other.
    let mut wait = || say("waiting for another numalab that prepares a kernel in the same cache");
    let _lock = cache.lock("images", &mut wait).map_err(|e| format!("cache: {e}"))?;
    // An interrupted build may have left gigabytes. An error is no reason to refuse the image.
    let _ = cache.sweep();
    let image = match spec {
        // A kernel from a package needs no copy: its path has the package's version or checksum.
        ImageSpec::Debian(series) => return debian::image(series, which, cache, say),
        ImageSpec::Deb(path) => return debian::image_of_package(path, cache, say),
        ImageSpec::BzImage(path) => existing(path, "bzImage", is_bzimage(path)),
        ImageSpec::Vmlinux(path) => existing(path, "vmlinux", is_elf(path)),
        // A tree is always built again, so the tools are needed in any case.
        ImageSpec::Tree(path) => {
            doctor::build_tools()?;
            build::image(&source::mirror(path, cache, say)?, Source::Mirror, cache, say)
        }
        ImageSpec::Commit { tree, revision } => {
            build::image(&source::commit(tree, revision, cache, say)?, Source::Fixed, cache, say)
        }
        ImageSpec::Source { series, patches } => {
            build::image(&source::patched(series, patches, which, cache, say)?, Source::Fixed, cache, say)
        }
    };
    store::keep(image?, cache)
}

/// The image with which a changed tree is compared: its last commit, or else the packaged source of its series.
///
/// # Errors
/// Not a kernel tree.
pub fn base_of(tree: &Path) -> Result<ImageSpec, String> {
    if source::is_repository(tree) {
        return Ok(ImageSpec::Commit { tree: tree.into(), revision: "HEAD".into() });
    }
    Ok(ImageSpec::Source { series: source::series_of(tree)?, patches: Vec::new() })
}

fn existing(path: &Path, kind: &str, right: bool) -> Result<Image, String> {
    let sha256 = cache::sha256_file(path).map_err(at_path(path))?;
    if !right {
        let expected =
            "bzImage: a kernel that boot loaders start (/boot/vmlinuz-…), vmlinux: an ELF file with a PVH entry";
        return Err(format!("{} is no {kind}; expected for {expected}", path.display()));
    }
    let path = path.canonicalize().map_err(at_path(path))?;
    let origin = format!("{kind} {}", path.display());
    // Its configuration is unknown; most distributions' kernels patch themselves.
    Ok(Image { origin, path, sha256, patches_itself: true, built: None })
}

fn starts_with(path: &Path, offset: usize, magic: &[u8]) -> bool {
    use std::io::Read;
    let mut head = vec![0; offset + magic.len()];
    let read = std::fs::File::open(path).and_then(|mut f| f.read_exact(&mut head));
    read.is_ok() && &head[offset..] == magic
}

fn is_bzimage(path: &Path) -> bool {
    // Magic number of the Linux/x86 boot protocol, at its offset.
    starts_with(path, 0x202, b"HdrS")
}

fn is_elf(path: &Path) -> bool {
    starts_with(path, 0, b"\x7fELF")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_parsed() {
        let ok = |t: &str| {
            let spec = ImageSpec::parse(t).unwrap();
            assert_eq!(spec.to_string(), t);
            spec
        };
        assert_eq!(ok("debian-6.12"), ImageSpec::Debian("6.12".into()));
        assert_eq!(ok("deb:/a/b.deb"), ImageSpec::Deb("/a/b.deb".into()));
        assert_eq!(ok("tree:/src"), ImageSpec::Tree("/src".into()));
        let commit = ImageSpec::Commit { tree: "/src".into(), revision: "HEAD~2".into() };
        assert_eq!(ok("tree:/src@HEAD~2"), commit);
        assert_eq!(ok("tree:/home/a@b/src"), ImageSpec::Tree("/home/a@b/src".into()));
        assert_eq!(ok("source:6.12"), ImageSpec::Source { series: "6.12".into(), patches: vec![] });
        let patches = vec![PathBuf::from("a.patch"), PathBuf::from("b.patch")];
        assert_eq!(ok("source:6.12+patch:a.patch+patch:b.patch"), ImageSpec::Source { series: "6.12".into(), patches });
    }

    #[test]
    fn wrong_names_say_what_was_expected() {
        let e = ImageSpec::parse("vmlinuz:/x").unwrap_err();
        assert_eq!(e.nearest.as_deref(), Some("vmlinux:"));
        assert!(e.to_string().contains("debian-6.12"), "{e}");
        let e = ImageSpec::parse("debian-sid").unwrap_err();
        assert!(e.what.contains("series `sid`") && e.nearest.is_none(), "the kind is right: {e}");
        assert!(ImageSpec::parse("tree:").unwrap_err().what.contains("no file"));
        assert!(ImageSpec::parse("6.12").is_err());
        assert!(
            ImageSpec::looks_like_image("debian-x")
                && ImageSpec::looks_like_image("tree:/a")
                && !ImageSpec::looks_like_image("6.12")
        );
    }

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
