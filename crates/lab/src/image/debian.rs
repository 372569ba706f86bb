//! Packaged kernels: fetched with the system's own package tool and unpacked without installing anything.
//!
//! The cache keeps one kernel per series, so that runs stay comparable; [`PackageVersion::Newest`] replaces it. Every
//! version is unpacked in its own directory below the series' directory, and the file `current` names the version in
//! use. Without that file, a kernel in the series' directory itself is used, which is the layout of older caches.

use super::deb::{self, Wanted};
use super::kernel::Image;
use super::limits::{PACKAGED_IMAGE_BYTES_MAX, PACKAGE_BYTES_MAX, TEXT_BYTES_MAX};
use super::spec::PackageVersion;
use crate::cache::{self, Cache, UNFINISHED};
use crate::child;
use crate::failure::at_path;
use numalab_model::files::input;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Metadata beside an unpacked kernel.
#[derive(Debug, Serialize, Deserialize)]
struct Meta {
    package: String,
    package_sha256: String,
    sha256: String,
}

/// File in a series' directory that names the version in use.
const CURRENT: &str = "current";

/// The packaged kernel of a series: the one in the cache, or the newest in the package lists.
///
/// # Errors
/// No such package, no package tool, or a damaged download.
pub fn image(series: &str, which: PackageVersion, cache: &Cache, say: &mut dyn FnMut(&str)) -> Result<Image, String> {
    image_with(&Apt::default(), series, which, cache, say)
}

fn image_with(
    apt: &Apt,
    series: &str,
    which: PackageVersion,
    cache: &Cache,
    say: &mut dyn FnMut(&str),
) -> Result<Image, String> {
    let versions = versions(series, cache);
    let kept = cached(&current(&versions));
    if let (PackageVersion::Kept, Some(image)) = (which, &kept) {
        say(&format!(
            "debian-{series} is {} (kept; `numalab kernel build debian-{series} --refresh` looks for a newer one)",
            image.origin
        ));
        return Ok(image.clone());
    }
    let package = newest(&apt.candidates(&pattern(series))?);
    let package = package.ok_or_else(|| {
        format!(
            "no packaged kernel of the {series} series is known; try `apt-get update`, or give a package file: \
             --kernel deb:FILE"
        )
    })?;
    let file = apt.download(&package, which, cache, say)?;
    let name = file_name(&file);
    if let Some(image) = kept.filter(|k| k.origin == name) {
        say(&format!("{name} is the newest that the package lists have (`apt-get update` brings new lists)"));
        return Ok(image);
    }
    let version = name.trim_end_matches(".deb");
    let directory = versions.join(version);
    std::fs::create_dir_all(&directory).map_err(at_path(&directory))?;
    let image = cached(&directory).map_or_else(|| unpack(&file, &directory, cache, say), Ok)?;
    let mark = versions.join(CURRENT);
    cache.write_whole(&mark, version.as_bytes()).map_err(at_path(&mark))?;
    Ok(image)
}

/// Directory for the kernels of a series.
fn versions(series: &str, cache: &Cache) -> PathBuf {
    cache.path_of(&format!("images/debian-{series}"))
}

/// Whether the cache has a kernel of a series.
pub fn is_kept(series: &str, cache: &Cache) -> bool {
    cached(&current(&versions(series, cache))).is_some()
}

/// Pattern for the names of a series' kernel packages.
fn pattern(series: &str) -> String {
    format!("^linux-image-{}\\..*-amd64$", series.replace('.', "\\."))
}

/// Series of the plain kernels in the package lists, in rising order; none without a package tool or lists.
pub fn series_of_images(apt: &Apt) -> Vec<String> {
    let names = apt.candidates("^linux-image-[0-9].*-amd64$").unwrap_or_default();
    series_of(names.into_iter().filter(|n| newest(std::slice::from_ref(n)).is_some()))
}

