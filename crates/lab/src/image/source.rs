//! Kernel source trees: the packaged source, patched copies of it, commits, and mirrors of the user's trees.
//!
//! Every tree is built in the cache, with its objects in its own directory `build`. Compiler commands then hold
//! relative paths only, so the compiler cache serves all trees, and nothing is ever written into the user's tree.

use super::deb::{self, Wanted};
use super::debian::{self, file_name};
use super::kernel::Revision;
use super::limits::{PATCH_BYTES_MAX, SOURCE_BYTES_MAX, SOURCE_UNPACKED_BYTES_MAX, TEXT_BYTES_MAX};
use super::spec::PackageVersion;
use super::unpack::{self, check_place, Tee, UnpackError, Unpacked};
use super::{build_tools, lock, patches};
use crate::cache::{self, Cache, KERNELS};
use crate::child;
use crate::failure::at_path;
use numalab_model::files::input;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Directory of a tree for its objects.
pub const BUILD: &str = "build";

/// A source tree in the cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tree {
    /// Its directory.
    pub path: PathBuf,
    /// Package, directory or commit that it comes from, for records.
    pub origin: String,
    /// Commit and state, if it comes from a git repository.
    pub revision: Option<Revision>,
    /// Lines of the configuration beside those of every kernel that is built here, as in a `.config`.
    pub config: String,
}

impl Tree {
    /// A tree that comes from no repository, with the usual configuration.
    pub(super) fn plain(path: PathBuf, origin: String) -> Self {
        Self { path, origin, revision: None, config: String::new() }
    }
}

/// The packaged source of a series: the newest in the cache, or the newest in the package lists.
///
/// # Errors
/// No such package, or it cannot be unpacked.
pub fn packaged(series: &str, which: PackageVersion, cache: &Cache, say: &mut dyn FnMut(&str)) -> Result<Tree, String> {
    packaged_with(&debian::Apt::default(), series, which, cache, say)
}

fn packaged_with(
    apt: &debian::Apt,
    series: &str,
    which: PackageVersion,
    cache: &Cache,
    say: &mut dyn FnMut(&str),
) -> Result<Tree, String> {
    if let (PackageVersion::Kept, Some(path)) = (which, kept(series, cache)) {
        let origin = file_name(&path);
        return Ok(Tree::plain(path, origin));
    }
    let package = format!("linux-source-{series}");
    if apt.candidates(&format!("^{package}$"))?.is_empty() {
        return Err(format!("no package {package} is known; try `apt-get update`, or use --kernel tree:DIR"));
    }
    // Checked before the download, because the source is fetched to be built.
    build_tools::check()?;
    let kernels = cache.directory(KERNELS).map_err(|e| e.to_string())?;
    let file = apt.download(&package, which, cache, say)?;
    let origin = file_name(&file).rsplit_once('_').map_or_else(|| package.clone(), |(stem, _)| stem.to_string());
    let path = kernels.join(&origin);
    if path.join("Kbuild").is_file() {
        say(&format!("{origin} is the newest that the package lists have (`apt-get update` brings new lists)"));
        return Ok(Tree::plain(path, origin));
    }
    say(&format!("unpacking {origin}"));
    let work = cache.work_directory(KERNELS).map_err(at_path(&kernels))?;
    let archive = work.path().join("source.tar.xz");
    let is = |p: &str| p.starts_with("usr/src/linux-source-") && p.ends_with(".tar.xz");
    deb::extract(&file, &Wanted { is: &is, most_bytes: SOURCE_BYTES_MAX }, &archive).map_err(|e| e.to_string())?;
    let unpacked = work.path().join("tree");
    std::fs::create_dir(&unpacked).map_err(|e| e.to_string())?;
    unpack(&archive, &unpacked, SOURCE_UNPACKED_BYTES_MAX).map_err(|e| format!("{}: {e}", file.display()))?;
    std::fs::rename(&unpacked, &path).map_err(at_path(&path))?;
    Ok(Tree::plain(path, origin))
}

