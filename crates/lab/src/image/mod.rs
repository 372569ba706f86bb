//! Kernel images: named on the command line, found, fetched or built, and identified by checksum.
//!
//! `debian-6.12` (the distribution's package, through its own package tool), `deb:FILE`, `bzImage:FILE`,
//! `vmlinux:FILE`, `tree:DIR` (a source tree, built; `tree:DIR@REVISION` a commit of it), `source:6.12` with any
//! number of `+patch:FILE` (or the name of a patch of [`shipped`]).

pub mod build;
mod check;
pub mod deb;
pub mod debian;
pub mod shipped;
pub mod source;
pub(crate) mod store;

use crate::cache::{self, Cache};
use crate::doctor;
use build::Source;
use numalab_model::kernel::{IMAGE_FORMS, IMAGE_KINDS};
use numalab_model::spec::SpecError;
use source::Revision;
use std::path::{Path, PathBuf};

/// Where an image stands that no file names.
const COMMAND_LINE: &str = "command line";

/// What was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ImageSpec {
    /// The packaged kernel of a release series, e.g. `6.12`: the one that is kept, or at first the newest.
    Debian(String),
    /// A package file.
    Deb(PathBuf),
    /// A compressed kernel.
    BzImage(PathBuf),
    /// An uncompressed kernel with a PVH entry.
    Vmlinux(PathBuf),
    /// A source tree of the user's, as it is now.
    Tree(PathBuf),
    /// A commit of a source tree that is a git repository.
    Commit {
        /// Tree.
        tree: PathBuf,
        /// Anything git takes for a commit.
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
    /// File for QEMU's `-kernel`; it stays as it is, whatever is built meanwhile.
    pub path: PathBuf,
    /// SHA-256 of the file.
    pub sha256: String,
    /// Where it came from, for records.
    pub origin: String,
    /// Whether the kernel patches its own code while it runs (`CONFIG_JUMP_LABEL`): packaged kernels do.
    pub patches_itself: bool,
    /// What it was built from, if it was built here.
    pub built: Option<Built>,
}

/// What a kernel was built from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Built {
    /// Commit of the source, where a git repository says so.
    pub revision: Option<Revision>,
    /// SHA-256 of the configuration (`.config`).
    pub config_sha256: String,
}

/// Which version of a packaged kernel or source is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// The one fetched before, so that runs stay comparable; the newest if there is none.
    Kept,
    /// The newest that the package lists have; it is kept from then on.
    Newest,
}

impl std::fmt::Display for ImageSpec {
    /// As [`ImageSpec::parse`] reads it.
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
    /// Whether a text is meant as an image, rightly written or not.
    pub fn is_one(text: &str) -> bool {
        text.starts_with(IMAGE_KINDS[0]) || text.contains(':')
    }

    /// The release series an image says it is of, e.g. `6.12`.
    pub fn series(&self) -> Option<String> {
        match self {
            Self::Debian(series) | Self::Source { series, .. } => Some(series.clone()),
            _ => None,
        }
    }

    /// Whether the package tool supplies it, in one version or another.
    pub fn is_packaged(&self) -> bool {
        matches!(self, Self::Debian(_) | Self::Source { .. })
    }

    /// Parses a `--kernel` value.
    ///
    /// # Errors
    /// What is wrong, what was expected, and the nearest kind.
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

/// Finds, fetches or builds an image; `say` is told what takes time. `which` is for packaged kernels and sources
/// ([`ImageSpec::is_packaged`]); everything else is read as it is now.
///
/// # Errors
/// What is missing and the command that supplies it, or the build's errors.
pub fn resolve(spec: &ImageSpec, which: Which, cache: &Cache, say: &mut dyn FnMut(&str)) -> Result<Image, String> {
    // Two builds in one tree would spoil each other.
    let mut wait = || say("waiting for another numalab that prepares a kernel in the same cache");
    let _lock = cache.lock("images", &mut wait).map_err(|e| format!("cache: {e}"))?;
    // What an interrupted build left may be gigabytes.
    let _ = cache.sweep();
    let image = match spec {
        // What is unpacked from a package stands under the package's checksum.
        ImageSpec::Debian(series) => return debian::image(series, which, cache, say),
        ImageSpec::Deb(path) => return debian::image_of_package(path, cache, say),
        ImageSpec::BzImage(path) => existing(path, "bzImage", is_bzimage(path)),
        ImageSpec::Vmlinux(path) => existing(path, "vmlinux", is_elf(path)),
        // A tree is always made again.
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

/// What a changed tree is to be compared with: its own last commit, or else the packaged source of its series.
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
    let sha256 = cache::sha256_file(path).map_err(|e| format!("{}: {e}", path.display()))?;
    if !right {
        let expected =
            "bzImage: a kernel that boot loaders start (/boot/vmlinuz-…), vmlinux: an ELF file with a PVH entry";
        return Err(format!("{} is no {kind}; expected for {expected}", path.display()));
    }
    let path = path.canonicalize().map_err(|e| format!("{}: {e}", path.display()))?;
    let origin = format!("{kind} {}", path.display());
    // Nothing is known of its configuration, and distributions' kernels do.
    Ok(Image { origin, path, sha256, patches_itself: true, built: None })
}

fn starts_with(path: &Path, offset: usize, magic: &[u8]) -> bool {
    use std::io::Read;
    let mut head = vec![0; offset + magic.len()];
    let read = std::fs::File::open(path).and_then(|mut f| f.read_exact(&mut head));
    read.is_ok() && &head[offset..] == magic
}

fn is_bzimage(path: &Path) -> bool {
    // Magic number of the Linux/x86 boot protocol.
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
        assert!(ImageSpec::is_one("debian-x") && ImageSpec::is_one("tree:/a") && !ImageSpec::is_one("6.12"));
    }

    #[test]
    fn files_of_another_kind_are_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("k");
        std::fs::write(&path, [0u8; 1024]).unwrap();
        let cache = Cache::at(directory.path()).unwrap();
        let of = |s: ImageSpec| resolve(&s, Which::Kept, &cache, &mut |_| {});
        assert!(of(ImageSpec::BzImage(path.clone())).unwrap_err().contains("is no bzImage"));
        let mut boot = vec![0u8; 1024];
        boot[0x202..0x206].copy_from_slice(b"HdrS");
        std::fs::write(&path, &boot).unwrap();
        let image = of(ImageSpec::BzImage(path.clone())).unwrap();
        assert_eq!(image.sha256, cache::sha256(&boot));
        assert!(image.origin.ends_with(&path.canonicalize().unwrap().display().to_string()), "{}", image.origin);
        std::fs::write(&path, b"another").unwrap();
        assert_eq!(cache::sha256_file(&image.path).unwrap(), image.sha256, "guests would boot another");
    }
}