/// Series of the sources in the package lists, in rising order; none without a package tool or lists.
pub fn series_of_sources(apt: &Apt) -> Vec<String> {
    series_of(apt.candidates("^linux-source-[0-9.]+$").unwrap_or_default().into_iter())
}

fn series_of(names: impl Iterator<Item = String>) -> Vec<String> {
    let mut all: Vec<Vec<u64>> = names.map(|n| numbers(&n)[..].iter().take(2).copied().collect()).collect();
    all.sort();
    all.dedup();
    all.iter().filter(|n| n.len() == 2).map(|n| format!("{}.{}", n[0], n[1])).collect()
}

/// Directory of the version in use.
fn current(versions: &Path) -> PathBuf {
    let name = input::text(&versions.join(CURRENT), TEXT_BYTES_MAX).unwrap_or_default();
    let plain = !name.is_empty() && !name.contains('/');
    if plain {
        versions.join(name)
    } else {
        versions.to_path_buf()
    }
}

/// The kernel in a package file.
///
/// # Errors
/// Not a kernel package.
pub fn image_of_package(package: &Path, cache: &Cache, say: &mut dyn FnMut(&str)) -> Result<Image, String> {
    let file = input::open(package, PACKAGE_BYTES_MAX).map_err(|e| e.message())?;
    let sha256 = cache::sha256_of(file).map_err(at_path(package))?;
    let directory = cache.directory(&format!("images/deb-{}", &sha256[..16])).map_err(|e| e.to_string())?;
    cached(&directory).map_or_else(|| unpack(package, &directory, cache, say), Ok)
}

/// The kernel in a directory, if its checksum is still right.
fn cached(directory: &Path) -> Option<Image> {
    let meta: Meta = serde_json::from_slice(&input::bytes(&directory.join("meta.json"), TEXT_BYTES_MAX).ok()?).ok()?;
    let path = directory.join("vmlinuz");
    let right = cache::sha256_file(&path).is_ok_and(|s| s == meta.sha256);
    right.then_some(Image { path, sha256: meta.sha256, origin: meta.package, patches_itself: true, built: None })
}

fn unpack(package: &Path, directory: &Path, cache: &Cache, say: &mut dyn FnMut(&str)) -> Result<Image, String> {
    say(&format!("unpacking {}", package.display()));
    let path = directory.join("vmlinuz");
    // Unfinished files lie where the next start finds and removes them.
    let work = cache.work_directory(UNFINISHED).map_err(|e| format!("cache: {e}"))?;
    let unfinished = work.path().join("vmlinuz");
    let wanted = Wanted { is: &|p| p.starts_with("boot/vmlinuz-"), most_bytes: PACKAGED_IMAGE_BYTES_MAX };
    deb::extract(package, &wanted, &unfinished).map_err(|e| e.to_string())?;
    std::fs::rename(&unfinished, &path).map_err(at_path(&path))?;
    let hash = |p: &Path| cache::sha256_file(p).map_err(at_path(p));
    let meta = Meta { package: file_name(package), package_sha256: hash(package)?, sha256: hash(&path)? };
    let bytes = serde_json::to_vec_pretty(&meta).map_err(|e| e.to_string())?;
    cache.write_whole(&directory.join("meta.json"), &bytes).map_err(|e| e.to_string())?;
    cached(directory).ok_or_else(|| format!("{} cannot be read back", path.display()))
}

/// Last component of a path, as text.
pub(super) fn file_name(path: &Path) -> String {
    path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default()
}

/// The numbers in a name, in order, for comparing versions.
pub fn numbers(name: &str) -> Vec<u64> {
    name.split(|c: char| !c.is_ascii_digit()).filter_map(|p| p.parse().ok()).collect()
}