/// Unpacks the archive of a source without its top folder. `tar` itself writes nothing outside of a folder; what it is
/// given is checked on the way, so that it ends at the first entry that no source has.
fn unpack(archive: &Path, to: &Path, most_bytes: u64) -> Result<(), UnpackError> {
    let packed = input::open(archive, SOURCE_BYTES_MAX).map_err(std::io::Error::from)?;
    let mut from = Unpacked::start("xz", packed, most_bytes)?;
    let mut command = Command::new("tar");
    command.arg("-x").arg("-C").arg(to).arg("--strip-components=1").stdin(Stdio::piped());
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    let mut tar = child::ends_with_parent(&mut command, libc::SIGTERM).spawn()?;
    let stdin = tar.stdin.take().ok_or_else(|| std::io::Error::other("no input of `tar`"))?;
    let mut both = Tee { from: &mut from, to: stdin };
    let walked = unpack::walk(&mut both, &mut |entry, _| check_place(entry).map(|()| false));
    // `tar` reads on to the end of the stream, past the mark of the archive's end.
    let walked = walked.and_then(|_| Ok(std::io::copy(&mut both, &mut std::io::sink())?));
    drop(both);
    match from.explain(walked) {
        Err(e) => {
            let _ = tar.kill();
            let said = tar.wait_with_output().map(|o| String::from_utf8_lossy(&o.stderr).trim().to_string());
            from.abandon();
            // `tar` may have ended first, and then it knows why.
            Err(match (e, said) {
                (UnpackError::Damaged(_) | UnpackError::Io(_), Ok(said)) if !said.is_empty() => {
                    UnpackError::Damaged(said)
                }
                (e, _) => e,
            })
        }
        Ok(_) => {
            let ended = tar.wait_with_output()?;
            let whole = from.end()?;
            match (ended.status.success(), whole) {
                (true, true) => Ok(()),
                (false, _) => Err(UnpackError::Damaged(String::from_utf8_lossy(&ended.stderr).trim().to_string())),
                (true, false) => Err(UnpackError::Damaged("`xz` cannot unpack it".into())),
            }
        }
    }
}

/// Directory of the newest packaged source of a series in the cache, if there is one.
pub fn kept(series: &str, cache: &Cache) -> Option<PathBuf> {
    let prefix = format!("linux-source-{series}_");
    let entries = std::fs::read_dir(cache.path_of(KERNELS)).into_iter().flatten().flatten();
    let known = entries.map(|e| e.path()).filter(|p| file_name(p).starts_with(&prefix) && p.join("Kbuild").is_file());
    known.max_by_key(|p| debian::numbers(&file_name(p)))
}

/// A copy of the packaged source of a series with patches applied in order; without patches, the packaged source
/// itself.
///
/// The copy starts with the objects of the unpatched tree, so that only what the patches change is compiled.
///
/// # Errors
/// A patch that cannot be read or does not apply, with what `patch` said.
pub fn patched(
    series: &str,
    patches: &[PathBuf],
    which: PackageVersion,
    cache: &Cache,
    say: &mut dyn FnMut(&str),
) -> Result<Tree, String> {
    // Read first: a wrong name is an error before anything is fetched.
    let texts = patches.iter().map(|p| patch_text(p)).collect::<Result<Vec<_>, _>>()?;
    if patches.is_empty() {
        // The caller holds its lock.
        return packaged(series, which, cache, say);
    }
    let names: Vec<String> = patches.iter().map(|p| p.display().to_string()).collect();
    let change = |tree: &Path, scratch: &Path| {
        let mut both = patches.iter().zip(&texts);
        both.try_for_each(|(patch, text)| apply_text(tree, patch, text, scratch))
    };
    let key = texts.iter().flat_map(|text| text.iter().copied().chain([0])).collect::<Vec<u8>>();
    let derived = Derived { kind: "patched", base: series, key, with: names.join(" + "), change: &change };
    self::derived(&derived, which, cache, say)
}

