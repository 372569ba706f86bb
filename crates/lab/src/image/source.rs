//! Kernel source trees: the packaged one, copies of it with patches, and mirrors of the user's own.
//!
//! Every tree that is built lives in the cache, with its objects in `build` inside it, so that compiler commands hold
//! relative paths only: the compiler cache then serves all trees, and nothing is ever written into the user's tree.

use super::{deb, debian, shipped};
use crate::cache::{self, Cache};
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
}

/// The packaged source of a series, unpacked once.
///
/// # Errors
/// No such package, or it cannot be unpacked.
pub fn packaged(series: &str, cache: &Cache, say: &mut dyn FnMut(&str)) -> Result<Tree, String> {
    let kernels = cache.directory("kernels").map_err(|e| e.to_string())?;
    let prefix = format!("linux-source-{series}_");
    let entries = std::fs::read_dir(&kernels).map_err(|e| e.to_string())?.flatten();
    let name = |p: &Path| p.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    let known = entries.map(|e| e.path()).filter(|p| name(p).starts_with(&prefix) && p.join("Kbuild").is_file());
    if let Some(path) = known.max() {
        return Ok(Tree { origin: name(&path), path });
    }
    let package = format!("linux-source-{series}");
    if debian::candidates(&format!("^{package}$"))?.is_empty() {
        return Err(format!("no package {package} is known; try `apt-get update`, or use --kernel tree:DIR"));
    }
    let file = debian::download(&package, cache, say)?;
    let origin = name(&file).rsplit_once('_').map_or_else(|| package.clone(), |(stem, _)| stem.to_string());
    say(&format!("unpacking {origin}"));
    let work = tempfile::tempdir_in(&kernels).map_err(|e| e.to_string())?;
    let archive = work.path().join("source.tar.xz");
    deb::extract(&file, &|p| p.starts_with("usr/src/linux-source-") && p.ends_with(".tar.xz"), &archive)?;
    let unpacked = work.path().join("tree");
    std::fs::create_dir(&unpacked).map_err(|e| e.to_string())?;
    let mut command = Command::new("tar");
    command.arg("-xJf").arg(&archive).arg("-C").arg(&unpacked).arg("--strip-components=1");
    run(&mut command)?;
    let path = kernels.join(&origin);
    std::fs::rename(&unpacked, &path).map_err(|e| format!("{}: {e}", path.display()))?;
    Ok(Tree { path, origin })
}

/// The packaged source of a series with patches applied in order; without patches the packaged source itself.
///
/// The copy starts with the objects of the unpatched tree, so only what the patches change is compiled.
///
/// # Errors
/// A patch that cannot be read or does not apply, with what `patch` said.
pub fn patched(series: &str, patches: &[PathBuf], cache: &Cache, say: &mut dyn FnMut(&str)) -> Result<Tree, String> {
    let base = packaged(series, cache, say)?;
    if patches.is_empty() {
        return Ok(base);
    }
    let mut key = base.origin.clone().into_bytes();
    for patch in patches {
        key.extend(patch_text(patch)?);
        key.push(0);
    }
    let names: Vec<String> = patches.iter().map(|p| p.display().to_string()).collect();
    let origin = format!("{} + {}", base.origin, names.join(" + "));
    let kernels = cache.directory("kernels").map_err(|e| e.to_string())?;
    let path = kernels.join(format!("patched-{}", &cache::sha256(&key)[..16]));
    if path.is_dir() {
        return Ok(Tree { path, origin });
    }
    say(&format!("copying {} and applying {}", base.origin, names.join(", ")));
    let work = tempfile::tempdir_in(&kernels).map_err(|e| e.to_string())?;
    let copy = work.path().join("tree");
    clone_tree(&base.path, &copy)?;
    for patch in patches {
        // `patch` reads a file of our own, so that a shipped text is like any other.
        let file = work.path().join("patch");
        std::fs::write(&file, patch_text(patch)?).map_err(|e| format!("{}: {e}", file.display()))?;
        apply(&copy, &file).map_err(|e| format!("{} does not apply: {e}", patch.display()))?;
    }
    std::fs::rename(&copy, &path).map_err(|e| format!("{}: {e}", path.display()))?;
    Ok(Tree { path, origin })
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
    command.args(["-p1", "--forward", "--batch", "--no-backup-if-mismatch", "-r", "-", "-i"]).arg(&patch);
    run(command.current_dir(tree))
}

