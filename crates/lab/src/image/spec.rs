//! Names of kernel images on the command line.

use numalab_model::kernel::series::Series;
use numalab_model::kernel::{IMAGE_FORMS, IMAGE_KINDS};
use numalab_model::spec::SpecError;
use std::path::PathBuf;

/// Place of an error in an image's name, for messages.
pub(super) const COMMAND_LINE: &str = "command line";

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
        /// Patches for `patch -p1`: files, or names of built-in ones.
        patches: Vec<PathBuf>,
    },
    /// A folder with a series of patches and the file `series.toml`.
    Series(PathBuf),
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
            Self::Series(folder) => write!(f, "series:{}", folder.display()),
        }
    }
}

impl ImageSpec {
    /// Whether a text has the form of an image's name, valid or not.
    pub fn looks_like_image(text: &str) -> bool {
        text.starts_with(IMAGE_KINDS[0]) || text.contains(':')
    }

    /// The release series that the image is of, e.g. `6.12`, if its name or the file of its series says so.
    pub fn series(&self) -> Option<String> {
        match self {
            Self::Debian(series) | Self::Source { series, .. } => Some(series.clone()),
            // A file that is not there, or wrong, is found by the check of the image.
            Self::Series(folder) => super::series_file::listed(folder).ok().map(|s| s.base.value),
            _ => None,
        }
    }

    /// Whether the package tool supplies the image, so that [`PackageVersion`] matters.
    pub fn is_packaged(&self) -> bool {
        matches!(self, Self::Debian(_) | Self::Source { .. } | Self::Series(_))
    }

    /// The knobs that the image's kernel has: those of a series, or of `series.toml` at the top of a tree. `None` if
    /// nothing lists them.
    ///
    /// # Errors
    /// The list is wrong; of a series, it is not there.
    pub fn knobs(&self) -> Result<Option<Series>, SpecError> {
        match self {
            Self::Series(folder) => super::series_file::knobs_of(folder, true),
            Self::Tree(tree) | Self::Commit { tree, .. } => super::series_file::knobs_of(tree, false),
            _ => Ok(None),
        }
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
            "series" => match rest.split_once(',') {
                Some((folder, _)) => {
                    let what = format!("kernel image `{text}` has settings, and knobs are set when a guest runs");
                    Err(SpecError::plain(COMMAND_LINE, what, format!("series:{folder}")))
                }
                None => Ok(Self::Series(rest.trim_end_matches('/').into())),
            },
            _ => Err(wrong(format!("kind of kernel image `{kind}`")).near(text, IMAGE_KINDS)),
        }
    }
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
        assert_eq!(ok("series:linux"), ImageSpec::Series("linux".into()));
        assert_eq!(ImageSpec::parse("series:linux/").unwrap(), ImageSpec::Series("linux".into()));
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
        let e = ImageSpec::parse("series:linux,a=b").unwrap_err();
        assert!(e.what.contains("set when a guest runs") && e.expected == "series:linux", "{e}");
        assert!(
            ImageSpec::looks_like_image("debian-x")
                && ImageSpec::looks_like_image("tree:/a")
                && !ImageSpec::looks_like_image("6.12")
        );
    }
}