/// A tree that is the packaged source of a series with changes.
pub(super) struct Derived<'a> {
    /// First part of its directory's name.
    pub kind: &'static str,
    /// Series of the packaged source, e.g. `6.12`.
    pub base: &'a str,
    /// What distinguishes the changes from others: their texts, or a checksum of them.
    pub key: Vec<u8>,
    /// The changes in words.
    pub with: String,
    /// Makes the changes in a copy of the source; the second folder is for files that do not stay.
    pub change: &'a dyn Fn(&Path, &Path) -> Result<(), String>,
}

/// The tree with the changes: the one in the cache, or a new copy, which starts with the objects of the packaged
/// source. The caller holds the lock of the tree.
///
/// # Errors
/// See [`packaged`]; or a change that is not possible.
pub(super) fn derived(
    of: &Derived<'_>,
    which: PackageVersion,
    cache: &Cache,
    say: &mut dyn FnMut(&str),
) -> Result<Tree, String> {
    // Held until the copy is whole, because another process may build there.
    let lock = lock::take(&lock::of_source(of.base), &format!("source:{}", of.base), cache, say)?;
    let base = packaged(of.base, which, cache, say)?;
    let origin = format!("{} + {}", base.origin, of.with);
    let kernels = cache.directory(KERNELS).map_err(|e| e.to_string())?;
    let key = cache::sha256(&[base.origin.as_bytes(), &of.key].concat());
    let path = kernels.join(format!("{}-{}", of.kind, &key[..16]));
    if path.is_dir() {
        return Ok(Tree::plain(path, origin));
    }
    say(&format!("copying {} and applying {}", base.origin, of.with));
    let work = cache.work_directory(KERNELS).map_err(at_path(&kernels))?;
    let copy = work.path().join("tree");
    clone_tree(&base.path, &copy)?;
    drop(lock);
    (of.change)(&copy, work.path())?;
    std::fs::rename(&copy, &path).map_err(at_path(&path))?;
    Ok(Tree::plain(path, origin))
}

/// Copies a tree: sources as hard links, because `patch` replaces files and does not write into them; objects as files.
fn clone_tree(from: &Path, to: &Path) -> Result<(), String> {
    std::fs::create_dir(to).map_err(|e| e.to_string())?;
    for entry in std::fs::read_dir(from).map_err(|e| e.to_string())? {
        let path = entry.map_err(|e| e.to_string())?.path();
        let link = if path.file_name().is_some_and(|n| n == BUILD) { "-a" } else { "-al" };
        run(Command::new("cp").arg(link).arg(&path).arg(to))?;
    }
    Ok(())
}

fn apply(tree: &Path, patch: &Path) -> Result<(), String> {
    let mut command = Command::new("patch");
    command.args(["-p1", "--forward", "--batch", "--no-backup-if-mismatch", "-r", "-", "-i"]).arg(patch);
    run(command.current_dir(tree))
}

/// Applies the text of a patch to a tree. It is written to a file in `scratch`, because a built-in patch has none.
///
/// # Errors
/// The patch does not apply, with what `patch` said.
pub(super) fn apply_text(tree: &Path, patch: &Path, text: &[u8], scratch: &Path) -> Result<(), String> {
    let file = scratch.join("patch");
    std::fs::write(&file, text).map_err(at_path(&file))?;
    apply(tree, &file).map_err(|e| format!("{} does not apply: {e}", patch.display()))
}

/// The text of a patch: a built-in one of that name, else a file.
///
/// # Errors
/// There is neither.
pub fn patch_text(patch: &Path) -> Result<Vec<u8>, String> {
    if let Some(text) = patch.to_str().and_then(patches::patch) {
        return Ok(text.into());
    }
    let names: Vec<&str> = patches::PATCHES.iter().map(|p| p.0).collect();
    input::bytes(patch, PATCH_BYTES_MAX).map_err(|e| format!("{e}; expected a file, or one of {}", names.join(", ")))
}