/// The bytes of a patch: a shipped one by its bare name, else a file.
fn patch_text(patch: &Path) -> Result<Vec<u8>, String> {
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

/// A mirror of the user's tree in the cache, brought up to date.
///
/// # Errors
/// Not a kernel tree, or `rsync` is missing.
pub fn mirror(tree: &Path, cache: &Cache, say: &mut dyn FnMut(&str)) -> Result<PathBuf, String> {
    let tree = tree.canonicalize().map_err(|e| format!("{}: {e}", tree.display()))?;
    if !tree.join("Kbuild").is_file() || !tree.join("kernel/sched").is_dir() {
        return Err(format!("{} is no kernel source tree", tree.display()));
    }
    let key = cache::sha256(tree.to_string_lossy().as_bytes());
    let kernels = cache.directory("kernels").map_err(|e| e.to_string())?;
    let path = kernels.join(format!("tree-{}", &key[..16]));
    say(&format!("mirroring {}", tree.display()));
    let mut command = Command::new("rsync");
    command.args(["-a", "--delete"]);
    for pattern in NOT_SOURCE {
        command.arg(format!("--exclude={pattern}"));
    }
    let mut from = tree.into_os_string();
    from.push("/");
    run(command.arg(from).arg(&path))?;
    Ok(path)
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

/// A commit of the user's tree, taken out into the cache.
///
/// # Errors
/// Not a repository, or no such commit.
pub fn commit(tree: &Path, revision: &str, cache: &Cache, say: &mut dyn FnMut(&str)) -> Result<Tree, String> {
    if !is_repository(tree) {
        return Err(format!("{} is no git repository", tree.display()));
    }
    let git = || {
        let mut command = Command::new("git");
        // The repository may belong to another user.
        command.arg("-c").arg("safe.directory=*").arg("-C").arg(tree);
        command
    };
    let sha = output(git().args(["rev-parse", "--verify", "--end-of-options", &format!("{revision}^{{commit}}")]))?;
    let sha = sha.trim().to_string();
    let origin = format!("{} at {}", tree.display(), sha.get(..12).unwrap_or(&sha));
    let kernels = cache.directory("kernels").map_err(|e| e.to_string())?;
    let path = kernels.join(format!("commit-{sha}"));
    if path.is_dir() {
        return Ok(Tree { path, origin });
    }
    say(&format!("taking out {origin}"));
    let work = tempfile::tempdir_in(&kernels).map_err(|e| e.to_string())?;
    let (archive, unpacked) = (work.path().join("a.tar"), work.path().join("tree"));
    run(git().args(["archive", "--format=tar", "-o"]).arg(&archive).arg(&sha))?;
    std::fs::create_dir(&unpacked).map_err(|e| e.to_string())?;
    run(Command::new("tar").arg("-xf").arg(&archive).arg("-C").arg(&unpacked))?;
    std::fs::rename(&unpacked, &path).map_err(|e| format!("{}: {e}", path.display()))?;
    Ok(Tree { path, origin })
}

fn run(command: &mut Command) -> Result<(), String> {
    output(command).map(|_| ())
}

/// What a program prints, if it succeeds.
fn output(command: &mut Command) -> Result<String, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|e| format!("`{name}`: {e}"))?;
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
        let tree = cache.directory("kernels").unwrap().join("linux-source-6.12_6.12.1-1");
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
        assert_eq!(patched("6.12", &[], &cache, &mut |_| {}).unwrap().path, tree);
        let copy = patched("6.12", std::slice::from_ref(&patch), &cache, &mut |_| {}).unwrap();
        assert!(std::fs::read_to_string(copy.path.join("kernel/x.c")).unwrap().contains("a = 7"));
        std::fs::write(copy.path.join("build/x.o"), "changed").unwrap();
        assert_eq!(std::fs::read_to_string(tree.join("kernel/x.c")).unwrap(), BEFORE);
        assert_eq!(std::fs::read_to_string(tree.join("build/x.o")).unwrap(), "object");
        assert!(copy.origin.contains("6.12.1-1 + ") && copy.origin.contains("p.patch"));
        // The same patches give the same tree; one that does not apply is an error and leaves nothing.
        assert_eq!(patched("6.12", std::slice::from_ref(&patch), &cache, &mut |_| {}).unwrap(), copy);
        std::fs::write(&patch, PATCH.replace("a = 1", "a = 3")).unwrap();
        assert!(patched("6.12", &[patch], &cache, &mut |_| {}).unwrap_err().contains("does not apply"));
        assert_eq!(std::fs::read_dir(directory.path().join("c/kernels")).unwrap().count(), 2);
    }

    #[test]
    fn a_mirror_follows_the_tree_and_keeps_its_objects() {
        if crate::probe::find_program(Path::new("rsync")).is_none() {
            return;
        }
        let directory = tempfile::tempdir().unwrap();
        let (_, tree) = cache_with_tree(&directory.path().join("c"));
        let cache = Cache::at(&directory.path().join("d")).unwrap();
        std::fs::write(tree.join(".config"), "X").unwrap();
        let copy = mirror(&tree, &cache, &mut |_| {}).unwrap();
        assert!(copy.join("kernel/x.c").is_file());
        assert!(!copy.join(".config").exists() && !copy.join("build").exists());
        std::fs::create_dir(copy.join("build")).unwrap();
        std::fs::write(tree.join("kernel/x.c"), "int changed;\n").unwrap();
        mirror(&tree, &cache, &mut |_| {}).unwrap();
        assert_eq!(std::fs::read_to_string(copy.join("kernel/x.c")).unwrap(), "int changed;\n");
        assert!(copy.join("build").is_dir());
        assert!(mirror(directory.path(), &cache, &mut |_| {}).unwrap_err().contains("no kernel source tree"));
    }

    #[test]
    fn a_commit_is_taken_out_and_the_series_is_read() {
        if crate::probe::find_program(Path::new("git")).is_none() {
            return;
        }
        let directory = tempfile::tempdir().unwrap();
        let (_, tree) = cache_with_tree(&directory.path().join("c"));
        let cache = Cache::at(&directory.path().join("d")).unwrap();
        let take = |revision: &str| commit(&tree, revision, &cache, &mut |_| {});
        assert!(take("HEAD").unwrap_err().contains("no git repository"));
        std::fs::write(tree.join("Makefile"), "# x\nVERSION = 6\nPATCHLEVEL = 12\nSUBLEVEL = 3\n").unwrap();
        let git = |arguments: &[&str]| {
            let identity = ["-c", "user.name=n", "-c", "user.email=e"];
            run(Command::new("git").arg("-C").arg(&tree).args(identity).args(arguments)).unwrap();
        };
        for arguments in [&["init", "-q"][..], &["add", "Makefile", "kernel"], &["commit", "-q", "-m", "x"]] {
            git(arguments);
        }
        std::fs::write(tree.join("kernel/x.c"), "changed").unwrap();
        let taken = take("HEAD").unwrap();
        assert_eq!(std::fs::read_to_string(taken.path.join("kernel/x.c")).unwrap(), BEFORE);
        assert!(!taken.path.join("build").exists());
        assert_eq!(take("HEAD^0").unwrap(), taken);
        assert!(take("nonsense").is_err() && take("--help").is_err());
        assert_eq!(series_of(&tree).unwrap(), "6.12");
        assert!(series_of(directory.path()).is_err());
    }
}
