//! Kernel source trees: the packaged one, copies of it with patches, and mirrors of the user's own.
//!
//! Every tree that is built lives in the cache, with its objects in `build` inside it, so that compiler commands hold
//! relative paths only: the compiler cache then serves all trees, and nothing is ever written into the user's tree.

use super::{deb, debian, shipped, Which};
use crate::cache::{self, Cache, KERNELS};
use crate::child;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Objects of a tree are built here.
pub const BUILD: &str = "build";

/// A tree with its description.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tree {
    /// Directory in the cache.
    pub path: PathBuf,
    /// Where it came from, for records.
    pub origin: String,
    /// Which commit it is, where a git repository says so.
    pub revision: Option<Revision>,
}

/// The state of a git repository whose tree was built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Revision {
    /// The commit, 40 or 64 hexadecimal digits.
    pub commit: String,
    /// `git describe --always` of it, with `-dirty` behind it if [`Revision::dirty`].
    pub describe: String,
    /// Whether what was built differed from the commit: changed files, or new ones that git does not ignore.
    pub dirty: bool,
}

/// The packaged source of a series: the newest that is kept, or the newest that the package tool knows.
///
/// # Errors
/// No such package, or it cannot be unpacked.
pub fn packaged(series: &str, which: Which, cache: &Cache, say: &mut dyn FnMut(&str)) -> Result<Tree, String> {
    packaged_with(&debian::Apt::default(), series, which, cache, say)
}

fn packaged_with(
    apt: &debian::Apt,
    series: &str,
    which: Which,
    cache: &Cache,
    say: &mut dyn FnMut(&str),
) -> Result<Tree, String> {
    let name = |p: &Path| p.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    if let (Which::Kept, Some(path)) = (which, kept(series, cache)) {
        return Ok(Tree { origin: name(&path), path, revision: None });
    }
    let package = format!("linux-source-{series}");
    if apt.candidates(&format!("^{package}$"))?.is_empty() {
        return Err(format!("no package {package} is known; try `apt-get update`, or use --kernel tree:DIR"));
    }
    // What is fetched is there to be built.
    crate::doctor::build_tools()?;
    let kernels = cache.directory(KERNELS).map_err(|e| e.to_string())?;
    let file = apt.download(&package, which, cache, say)?;
    let origin = name(&file).rsplit_once('_').map_or_else(|| package.clone(), |(stem, _)| stem.to_string());
    let path = kernels.join(&origin);
    if path.join("Kbuild").is_file() {
        say(&format!("{origin} is the newest that the package lists have (`apt-get update` brings new lists)"));
        return Ok(Tree { path, origin, revision: None });
    }
    say(&format!("unpacking {origin}"));
    let work = cache.work_directory(KERNELS).map_err(|e| format!("{}: {e}", kernels.display()))?;
    let archive = work.path().join("source.tar.xz");
    deb::extract(&file, &|p| p.starts_with("usr/src/linux-source-") && p.ends_with(".tar.xz"), &archive)
        .map_err(|e| e.to_string())?;
    let unpacked = work.path().join("tree");
    std::fs::create_dir(&unpacked).map_err(|e| e.to_string())?;
    let mut command = Command::new("tar");
    command.arg("-xJf").arg(&archive).arg("-C").arg(&unpacked).arg("--strip-components=1");
    run(&mut command)?;
    std::fs::rename(&unpacked, &path).map_err(|e| format!("{}: {e}", path.display()))?;
    Ok(Tree { path, origin, revision: None })
}

/// The newest packaged source of a series that is unpacked in the cache.
pub fn kept(series: &str, cache: &Cache) -> Option<PathBuf> {
    let prefix = format!("linux-source-{series}_");
    let name = |p: &Path| p.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    let entries = std::fs::read_dir(cache.place(KERNELS)).into_iter().flatten().flatten();
    let known = entries.map(|e| e.path()).filter(|p| name(p).starts_with(&prefix) && p.join("Kbuild").is_file());
    known.max_by_key(|p| debian::numbers(&name(p)))
}