/// Patterns of files in a tree that are not sources, for `rsync`.
const NOT_SOURCE: [&str; 12] = [
    "/build/",
    "/.git",
    "/.config",
    "/include/config/",
    "/include/generated/",
    "/arch/*/include/generated/",
    "/vmlinux*",
    "*.o",
    "*.ko",
    "*.a",
    ".*.cmd",
    "/.tmp_*",
];

/// Description of a kernel source tree, for messages.
pub const TREE: &str = "the top directory, with Kbuild and kernel/sched";

/// Whether a directory is the top of a kernel source tree.
pub fn is_tree(tree: &Path) -> bool {
    tree.join("Kbuild").is_file() && tree.join("kernel/sched").is_dir()
}

/// Brings the mirror of a user's tree in the cache up to date.
///
/// # Errors
/// Not a kernel tree, or `rsync` is missing.
pub fn mirror(tree: &Path, cache: &Cache, say: &mut dyn FnMut(&str)) -> Result<Tree, String> {
    let origin = format!("tree {}", tree.display());
    let tree = tree.canonicalize().map_err(at_path(tree))?;
    if !is_tree(&tree) {
        return Err(format!("{} is no kernel source tree; expected {TREE}", tree.display()));
    }
    // Read before the copy: an edit during the copy may be recorded as unchanged, but the image has its own checksum.
    let revision = if is_repository(&tree) { revision_of(&tree, say) } else { None };
    let key = cache::sha256(tree.to_string_lossy().as_bytes());
    let kernels = cache.directory(KERNELS).map_err(|e| e.to_string())?;
    let path = kernels.join(format!("tree-{}", &key[..16]));
    say(&format!("mirroring {}", tree.display()));
    let mut command = Command::new("rsync");
    // Files are compared by content, and a changed file gets the time of the copy. Its own time may be older than the
    // objects of the file that it replaces: after a revert, or if another tree is put in the same place.
    command.args(["-a", "--no-times", "--checksum", "--delete"]);
    for pattern in NOT_SOURCE {
        command.arg(format!("--exclude={pattern}"));
    }
    let mut from = tree.into_os_string();
    from.push("/");
    run(command.arg(from).arg(&path))?;
    Ok(Tree { revision, ..Tree::plain(path, origin) })
}

/// Whether a tree is the top of a git repository and `git` is installed.
pub fn is_repository(tree: &Path) -> bool {
    tree.join(".git").exists() && crate::probe::find_program(Path::new("git")).is_some()
}

/// Release series of a tree, e.g. `6.12`, from its top `Makefile`.
///
/// # Errors
/// Not a kernel tree.
pub fn series_of(tree: &Path) -> Result<String, String> {
    let path = tree.join("Makefile");
    let text = input::text(&path, TEXT_BYTES_MAX).map_err(|e| e.message())?;
    let number = |key: &str| {
        let value = text.lines().find_map(|l| l.strip_prefix(key)?.trim_start().strip_prefix('='));
        value.and_then(|v| v.trim().parse::<u32>().ok())
    };
    match (number("VERSION"), number("PATCHLEVEL")) {
        (Some(version), Some(level)) => Ok(format!("{version}.{level}")),
        _ => Err(format!("{} names no kernel version", path.display())),
    }
}

/// A `git` command for a tree, which may belong to another user. It writes nothing into the repository by itself.
pub(crate) fn git(tree: &Path) -> Command {
    let mut command = Command::new("git");
    command.args(["--no-optional-locks", "-c", "safe.directory=*", "-C"]).arg(tree);
    command
}