/// The kernel package with the highest version, without cloud, real-time, debug and unsigned kernels.
pub fn newest(names: &[String]) -> Option<String> {
    let plain = |n: &&String| !["cloud", "rt-", "dbg", "unsigned"].iter().any(|w| n.contains(w));
    // A version has three numbers or more: `linux-image-6.12-amd64` only refers to another package.
    let names = names.iter().filter(plain).filter(|n| numbers(n).len() > 3);
    names.max_by_key(|n| numbers(n)).cloned()
}

/// The package tool.
#[derive(Clone, Debug)]
pub struct Apt {
    /// Program that reads the package lists.
    lists: PathBuf,
    /// Program that downloads.
    fetch: PathBuf,
}

impl Default for Apt {
    fn default() -> Self {
        Self { lists: "apt-cache".into(), fetch: "apt-get".into() }
    }
}

/// A version of a package in the package lists.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Listed {
    version: String,
    sha256: String,
}

impl Apt {
    /// Names of packages that match a pattern.
    ///
    /// # Errors
    /// There is no package tool.
    pub fn candidates(&self, pattern: &str) -> Result<Vec<String>, String> {
        let text = self.ask(&["search", "--names-only", pattern])?;
        let first = |l: &str| l.split_whitespace().next().map(str::to_string);
        Ok(text.lines().filter_map(first).collect())
    }

    /// The versions of a package in the package lists, the newest first.
    fn listed(&self, package: &str) -> Result<Vec<Listed>, String> {
        Ok(parse_listed(&self.ask(&["show", package])?))
    }