/// The packaged source of a series with patches applied in order; without patches the packaged source itself.
///
/// The copy starts with the objects of the unpatched tree, so only what the patches change is compiled.
///
/// # Errors
/// A patch that cannot be read or does not apply, with what `patch` said.
pub fn patched(
    series: &str,
    patches: &[PathBuf],
    which: Which,
    cache: &Cache,
    say: &mut dyn FnMut(&str),
) -> Result<Tree, String> {
    // Before anything is fetched.
    let texts = patches.iter().map(|p| patch_text(p)).collect::<Result<Vec<_>, _>>()?;
    let base = packaged(series, which, cache, say)?;
    if patches.is_empty() {
        return Ok(base);
    }
    let mut key = base.origin.clone().into_bytes();
    for text in &texts {
        key.extend(text);
        key.push(0);
    }
    let names: Vec<String> = patches.iter().map(|p| p.display().to_string()).collect();
    let origin = format!("{} + {}", base.origin, names.join(" + "));
    let kernels = cache.directory(KERNELS).map_err(|e| e.to_string())?;
    let path = kernels.join(format!("patched-{}", &cache::sha256(&key)[..16]));
    if path.is_dir() {
        return Ok(Tree { path, origin, revision: None });
    }
    say(&format!("copying {} and applying {}", base.origin, names.join(", ")));
    let work = cache.work_directory(KERNELS).map_err(|e| format!("{}: {e}", kernels.display()))?;
    let copy = work.path().join("tree");
    clone_tree(&base.path, &copy)?;
    for (patch, text) in patches.iter().zip(&texts) {
        // `patch` reads a file of our own, so that a shipped text is like any other.
        let file = work.path().join("patch");
        std::fs::write(&file, text).map_err(|e| format!("{}: {e}", file.display()))?;
        apply(&copy, &file).map_err(|e| format!("{} does not apply: {e}", patch.display()))?;
    }
    std::fs::rename(&copy, &path).map_err(|e| format!("{}: {e}", path.display()))?;
    Ok(Tree { path, origin, revision: None })
}

/// Copies a tree: sources as hard links (`patch` replaces files, it does not write into them), objects as files.
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

/// The bytes of a patch: a shipped one by its bare name, else a file.
///
/// # Errors
/// No such file.
pub fn patch_text(patch: &Path) -> Result<Vec<u8>, String> {
    if let Some(text) = patch.to_str().and_then(shipped::patch) {
        return Ok(text.into());
    }
    let names: Vec<&str> = shipped::PATCHES.iter().map(|p| p.0).collect();
    std::fs::read(patch)
        .map_err(|e| format!("{}: {e}; expected a file, or one of {}", patch.display(), names.join(", ")))
}

/// Files of a tree that are not its source.
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

/// What a kernel source tree is known by, for messages.
pub const TREE: &str = "the top directory, with Kbuild and kernel/sched";

/// Whether a directory is the top of a kernel source tree.
pub fn is_tree(tree: &Path) -> bool {
    tree.join("Kbuild").is_file() && tree.join("kernel/sched").is_dir()
}

/// A mirror of the user's tree in the cache, brought up to date.
///
/// # Errors
/// Not a kernel tree, or `rsync` is missing.
pub fn mirror(tree: &Path, cache: &Cache, say: &mut dyn FnMut(&str)) -> Result<Tree, String> {
    let origin = format!("tree {}", tree.display());
    let tree = tree.canonicalize().map_err(|e| format!("{}: {e}", tree.display()))?;
    if !is_tree(&tree) {
        return Err(format!("{} is no kernel source tree; expected {TREE}", tree.display()));
    }
    // Before the copy: what is edited meanwhile is called unchanged at worst, and the image has its own checksum.
    let revision = if is_repository(&tree) { now(&tree, say) } else { None };
    let key = cache::sha256(tree.to_string_lossy().as_bytes());
    let kernels = cache.directory(KERNELS).map_err(|e| e.to_string())?;
    let path = kernels.join(format!("tree-{}", &key[..16]));
    say(&format!("mirroring {}", tree.display()));
    let mut command = Command::new("rsync");
    // Compared by content, and what differs is as new as the copy: another tree in the same place, or a file put back,
    // may be older than the objects that were built from what it replaces.
    command.args(["-a", "--no-times", "--checksum", "--delete"]);
    for pattern in NOT_SOURCE {
        command.arg(format!("--exclude={pattern}"));
    }
    let mut from = tree.into_os_string();
    from.push("/");
    run(command.arg(from).arg(&path))?;
    Ok(Tree { path, origin, revision })
}

/// Whether a tree is a git repository of its own.
pub fn is_repository(tree: &Path) -> bool {
    tree.join(".git").exists() && crate::probe::find_program(Path::new("git")).is_some()
}

/// Release series of a tree, e.g. `6.12`, from its top `Makefile`.
///
/// # Errors
/// Not a kernel tree.
pub fn series_of(tree: &Path) -> Result<String, String> {
    let path = tree.join("Makefile");
    let text = std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    let number = |key: &str| {
        let value = text.lines().find_map(|l| l.strip_prefix(key)?.trim_start().strip_prefix('='));
        value.and_then(|v| v.trim().parse::<u32>().ok())
    };
    match (number("VERSION"), number("PATCHLEVEL")) {
        (Some(version), Some(level)) => Ok(format!("{version}.{level}")),
        _ => Err(format!("{} names no kernel version", path.display())),
    }
}