/// The full hash of a commit.
///
/// # Errors
/// There is no such commit, or no `git`.
pub fn commit_of(tree: &Path, revision: &str) -> Result<String, String> {
    let mut command = git(tree);
    command.args(["rev-parse", "--verify", "--end-of-options", &format!("{revision}^{{commit}}")]);
    Ok(output(&mut command)?.trim().to_string())
}

/// `git describe --always` of a commit: the nearest tag and the distance from it, or a short hash.
fn describe(tree: &Path, commit: &str) -> Result<String, String> {
    // Without --dirty, which may write the repository's index.
    Ok(output(git(tree).args(["describe", "--always", commit]))?.trim().to_string())
}

/// Commit and present state of a repository's tree; `None`, with the reason to `say`, if git cannot tell (no commit
/// yet).
fn revision_of(tree: &Path, say: &mut dyn FnMut(&str)) -> Option<Revision> {
    let ask = || {
        let commit = commit_of(tree, "HEAD")?;
        let dirty = !output(git(tree).args(["status", "--porcelain"]))?.trim().is_empty();
        let mark = if dirty { "-dirty" } else { "" };
        Ok::<_, String>(Revision { describe: describe(tree, &commit)? + mark, commit, dirty })
    };
    ask().map_err(|e| say(&format!("{}: the commit is not recorded: {e}", tree.display()))).ok()
}

/// Extracts a commit of a user's tree into the cache.
///
/// # Errors
/// Not a repository, or no such commit.
pub fn commit(tree: &Path, revision: &str, cache: &Cache, say: &mut dyn FnMut(&str)) -> Result<Tree, String> {
    if !is_repository(tree) {
        let next = format!("tree:{} builds it as it is", tree.display());
        return Err(format!("{} is no git repository (or there is no `git`); {next}", tree.display()));
    }
    let sha = commit_of(tree, revision)?;
    let revision = Some(Revision { describe: describe(tree, &sha)?, commit: sha.clone(), dirty: false });
    let origin = format!("{} at {}", tree.display(), sha.get(..12).unwrap_or(&sha));
    let kernels = cache.directory(KERNELS).map_err(|e| e.to_string())?;
    let path = kernels.join(format!("commit-{sha}"));
    if path.is_dir() {
        return Ok(Tree { revision, ..Tree::plain(path, origin) });
    }
    say(&format!("extracting {origin}"));
    let work = cache.work_directory(KERNELS).map_err(at_path(&kernels))?;
    let (archive, unpacked) = (work.path().join("a.tar"), work.path().join("tree"));
    run(git(tree).args(["archive", "--format=tar", "-o"]).arg(&archive).arg(&sha))?;
    std::fs::create_dir(&unpacked).map_err(|e| e.to_string())?;
    run(Command::new("tar").arg("-xf").arg(&archive).arg("-C").arg(&unpacked))?;
    std::fs::rename(&unpacked, &path).map_err(at_path(&path))?;
    Ok(Tree { revision, ..Tree::plain(path, origin) })
}

/// Runs a program that succeeds.
pub(crate) fn run(command: &mut Command) -> Result<(), String> {
    output(command).map(|_| ())
}

