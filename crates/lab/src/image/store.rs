//! Copies of images for booting, named by their checksum.
//!
//! A user's file and the `vmlinux` of a build may be written again during an experiment. Guests boot a copy, so that
//! each has the kernel whose checksum is in its record.

use super::kernel::Image;
use super::limits::IMAGE_BYTES_MAX;
use crate::cache::{self, Cache, UNFINISHED};
use crate::failure::at_path;
use numalab_model::files::input;
use std::fs::File;
use std::io;
use std::path::Path;
use std::time::{Duration, SystemTime};

/// Subdirectory of the copies in the cache.
const COPIES: &str = "images/by-sha256";
/// A copy that no guest has booted for this time is removed.
const KEPT: Duration = Duration::from_secs(30 * 24 * 3600);

/// Copies an image's file, unless a copy exists, and returns the image with the copy's path. The caller holds the lock
/// of the image, so nobody writes its file.
///
/// # Errors
/// The file cannot be read, or the copy not be written.
pub(super) fn keep(image: Image, cache: &Cache) -> Result<Image, String> {
    let directory = cache.directory(COPIES).map_err(|e| format!("cache: {e}"))?;
    // Others must not remove a copy between the look at it here and the mark that it is used.
    let _lock = cache.lock("copies", &mut || {}).map_err(|e| format!("cache: {e}"))?;
    remove_unused(&directory);
    let known = directory.join(&image.sha256);
    if cache::sha256_file(&known).is_ok_and(|s| s == image.sha256) {
        mark_used(&known);
        return Ok(Image { path: known, ..image });
    }
    // Not a hard link, because the last step of a kernel build writes into the file. The checksum is the copy's own,
    // because the file may have changed since its checksum was computed.
    let work = cache.work_directory(UNFINISHED).map_err(|e| format!("cache: {e}"))?;
    let (sha256, path) = copy(&image.path, work.path(), &directory).map_err(at_path(&image.path))?;
    Ok(Image { path, sha256, ..image })
}

/// Copies a file by way of the folder `work` under its checksum as the name; returns the checksum and the path.
fn copy(file: &Path, work: &Path, directory: &Path) -> io::Result<(String, std::path::PathBuf)> {
    let unfinished = work.join("image");
    io::copy(&mut input::open(file, IMAGE_BYTES_MAX)?, &mut File::create_new(&unfinished)?)?;
    let sha256 = cache::sha256_file(&unfinished)?;
    let path = directory.join(&sha256);
    std::fs::rename(&unfinished, &path)?;
    Ok((sha256, path))
}

/// Records that a guest boots an image, so that its copy is kept.
pub(crate) fn mark_used(path: &Path) {
    // After an error the image may be copied again.
    let _ = File::open(path).and_then(|f| f.set_modified(SystemTime::now()));
}

/// Removes copies that were not used for [`KEPT`].
fn remove_unused(directory: &Path) {
    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        let modified = entry.metadata().and_then(|m| m.modified());
        // If the clock was set back, a copy may be newer than now; it is kept.
        let age = modified.ok().and_then(|m| SystemTime::now().duration_since(m).ok());
        if age.is_some_and(|a| a > KEPT) {
            // After an error the next call tries again.
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image(path: &Path) -> Image {
        let sha256 = cache::sha256_file(path).unwrap();
        Image { path: path.into(), sha256, origin: "x".into(), patches_itself: true, built: None }
    }

    #[test]
    fn an_image_keeps_its_content_when_its_file_is_written_again() {
        let directory = tempfile::tempdir().unwrap();
        let cache = Cache::at(&directory.path().join("cache")).unwrap();
        let file = directory.path().join("vmlinux");
        std::fs::write(&file, "first").unwrap();
        let first = keep(image(&file), &cache).unwrap();
        let stale = image(&file);
        // In place, like the last link step of a kernel.
        std::fs::write(&file, "second").unwrap();
        let text = |i: &Image| std::fs::read_to_string(&i.path).unwrap();
        assert_eq!((text(&first).as_str(), first.sha256.clone()), ("first", cache::sha256(b"first")));
        let second = keep(image(&file), &cache).unwrap();
        assert_eq!((text(&second).as_str(), second.sha256.clone()), ("second", cache::sha256(b"second")));
        assert_eq!(keep(stale.clone(), &cache).unwrap(), first, "the copy is there already");
        // A damaged copy is replaced, and a checksum from before a change is corrected.
        std::fs::write(&second.path, "damaged").unwrap();
        assert_eq!(text(&keep(image(&file), &cache).unwrap()), "second");
        std::fs::remove_file(&first.path).unwrap();
        assert_eq!(keep(stale, &cache).unwrap(), second);
    }

    #[test]
    fn unused_copies_are_removed() {
        let directory = tempfile::tempdir().unwrap();
        let cache = Cache::at(&directory.path().join("cache")).unwrap();
        let file = directory.path().join("vmlinux");
        let kept = |text: &str| {
            std::fs::write(&file, text).unwrap();
            keep(image(&file), &cache).unwrap().path
        };
        let (unused, booted, asked) = (kept("a"), kept("b"), kept("c"));
        for path in [&unused, &booted, &asked] {
            let long_ago = SystemTime::now() - KEPT - Duration::from_secs(60);
            File::open(path).unwrap().set_modified(long_ago).unwrap();
        }
        mark_used(&booted);
        assert_eq!(kept("c"), asked);
        kept("c");
        assert!(!unused.exists() && booted.exists() && asked.exists());
    }
}