    fn ask(&self, arguments: &[&str]) -> Result<String, String> {
        let output = child::ends_with_parent(Command::new(&self.lists).args(arguments), libc::SIGTERM).output();
        let output =
            output.map_err(|e| format!("{}: {e}; without it, give a file: --kernel deb:FILE", self.lists.display()))?;
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Downloads a package, unless the cache has it, and compares its checksum with the package lists.
    /// [`PackageVersion::Newest`] takes only the newest version in the lists, [`PackageVersion::Kept`] any in the
    /// cache.
    ///
    /// # Errors
    /// The package tool failed, or the checksum is wrong.
    pub fn download(
        &self,
        package: &str,
        which: PackageVersion,
        cache: &Cache,
        say: &mut dyn FnMut(&str),
    ) -> Result<PathBuf, String> {
        let directory = cache.directory("packages").map_err(|e| e.to_string())?;
        let listed = self.listed(package)?;
        let version = listed.first().map(|l| l.version.clone()).filter(|_| which == PackageVersion::Newest);
        let (prefix, wanted) = match version {
            Some(v) => (format!("{package}_{}_", v.replace(':', "%3a")), format!("{package}={v}")),
            None => (format!("{package}_"), package.to_string()),
        };
        let find = || {
            let entries = std::fs::read_dir(&directory).into_iter().flatten().flatten();
            let mine = |p: &PathBuf| file_name(p).starts_with(&prefix) && file_name(p).ends_with(".deb");
            entries.map(|e| e.path()).filter(mine).max_by_key(|p| numbers(&file_name(p)))
        };
        let file = match find() {
            Some(file) => file,
            None => {
                say(&format!("downloading {wanted}"));
                let mut command = Command::new(&self.fetch);
                command.args(["download", &wanted]).current_dir(&directory);
                let output = child::ends_with_parent(&mut command, libc::SIGTERM).output();
                let output = output.map_err(at_path(&self.fetch))?;
                if !output.status.success() {
                    let text = String::from_utf8_lossy(&output.stderr).into_owned();
                    return Err(format!("apt-get download {wanted}: {}", text.trim()));
                }
                find().ok_or_else(|| format!("apt-get downloaded no {wanted}"))?
            }
        };
        check(&listed, &file)?;
        Ok(file)
    }
}

fn parse_listed(show: &str) -> Vec<Listed> {
    let field = |record: &str, key: &str| record.lines().find_map(|l| l.strip_prefix(key)).map(str::to_string);
    let records = show.split("\n\n");
    records.filter_map(|r| Some(Listed { version: field(r, "Version: ")?, sha256: field(r, "SHA256: ")? })).collect()
}

/// Compares the checksum of a package (`name_version_arch.deb`) with the lists.
fn check(listed: &[Listed], file: &Path) -> Result<(), String> {
    let version = file_name(file).split('_').nth(1).unwrap_or("").replace("%3a", ":");
    let mut known = listed.iter().filter(|l| l.version == version).peekable();
    // A version that is no longer listed cannot be compared; the package tool checked it when it was downloaded.
    if known.peek().is_none() {
        return Ok(());
    }
    let actual = cache::sha256_file(file).map_err(at_path(file))?;
    if known.any(|l| l.sha256 == actual) {
        return Ok(());
    }
    // If it stayed, the next call would find the damaged file again.
    let _ = std::fs::remove_file(file);
    Err(format!("{}: wrong checksum; it was removed, try again", file.display()))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A package tool that only lists these names.
    pub fn lists(directory: &Path, names: &str) -> Apt {
        std::fs::create_dir_all(directory).unwrap();
        std::fs::write(directory.join("names"), names).unwrap();
        let lists = directory.join("lists");
        let text = format!("[ \"$1\" = search ] && grep -E -e \"$3\" {}/names", directory.display());
        child::tests::script(&lists, &text);
        Apt { lists, fetch: "/no/such/apt-get".into() }
    }

    #[test]
    fn the_newest_plain_kernel_is_chosen() {
        let names = [
            "linux-image-6.12-amd64",
            "linux-image-6.12.9+deb12-amd64",
            "linux-image-6.12.101+deb12-amd64",
            "linux-image-6.12.107+deb12-cloud-amd64",
            "linux-image-6.12.117+deb12-amd64-unsigned",
            "linux-image-6.12.117+deb12-amd64-dbg",
            "linux-image-6.12.107+deb12-rt-amd64",
        ];
        let names: Vec<String> = names.iter().map(ToString::to_string).collect();
        assert_eq!(newest(&names).as_deref(), Some("linux-image-6.12.101+deb12-amd64"));
        let old = ["linux-image-6.1.0-9-amd64", "linux-image-6.1.0-55-amd64"].map(String::from);
        assert_eq!(newest(&old).as_deref(), Some("linux-image-6.1.0-55-amd64"));
        assert_eq!(newest(&[]), None);
    }

    #[test]
    fn packages_are_compared_with_the_lists() {
        let directory = tempfile::tempdir().unwrap();
        let file = |name: &str| {
            let path = directory.path().join(name);
            std::fs::write(&path, "abc").unwrap();
            path
        };
        let sha256 = cache::sha256(b"abc");
        let show =
            format!("Package: x\nVersion: 2:6-1~deb12u1\nSHA256: {sha256}\n\nPackage: x\nVersion: 5-1\nSHA256: 0\n");
        let listed = parse_listed(&show);
        assert_eq!(listed.iter().map(|l| l.version.as_str()).collect::<Vec<_>>(), ["2:6-1~deb12u1", "5-1"]);
        assert_eq!(check(&listed, &file("x_2%3a6-1~deb12u1_amd64.deb")), Ok(()));
        assert_eq!(check(&listed, &file("x_4-1_amd64.deb")), Ok(()), "no longer listed");
        let wrong = file("x_5-1_amd64.deb");
        assert!(check(&listed, &wrong).unwrap_err().contains("wrong checksum"));
        assert!(!wrong.exists());
    }

    /// A package tool with one kernel of 6.12, of the version in the file `version`.
    fn apt(directory: &Path) -> Apt {
        let d = directory.display();
        let script = |name: &str, text: String| {
            let path = directory.join(name);
            child::tests::script(&path, &format!("v=$(cat {d}/version)\n{text}"));
            path
        };
        let lists = script(
            "lists",
            format!(
                "case $1 in\nsearch) echo \"linux-image-6.12.${{v%-*}}+deb12-amd64 - Linux\" ;;\n\
                 show) echo \"Version: 6.12.$v\"; echo \"SHA256: $(sha256sum <{d}/$v.deb | cut -d' ' -f1)\" ;;\nesac"
            ),
        );
        let fetch = script(
            "fetch",
            format!(
                "echo $2 >>{d}/fetched; cp {d}/$v.deb linux-image-6.12.${{v%-*}}+deb12-amd64_6.12.${{v}}_amd64.deb"
            ),
        );
        Apt { lists, fetch }
    }

    #[test]
    fn a_kernel_is_kept_until_the_newest_is_requested() {
        let directory = tempfile::tempdir().unwrap();
        let d = directory.path();
        let apt = apt(d);
        let cache = Cache::at(&d.join("cache")).unwrap();
        let publish = |version: &str| {
            std::fs::write(d.join("version"), version).unwrap();
            std::fs::write(d.join(format!("{version}.deb")), deb::tests::package("boot/vmlinuz-x", version)).unwrap();
        };
        let mut said = Vec::new();
        let mut image = |which| {
            let image = image_with(&apt, "6.12", which, &cache, &mut |s| said.push(s.to_string())).unwrap();
            assert_eq!(cache::sha256_file(&image.path).unwrap(), image.sha256);
            std::fs::read_to_string(&image.path).unwrap()
        };
        publish("9-1");
        assert_eq!(image(PackageVersion::Kept), "9-1");
        publish("101-1");
        assert_eq!(image(PackageVersion::Kept), "9-1", "runs stay comparable");
        assert_eq!(image(PackageVersion::Newest), "101-1");
        assert_eq!(image(PackageVersion::Kept), "101-1");
        assert_eq!(image(PackageVersion::Newest), "101-1");
        // The same package name in another version, as in stable releases.
        publish("101-2");
        assert_eq!(image(PackageVersion::Newest), "101-2");
        let fetched = std::fs::read_to_string(d.join("fetched")).unwrap();
        let asked: Vec<&str> = fetched.lines().collect();
        let name = "linux-image-6.12.101+deb12-amd64";
        assert_eq!(asked[0], "linux-image-6.12.9+deb12-amd64");
        assert_eq!(asked[1..], [format!("{name}=6.12.101-1"), format!("{name}=6.12.101-2")]);
        let kept = said.iter().find(|s| s.contains("kept;")).unwrap();
        assert!(kept.contains("linux-image-6.12.9+deb12-amd64_6.12.9-1") && kept.contains("--refresh"), "{kept}");
        assert!(said.iter().any(|s| s.contains("_6.12.101-1_amd64.deb is the newest")), "{said:?}");
    }

    #[test]
    fn a_kernel_in_the_layout_of_older_caches_is_used() {
        let directory = tempfile::tempdir().unwrap();
        let d = directory.path();
        let apt = apt(d);
        let cache = Cache::at(&d.join("cache")).unwrap();
        let former = d.join("former.deb");
        std::fs::write(&former, deb::tests::package("boot/vmlinuz-x", "former")).unwrap();
        unpack(&former, &cache.directory("images/debian-6.12").unwrap(), &cache, &mut |_| {}).unwrap();
        let image = |which| image_with(&apt, "6.12", which, &cache, &mut |_| {}).unwrap().origin;
        assert_eq!(image(PackageVersion::Kept), "former.deb");
        std::fs::write(d.join("version"), "9-1").unwrap();
        std::fs::write(d.join("9-1.deb"), deb::tests::package("boot/vmlinuz-x", "9-1")).unwrap();
        let newest = "linux-image-6.12.9+deb12-amd64_6.12.9-1_amd64.deb";
        assert_eq!((image(PackageVersion::Newest).as_str(), image(PackageVersion::Kept).as_str()), (newest, newest));
    }
}