/// The output of a program that succeeds. The program must not outlive numalab, which holds the lock of its tree.
pub(crate) fn output(command: &mut Command) -> Result<String, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = child::ends_with_parent(command, libc::SIGTERM).output();
    let output = output.map_err(|e| format!("`{name}`: {e}; `numalab doctor` says what installs it"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = [output.stdout, output.stderr].concat();
    Err(format!("`{name}` failed: {}", String::from_utf8_lossy(&said).trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEFORE: &str = "int a = 1;\nint b = 2;\n";
    const PATCH: &str = "--- a/kernel/x.c\n+++ b/kernel/x.c\n@@ -1,2 +1,2 @@\n-int a = 1;\n+int a = 7;\n int b = 2;\n";

    /// A cache with a packaged tree of one file and one object.
    fn cache_with_tree(directory: &Path) -> (Cache, PathBuf) {
        let cache = Cache::at(directory).unwrap();
        let tree = cache.directory(KERNELS).unwrap().join("linux-source-6.12_6.12.1-1");
        for d in ["kernel/sched", "build"] {
            std::fs::create_dir_all(tree.join(d)).unwrap();
        }
        for (f, text) in [("Kbuild", ""), ("kernel/x.c", BEFORE), ("build/x.o", "object")] {
            std::fs::write(tree.join(f), text).unwrap();
        }
        (cache, tree)
    }

    /// An archive `s.tar.xz` of these entries; a symbolic link points to the text.
    fn archive(directory: &Path, entries: &[(&str, tar::EntryType, &str)]) -> PathBuf {
        let mut tar = tar::Builder::new(Vec::new());
        for (path, kind, text) in entries {
            let mut header = tar::Header::new_gnu();
            // As bytes, because the library refuses such paths.
            header.as_old_mut().name[..path.len()].copy_from_slice(path.as_bytes());
            header.set_entry_type(*kind);
            header.set_mode(0o755);
            let contents = if kind.is_file() { text.as_bytes() } else { b"" };
            header.set_size(contents.len() as u64);
            if kind.is_symlink() {
                header.set_link_name(text).unwrap();
            }
            header.set_cksum();
            tar.append(&header, contents).unwrap();
        }
        std::fs::write(directory.join("s.tar"), tar.into_inner().unwrap()).unwrap();
        run(Command::new("xz").arg("-f").arg(directory.join("s.tar"))).unwrap();
        directory.join("s.tar.xz")
    }

    #[test]
    fn a_source_is_unpacked_into_its_folder_and_no_further() {
        use tar::EntryType as Kind;
        if !crate::probe::test_has(&["xz", "tar"]) {
            return;
        }
        let directory = tempfile::tempdir().unwrap();
        let d = directory.path();
        let out = d.join("in/out");
        let unpacked = |entries: &[(&str, Kind, &str)], most: u64| {
            let _ = std::fs::remove_dir_all(&out);
            std::fs::create_dir_all(&out).unwrap();
            unpack(&archive(d, entries), &out, most)
        };
        let good = ("top/kernel/x.c", Kind::Regular, BEFORE);
        unpacked(&[("top/", Kind::Directory, ""), good, ("top/y.c", Kind::Symlink, "kernel/x.c")], 1 << 20).unwrap();
        assert_eq!(std::fs::read_to_string(out.join("y.c")).unwrap(), BEFORE);
        let refused = |entries: &[(&str, Kind, &str)], most: u64, what: &str| {
            let e = unpacked(entries, most).unwrap_err().to_string();
            assert!(e.contains(what), "{e}");
        };
        refused(&[good, ("top/../../../escaped", Kind::Regular, "x")], 1 << 20, "escaped` leaves its folder");
        refused(&[good, ("/tmp/escaped", Kind::Regular, "x")], 1 << 20, "`/tmp/escaped` has an absolute path");
        refused(&[good, ("top/pipe", Kind::Fifo, "")], 1 << 20, "`top/pipe` is a device or a pipe");
        refused(&[("top/x", Kind::Regular, &"x".repeat(3 << 20))], 1 << 20, "unpacks to more than 1 MiB");
        // Nothing is written through a link.
        let through = [("top/away", Kind::Symlink, "../.."), ("top/away/escaped", Kind::Regular, "x")];
        let _ = unpacked(&through, 1 << 20);
        assert!(!d.join("escaped").exists() && !d.join("in/escaped").exists());
        assert!(unpack(&d.join("absent"), &out, 1).is_err());
    }

    #[test]
    fn patches_change_the_copy_and_never_the_base() {
        let directory = tempfile::tempdir().unwrap();
        let (cache, tree) = cache_with_tree(&directory.path().join("c"));
        let patch = directory.path().join("p.patch");
        std::fs::write(&patch, PATCH).unwrap();
        assert_eq!(patched("6.12", &[], PackageVersion::Kept, &cache, &mut |_| {}).unwrap().path, tree);
        let copy = patched("6.12", std::slice::from_ref(&patch), PackageVersion::Kept, &cache, &mut |_| {}).unwrap();
        assert!(std::fs::read_to_string(copy.path.join("kernel/x.c")).unwrap().contains("a = 7"));
        std::fs::write(copy.path.join("build/x.o"), "changed").unwrap();
        assert_eq!(std::fs::read_to_string(tree.join("kernel/x.c")).unwrap(), BEFORE);
        assert_eq!(std::fs::read_to_string(tree.join("build/x.o")).unwrap(), "object");
        assert!(copy.origin.contains("6.12.1-1 + ") && copy.origin.contains("p.patch"));
        // The same patches give the same tree. A patch that does not apply is an error and leaves no tree.
        assert_eq!(
            patched("6.12", std::slice::from_ref(&patch), PackageVersion::Kept, &cache, &mut |_| {}).unwrap(),
            copy
        );
        std::fs::write(&patch, PATCH.replace("a = 1", "a = 3")).unwrap();
        assert!(patched("6.12", &[patch], PackageVersion::Kept, &cache, &mut |_| {})
            .unwrap_err()
            .contains("does not apply"));
        assert_eq!(std::fs::read_dir(directory.path().join("c/kernels")).unwrap().count(), 2);
    }

    #[test]
    fn a_mirror_follows_the_tree_and_keeps_its_objects() {
        if !crate::probe::test_has(&["rsync"]) {
            return;
        }
        let directory = tempfile::tempdir().unwrap();
        let (_, tree) = cache_with_tree(&directory.path().join("c"));
        let cache = Cache::at(&directory.path().join("d")).unwrap();
        std::fs::write(tree.join(".config"), "X").unwrap();
        let mirrored = mirror(&tree, &cache, &mut |_| {}).unwrap();
        assert_eq!(mirrored.revision, None, "no repository");
        let copy = mirrored.path;
        assert!(copy.join("kernel/x.c").is_file());
        assert!(!copy.join(".config").exists() && !copy.join("build").exists());
        std::fs::create_dir(copy.join("build")).unwrap();
        std::fs::write(tree.join("kernel/x.c"), "int changed;\n").unwrap();
        mirror(&tree, &cache, &mut |_| {}).unwrap();
        assert_eq!(std::fs::read_to_string(copy.join("kernel/x.c")).unwrap(), "int changed;\n");
        assert!(copy.join("build").is_dir());
        // A replaced file is built again even if size and time are the same, and no other file is.
        let modified = |file: &str| std::fs::metadata(copy.join(file)).unwrap().modified().unwrap();
        let set = |tree: &Path, time| std::fs::File::open(tree.join("kernel/x.c")).unwrap().set_modified(time).unwrap();
        let before = std::time::SystemTime::now() - std::time::Duration::from_secs(3600);
        let other = modified("Kbuild");
        std::fs::write(tree.join("kernel/x.c"), "int Changed;\n").unwrap();
        [&tree, &copy].iter().for_each(|t| set(t, before));
        mirror(&tree, &cache, &mut |_| {}).unwrap();
        assert_eq!(std::fs::read_to_string(copy.join("kernel/x.c")).unwrap(), "int Changed;\n");
        let after = modified("kernel/x.c");
        assert!(after > before && modified("Kbuild") == other, "{after:?} {before:?}");
        set(&tree, std::time::SystemTime::UNIX_EPOCH);
        mirror(&tree, &cache, &mut |_| {}).unwrap();
        assert_eq!(modified("kernel/x.c"), after, "the same text is not built again");
        assert!(mirror(directory.path(), &cache, &mut |_| {}).unwrap_err().contains("no kernel source tree"));
    }

    #[test]
    fn a_commit_is_taken_out_and_the_series_is_read() {
        if !crate::probe::test_has(&["git"]) {
            return;
        }
        let directory = tempfile::tempdir().unwrap();
        let (_, tree) = cache_with_tree(&directory.path().join("c"));
        let cache = Cache::at(&directory.path().join("d")).unwrap();
        let take = |revision: &str| commit(&tree, revision, &cache, &mut |_| {});
        assert!(take("HEAD").unwrap_err().contains("no git repository"));
        std::fs::write(tree.join("Makefile"), "# x\nVERSION = 6\nPATCHLEVEL = 12\nSUBLEVEL = 3\n").unwrap();
        in_git(&tree, &[&["init", "-q"], &["add", "Makefile", "kernel"], &["commit", "-q", "-m", "x"]]);
        std::fs::write(tree.join("kernel/x.c"), "changed").unwrap();
        let taken = take("HEAD").unwrap();
        assert_eq!(std::fs::read_to_string(taken.path.join("kernel/x.c")).unwrap(), BEFORE);
        assert!(!taken.path.join("build").exists());
        assert_eq!(take("HEAD^0").unwrap(), taken);
        let revision = taken.revision.unwrap();
        assert!(!revision.dirty && revision.commit.starts_with(&revision.describe), "{revision:?}");
        assert!(take("nonsense").is_err() && take("--help").is_err());
        assert_eq!(series_of(&tree).unwrap(), "6.12");
        assert!(series_of(directory.path()).is_err());
    }

    /// Runs git commands in a tree.
    fn in_git(tree: &Path, commands: &[&[&str]]) {
        let identity = ["-c", "user.name=n", "-c", "user.email=e"];
        for arguments in commands {
            run(Command::new("git").arg("-C").arg(tree).args(identity).args(*arguments)).unwrap();
        }
    }

    #[test]
    fn a_tree_says_which_commit_it_is_and_whether_it_was_changed() {
        if !crate::probe::test_has(&["git", "rsync"]) {
            return;
        }
        let directory = tempfile::tempdir().unwrap();
        let (_, tree) = cache_with_tree(&directory.path().join("c"));
        let cache = Cache::at(&directory.path().join("d")).unwrap();
        let mut said = Vec::new();
        let mut state = || mirror(&tree, &cache, &mut |s| said.push(s.to_string())).unwrap().revision;
        in_git(&tree, &[&["init", "-q"]]);
        assert_eq!(state(), None, "no commit yet");
        std::fs::write(tree.join(".gitignore"), "build\n").unwrap();
        in_git(&tree, &[&["add", "."], &["commit", "-q", "-m", "x"], &["tag", "-a", "-m", "x", "v6.12"]]);
        let clean = state().unwrap();
        assert_eq!((clean.describe.as_str(), clean.dirty, clean.commit.len()), ("v6.12", false, 40));
        std::fs::write(tree.join("build/y.o"), "ignored").unwrap();
        assert_eq!(state().unwrap(), clean);
        let changed = Revision { describe: "v6.12-dirty".into(), dirty: true, ..clean.clone() };
        std::fs::write(tree.join("kernel/new.c"), "").unwrap();
        assert_eq!(state().unwrap(), changed, "a new file is built too");
        std::fs::remove_file(tree.join("kernel/new.c")).unwrap();
        std::fs::write(tree.join("kernel/x.c"), "int changed;\n").unwrap();
        assert_eq!(state().unwrap(), changed);
        in_git(&tree, &[&["commit", "-q", "-a", "-m", "y"]]);
        let next = state().unwrap();
        assert!(next.describe.starts_with("v6.12-1-g") && !next.dirty && next.commit != clean.commit, "{next:?}");
        assert!(said.iter().any(|s| s.contains("the commit is not recorded")), "{said:?}");
    }
}
