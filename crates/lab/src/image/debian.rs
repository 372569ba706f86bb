//! Packaged kernels, fetched with the system's own package tool and unpacked without installing anything.

use super::{deb, Image};
use crate::cache::{self, Cache};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::process::Command;

/// What is kept beside an unpacked kernel.
#[derive(Debug, Serialize, Deserialize)]
struct Meta {
    package: String,
    package_sha256: String,
    sha256: String,
}

/// The newest packaged kernel of a series that the cache or the package tool has.
///
/// # Errors
/// No such package, no package tool, or a damaged download.
pub fn image(series: &str, cache: &Cache, say: &mut dyn FnMut(&str)) -> Result<Image, String> {
    let directory = cache.directory(&format!("images/debian-{series}")).map_err(|e| e.to_string())?;
    if let Some(image) = cached(&directory) {
        return Ok(image);
    }
    let package = newest(&candidates(&format!("^linux-image-{}\\..*-amd64$", series.replace('.', "\\.")))?);
    let package = package.ok_or_else(|| {
        format!(
            "no packaged kernel of the {series} series is known; try `apt-get update`, or give a package file: \
             --kernel deb:FILE"
        )
    })?;
    let file = download(&package, cache, say)?;
    unpack(&file, &directory, say)
}

/// The kernel in a package file.
///
/// # Errors
/// Not a kernel package.
pub fn image_of_package(package: &Path, cache: &Cache, say: &mut dyn FnMut(&str)) -> Result<Image, String> {
    let sha256 = cache::sha256_file(package).map_err(|e| format!("{}: {e}", package.display()))?;
    let directory = cache.directory(&format!("images/deb-{}", &sha256[..16])).map_err(|e| e.to_string())?;
    cached(&directory).map_or_else(|| unpack(package, &directory, say), Ok)
}

/// A kernel unpacked before, if it is still what it was.
fn cached(directory: &Path) -> Option<Image> {
    let meta: Meta = serde_json::from_slice(&std::fs::read(directory.join("meta.json")).ok()?).ok()?;
    let path = directory.join("vmlinuz");
    let right = cache::sha256_file(&path).is_ok_and(|s| s == meta.sha256);
    right.then_some(Image { path, sha256: meta.sha256, origin: meta.package, patches_itself: true })
}

fn unpack(package: &Path, directory: &Path, say: &mut dyn FnMut(&str)) -> Result<Image, String> {
    say(&format!("unpacking {}", package.display()));
    let path = directory.join("vmlinuz");
    deb::extract(package, &|p| p.starts_with("boot/vmlinuz-"), &path)?;
    let hash = |p: &Path| cache::sha256_file(p).map_err(|e| format!("{}: {e}", p.display()));
    let name = package.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    let meta = Meta { package: name, package_sha256: hash(package)?, sha256: hash(&path)? };
    let bytes = serde_json::to_vec_pretty(&meta).map_err(|e| e.to_string())?;
    cache::write_whole(&directory.join("meta.json"), &bytes).map_err(|e| e.to_string())?;
    cached(directory).ok_or_else(|| format!("{} cannot be read back", path.display()))
}

/// Names of packages that match a pattern.
///
/// # Errors
/// The package tool is not there.
pub fn candidates(pattern: &str) -> Result<Vec<String>, String> {
    let output = Command::new("apt-cache").args(["search", "--names-only", pattern]).output();
    let output = output.map_err(|e| format!("apt-cache: {e}; without it, give a file: --kernel deb:FILE"))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let first = |l: &str| l.split_whitespace().next().map(str::to_string);
    Ok(text.lines().filter_map(first).collect())
}

/// The plain kernel package (no cloud, real-time, debug or unsigned one) with the highest version.
pub fn newest(names: &[String]) -> Option<String> {
    let plain = |n: &&String| !["cloud", "rt-", "dbg", "unsigned"].iter().any(|w| n.contains(w));
    let version = |n: &String| {
        let numbers = n.split(|c: char| !c.is_ascii_digit()).filter_map(|p| p.parse::<u64>().ok());
        numbers.collect::<Vec<_>>()
    };
    // `linux-image-6.12-amd64` only refers to another package: a version has three numbers or more.
    let names = names.iter().filter(plain).filter(|n| version(n).len() > 3);
    names.max_by_key(|n| version(n)).cloned()
}

/// Downloads a package into the cache, unless it is there, and checks its checksum against the package lists.
///
/// # Errors
/// The package tool failed, or the checksum is wrong.
pub fn download(package: &str, cache: &Cache, say: &mut dyn FnMut(&str)) -> Result<PathBuf, String> {
    let directory = cache.directory("packages").map_err(|e| e.to_string())?;
    let find = || {
        let entries = std::fs::read_dir(&directory).into_iter().flatten().flatten();
        let mine = |p: &PathBuf| {
            let name = p.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
            name.starts_with(&format!("{package}_")) && name.ends_with(".deb")
        };
        entries.map(|e| e.path()).filter(mine).max()
    };
    let file = match find() {
        Some(file) => file,
        None => {
            say(&format!("downloading {package}"));
            let output = Command::new("apt-get").args(["download", package]).current_dir(&directory).output();
            let output = output.map_err(|e| format!("apt-get: {e}"))?;
            if !output.status.success() {
                let text = String::from_utf8_lossy(&output.stderr).into_owned();
                return Err(format!("apt-get download {package}: {}", text.trim()));
            }
            find().ok_or_else(|| format!("apt-get downloaded no {package}"))?
        }
    };
    check(package, &file)?;
    Ok(file)
}

fn check(package: &str, file: &Path) -> Result<(), String> {
    let output = Command::new("apt-cache").args(["show", package]).output().map_err(|e| format!("apt-cache: {e}"))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let known: Vec<&str> = text.lines().filter_map(|l| l.strip_prefix("SHA256: ")).collect();
    let actual = cache::sha256_file(file).map_err(|e| format!("{}: {e}", file.display()))?;
    // An older version that is no longer listed cannot be checked; the tool checked it when it came.
    if known.is_empty() || known.contains(&actual.as_str()) || !listed(&text, file) {
        return Ok(());
    }
    // A damaged file would be found again and again.
    let _ = std::fs::remove_file(file);
    Err(format!("{}: wrong checksum; it was removed", file.display()))
}

/// Whether the version in a file's name (`name_version_arch.deb`) is among those of `apt-cache show`.
fn listed(show: &str, file: &Path) -> bool {
    let name = file.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    let version = name.split('_').nth(1).unwrap_or("").replace("%3a", ":");
    show.lines().filter_map(|l| l.strip_prefix("Version: ")).any(|v| v == version)
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn versions_of_files_are_compared_with_the_lists() {
        let show = "Package: x\nVersion: 6.12.117-1~deb12u1\nSHA256: abc\n";
        assert!(listed(show, Path::new("/c/x_6.12.117-1~deb12u1_amd64.deb")));
        assert!(!listed(show, Path::new("/c/x_6.12.100-1_amd64.deb")));
    }
}