/// `git` for a tree, which may belong to another user; nothing is written into its repository.
fn git(tree: &Path) -> Command {
    let mut command = Command::new("git");
    command.args(["--no-optional-locks", "-c", "safe.directory=*", "-C"]).arg(tree);
    command
}

/// The full name of a commit.
///
/// # Errors
/// No such commit, or no `git`.
pub fn commit_of(tree: &Path, revision: &str) -> Result<String, String> {
    let mut command = git(tree);
    command.args(["rev-parse", "--verify", "--end-of-options", &format!("{revision}^{{commit}}")]);
    Ok(output(&mut command)?.trim().to_string())
}

/// What `git describe` calls a commit: the nearest tag and the way from it, or a short name.
fn describe(tree: &Path, commit: &str) -> Result<String, String> {
    // Not --dirty: that may write the repository's index.
    Ok(output(git(tree).args(["describe", "--always", commit]))?.trim().to_string())
}

/// The state of a repository's tree as it is. Where git cannot say (no commit yet), `say` is told why.
fn now(tree: &Path, say: &mut dyn FnMut(&str)) -> Option<Revision> {
    let ask = || {
        let commit = commit_of(tree, "HEAD")?;
        let dirty = !output(git(tree).args(["status", "--porcelain"]))?.trim().is_empty();
        let mark = if dirty { "-dirty" } else { "" };
        Ok::<_, String>(Revision { describe: describe(tree, &commit)? + mark, commit, dirty })
    };
    ask().map_err(|e| say(&format!("{}: the commit is not recorded: {e}", tree.display()))).ok()
}

/// A commit of the user's tree, taken out into the cache.
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
        return Ok(Tree { path, origin, revision });
    }
    say(&format!("taking out {origin}"));
    let work = cache.work_directory(KERNELS).map_err(|e| format!("{}: {e}", kernels.display()))?;
    let (archive, unpacked) = (work.path().join("a.tar"), work.path().join("tree"));
    run(git(tree).args(["archive", "--format=tar", "-o"]).arg(&archive).arg(&sha))?;
    std::fs::create_dir(&unpacked).map_err(|e| e.to_string())?;
    run(Command::new("tar").arg("-xf").arg(&archive).arg("-C").arg(&unpacked))?;
    std::fs::rename(&unpacked, &path).map_err(|e| format!("{}: {e}", path.display()))?;
    Ok(Tree { path, origin, revision })
}

fn run(command: &mut Command) -> Result<(), String> {
    output(command).map(|_| ())
}

/// What a program prints, if it succeeds. It ends with numalab, whose lock keeps others from the tree it works on.
fn output(command: &mut Command) -> Result<String, String> {
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

    #[test]
    fn patches_change_the_copy_and_never_the_base() {
        let directory = tempfile::tempdir().unwrap();
        let (cache, tree) = cache_with_tree(&directory.path().join("c"));
        let patch = directory.path().join("p.patch");
        std::fs::write(&patch, PATCH).unwrap();
        assert_eq!(patched("6.12", &[], Which::Kept, &cache, &mut |_| {}).unwrap().path, tree);
        let copy = patched("6.12", std::slice::from_ref(&patch), Which::Kept, &cache, &mut |_| {}).unwrap();
        assert!(std::fs::read_to_string(copy.path.join("kernel/x.c")).unwrap().contains("a = 7"));
        std::fs::write(copy.path.join("build/x.o"), "changed").unwrap();
        assert_eq!(std::fs::read_to_string(tree.join("kernel/x.c")).unwrap(), BEFORE);
        assert_eq!(std::fs::read_to_string(tree.join("build/x.o")).unwrap(), "object");
        assert!(copy.origin.contains("6.12.1-1 + ") && copy.origin.contains("p.patch"));
        // The same patches give the same tree; one that does not apply is an error and leaves nothing.
        assert_eq!(patched("6.12", std::slice::from_ref(&patch), Which::Kept, &cache, &mut |_| {}).unwrap(), copy);
        std::fs::write(&patch, PATCH.replace("a = 1", "a = 3")).unwrap();
        assert!(patched("6.12", &[patch], Which::Kept, &cache, &mut |_| {}).unwrap_err().contains("does not apply"));
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
        // What takes its place may be of the same size and time: it is built again, and nothing else is.
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
