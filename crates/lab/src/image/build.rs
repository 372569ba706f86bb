//! Builds the minimal kernel: the smallest configuration with all of automatic NUMA balancing.
//!
//! The configuration is data (`catalog/guest/kernel-minimal.config`), applied over `allnoconfig`. Every line is checked
//! in the resulting `.config`: a symbol that Kconfig dropped for its dependencies is an error.

use super::build_tools;
use super::kernel::{Built, Image};
use super::limits::TEXT_BYTES_MAX;
use super::source::{Tree, BUILD};
use crate::cache::{self, Cache};
use crate::child;
use crate::failure::at_path;
use numalab_model::files::{input, output};
use std::fs::File;
use std::path::Path;
use std::process::Stdio;

/// The built-in configuration fragment.
const FRAGMENT: &str = include_str!("../../guest/kernel-minimal.config");
/// Environment variable with the path of another configuration fragment.
pub const FRAGMENT_VARIABLE: &str = "NUMALAB_KERNEL_CONFIG";

/// One line of a fragment.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Setting {
    symbol: String,
    /// Value; `None` = not set.
    value: Option<String>,
    /// Whether the kernel may lack the symbol.
    optional: bool,
}

/// Whether the tree of a given path in the cache can change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// It never changes: a packaged source, patched or not, or a commit. A finished build is used without another
    /// `make`.
    Fixed,
    /// It mirrors a tree of the user, which can change.
    Mirror,
}

/// Builds the kernel of a tree in the cache, or brings the build up to date.
///
/// # Errors
/// A missing tool, a configuration that Kconfig does not accept, or the compiler's errors.
pub fn image(from: &Tree, source: Source, cache: &Cache, say: &mut dyn FnMut(&str)) -> Result<Image, String> {
    let (tree, origin) = (&from.path, &from.origin);
    let build = tree.join(BUILD);
    if std::fs::symlink_metadata(&build).is_ok_and(|m| m.is_symlink()) {
        let next = "expected a source without it (objects would be written to where it points)";
        return Err(format!("{}: the source {origin} has a symbolic link of this name; {next}", build.display()));
    }
    std::fs::create_dir_all(&build).map_err(at_path(&build))?;
    let fragment = match std::env::var_os(FRAGMENT_VARIABLE) {
        Some(path) => input::text(Path::new(&path), TEXT_BYTES_MAX)
            .map_err(|e| format!("{} ({FRAGMENT_VARIABLE} names it)", e.message()))?,
        None => FRAGMENT.to_string(),
    };
    let fragment = fragment + &from.config;
    let path = build.join("vmlinux");
    let done = build.join("numalab.done");
    let mark = mark(tree, &fragment);
    // Even a `make` with nothing to do takes seconds.
    let whole = path.is_file() && build.join(".config").is_file();
    let built = source == Source::Fixed && whole && input::text(&done, TEXT_BYTES_MAX).is_ok_and(|m| m == mark);
    if !built {
        // The mark belongs to the objects of the previous configuration, which are about to change.
        let _ = std::fs::remove_file(&done);
        build_tools::check()?;
        configure(tree, cache, &fragment, say)?;
        let started = build.join("numalab.started");
        let resumed =
            if started.exists() { "; an earlier build did not end, and what it compiled is kept" } else { "" };
        say(&format!("building {origin}{resumed}"));
        output::replace(&started, b"").map_err(at_path(&started))?;
        make(tree, cache, &["vmlinux"])?;
        let _ = std::fs::remove_file(&started);
        cache.write_whole(&done, mark.as_bytes()).map_err(at_path(&done))?;
    }
    let sha256 = cache::sha256_file(&path).map_err(at_path(&path))?;
    let config = input::text(&build.join(".config"), TEXT_BYTES_MAX).map_err(|e| e.message())?;
    let patches_itself = config.lines().any(|l| l == "CONFIG_JUMP_LABEL=y");
    let built = Built { revision: from.revision.clone(), config_sha256: cache::sha256(config.as_bytes()) };
    Ok(Image { path, sha256, origin: origin.clone(), patches_itself, built: Some(built) })
}

/// The mark of a finished build: a checksum of the tree's name and the configuration. The name is part of it because a
/// patched tree starts with a copy of another tree's objects, mark included.
fn mark(tree: &Path, fragment: &str) -> String {
    let name = tree.file_name().unwrap_or_default().to_string_lossy();
    cache::sha256(format!("{name}\n{fragment}").as_bytes())
}

/// Configures a build directory unless it already has this configuration.
fn configure(tree: &Path, cache: &Cache, fragment: &str, say: &mut dyn FnMut(&str)) -> Result<(), String> {
    let build = tree.join(BUILD);
    let settings = parse(fragment);
    let text = plain(&settings);
    let kept = build.join("numalab.config");
    let same = input::text(&kept, TEXT_BYTES_MAX).is_ok_and(|t| t == text);
    if !same || !build.join(".config").is_file() {
        say("configuring");
        // Written again at the end, so that an interrupted configuration is repeated.
        let _ = std::fs::remove_file(&kept);
        let wanted = build.join("numalab.allconfig");
        output::replace(&wanted, text.as_bytes()).map_err(at_path(&wanted))?;
        make(tree, cache, &[&format!("KCONFIG_ALLCONFIG={}", wanted.display()), "allnoconfig"])?;
        cache.write_whole(&kept, text.as_bytes()).map_err(at_path(&kept))?;
    }
    let config = input::text(&build.join(".config"), TEXT_BYTES_MAX).map_err(|e| e.message())?;
    let lost = unmet(&settings, &config);
    if lost.is_empty() {
        return Ok(());
    }
    let _ = std::fs::remove_file(&kept);
    Err(format!("{NOT_CONFIGURED}: {}", lost.join(", ")))
}

fn parse(fragment: &str) -> Vec<Setting> {
    let mut out: Vec<Setting> = Vec::new();
    for line in fragment.lines() {
        let (line, optional) = match line.trim().strip_suffix("#?") {
            Some(rest) => (rest.trim(), true),
            None => (line.trim(), false),
        };
        let unset = line.strip_prefix("# CONFIG_").and_then(|l| l.strip_suffix(" is not set"));
        let set = || line.strip_prefix("CONFIG_").and_then(|l| l.split_once('='));
        let (symbol, value) = match unset {
            Some(symbol) => (symbol, None),
            None => match set() {
                Some((symbol, value)) => (symbol, Some(value.to_string())),
                None => continue,
            },
        };
        // A later line takes the place of an earlier one.
        out.retain(|s| s.symbol != symbol);
        out.push(Setting { symbol: symbol.into(), value, optional });
    }
    out
}

/// The fragment in the form that Kconfig reads, without comments and the marks of optional lines.
fn plain(settings: &[Setting]) -> String {
    let line = |s: &Setting| match &s.value {
        Some(value) => format!("CONFIG_{}={value}\n", s.symbol),
        None => format!("# CONFIG_{} is not set\n", s.symbol),
    };
    settings.iter().map(line).collect()
}

/// Settings that a configuration does not have, as text.
fn unmet(settings: &[Setting], config: &str) -> Vec<String> {
    let value = |symbol: &str| {
        let prefix = format!("CONFIG_{symbol}=");
        config.lines().find_map(|l| l.strip_prefix(&prefix))
    };
    let known =
        |symbol: &str| config.contains(&format!("CONFIG_{symbol}=")) || config.contains(&format!("CONFIG_{symbol} "));
    let mut out = Vec::new();
    for setting in settings {
        let actual = value(&setting.symbol);
        if actual == setting.value.as_deref() || (setting.optional && !known(&setting.symbol)) {
            continue;
        }
        let show = |v: Option<&str>| v.unwrap_or("not set").to_string();
        out.push(format!("CONFIG_{} is {}, wanted {}", setting.symbol, show(actual), show(setting.value.as_deref())));
    }
    out
}

/// Number of lines of a failed build's log in its error.
const ERROR_LINES: usize = 15;

fn make(tree: &Path, cache: &Cache, targets: &[&str]) -> Result<(), String> {
    let log_path = tree.join(BUILD).join("numalab.log");
    // A new file, because a source may have come with a link of this name.
    let _ = std::fs::remove_file(&log_path);
    let log = File::create_new(&log_path).map_err(at_path(&log_path))?;
    let copy = log.try_clone().map_err(|e| e.to_string())?;
    let mut command = child::with_its_children(Path::new("make"));
    command.current_dir(tree).args(["-s", &format!("O={BUILD}"), &format!("-j{}", crate::probe::processors())]);
    // The same source gives the same image.
    command.args(["KBUILD_BUILD_TIMESTAMP=2025-01-01", "KBUILD_BUILD_USER=numalab", "KBUILD_BUILD_HOST=numalab"]);
    if crate::probe::find_program(Path::new("ccache")).is_some() {
        let directory = cache.directory("ccache").map_err(|e| e.to_string())?;
        command.arg("CC=ccache gcc").env("CCACHE_DIR", directory);
        command.env("CCACHE_BASEDIR", tree).env("CCACHE_NOHASHDIR", "1");
    }
    command.args(targets).stdin(Stdio::null()).stdout(copy).stderr(log);
    // This process holds the lock of the image, so neither `make` nor those that it starts must outlive it.
    let status = command.status().map_err(|e| format!("make: {e}; `numalab doctor` says what installs it"))?;
    if status.success() {
        return Ok(());
    }
    let text = std::fs::read_to_string(&log_path).unwrap_or_default();
    Err(format!("{NOT_BUILT} ({}):\n{}", log_path.display(), errors(&text)))
}

/// How the error of a kernel begins whose source does not build.
const NOT_BUILT: &str = "the kernel does not build";
/// How the error of a kernel begins that lacks what guests need.
const NOT_CONFIGURED: &str = "this kernel does not take the configuration";

/// Whether an error of an image says that its source does not build, and not that this host cannot build.
pub fn is_failed_build(error: &str) -> bool {
    [NOT_BUILT, NOT_CONFIGURED].iter().any(|start| error.contains(start))
}

/// The relevant lines of a build's log: the first error and what follows, else the last lines.
fn errors(log: &str) -> String {
    let lines: Vec<&str> = log.lines().collect();
    let first = lines.iter().position(|l| l.contains("error:") || l.contains("Error ") || l.contains("not found"));
    let from = first.unwrap_or(lines.len().saturating_sub(ERROR_LINES));
    lines[from..].iter().take(ERROR_LINES).copied().collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::child::tests::comes_true;
    use std::process::Command;

    #[test]
    fn the_built_in_fragment_enables_balancing() {
        let settings = parse(FRAGMENT);
        let value = |s: &str| settings.iter().find(|w| w.symbol == s).map(|w| w.value.clone());
        assert_eq!(value("NUMA_BALANCING"), Some(Some("y".into())));
        assert_eq!(value("JUMP_LABEL"), Some(None));
        assert!(settings.iter().any(|w| w.symbol == "SCHED_DEBUG" && w.optional));
        let mut symbols: Vec<&str> = settings.iter().map(|w| w.symbol.as_str()).collect();
        symbols.sort_unstable();
        let count = symbols.len();
        symbols.dedup();
        assert_eq!(symbols.len(), count, "a symbol is set twice");
        let later = parse("CONFIG_A=y\nCONFIG_B=y\n# CONFIG_A is not set\n");
        assert_eq!(plain(&later), "CONFIG_B=y\n# CONFIG_A is not set\n");
        // Comments of the file are left out.
        assert!(plain(&settings).lines().all(|l| l.starts_with("CONFIG_") || l.ends_with(" is not set")));
    }

    #[test]
    fn a_fixed_source_is_built_once() {
        let directory = tempfile::tempdir().unwrap();
        let cache = Cache::at(&directory.path().join("cache")).unwrap();
        let tree = directory.path().join("tree");
        let build = tree.join(BUILD);
        std::fs::create_dir_all(&build).unwrap();
        std::fs::write(build.join("vmlinux"), "kernel").unwrap();
        std::fs::write(build.join(".config"), "CONFIG_SMP=y\n").unwrap();
        let from = Tree::plain(tree.clone(), "x".into());
        let image = |source| image(&from, source, &cache, &mut |_| {});
        // The tree has no Makefile, so every attempt to build fails.
        assert!(image(Source::Fixed).is_err(), "built with an unknown configuration");
        std::fs::write(build.join("numalab.done"), mark(Path::new("/other"), FRAGMENT)).unwrap();
        assert!(image(Source::Fixed).is_err(), "objects of the tree it was copied from");
        std::fs::write(build.join("numalab.done"), mark(&tree, FRAGMENT)).unwrap();
        let done = image(Source::Fixed).unwrap();
        assert_eq!(done.sha256, cache::sha256(b"kernel"));
        assert_eq!(done.built.unwrap().config_sha256, cache::sha256(b"CONFIG_SMP=y\n"));
        assert!(image(Source::Mirror).is_err(), "a mirror may have changed");
        assert!(image(Source::Fixed).is_err(), "the mark is gone with the failed build");
    }

    #[test]
    fn an_interrupted_configuration_is_repeated() {
        if !crate::probe::test_has(&["make"]) {
            return;
        }
        let directory = tempfile::tempdir().unwrap();
        let cache = Cache::at(&directory.path().join("cache")).unwrap();
        let tree = directory.path().join("tree");
        std::fs::create_dir_all(tree.join(BUILD)).unwrap();
        // This tree takes any configuration once the file `go` exists; before that it fails, like an interrupted one.
        // The recipe also fails if the copy of the configuration exists while it runs.
        let recipe = "allnoconfig:\n\techo run >>runs\n\ttest ! -e build/numalab.config -a -e go\n\
                      \tcp $(KCONFIG_ALLCONFIG) build/.config\n";
        std::fs::write(tree.join("Makefile"), recipe).unwrap();
        let configure = || configure(&tree, &cache, "CONFIG_SMP=y\n", &mut |_| {});
        let runs = || std::fs::read_to_string(tree.join("runs")).unwrap().lines().count();
        std::fs::write(tree.join("build/.config"), "CONFIG_SMP=y\nCONFIG_OF_ANOTHER=y\n").unwrap();
        assert!(configure().is_err());
        std::fs::write(tree.join("go"), "").unwrap();
        configure().unwrap();
        assert_eq!(std::fs::read_to_string(tree.join("build/.config")).unwrap(), "CONFIG_SMP=y\n");
        configure().unwrap();
        assert_eq!(runs(), 2, "a complete configuration is not repeated");
    }

    #[test]
    fn a_build_ends_with_its_parent() {
        const TREE: &str = "NUMALAB_TEST_TREE";
        if let Some(tree) = std::env::var_os(TREE).map(std::path::PathBuf::from) {
            // This process is the parent, which is killed while the build runs.
            let cache = Cache::at(&tree.join("cache")).unwrap();
            let _ = make(&tree, &cache, &["wait"]);
            return;
        }
        if crate::probe::find_program(Path::new("make")).is_none() {
            return;
        }
        let tree = tempfile::tempdir().unwrap();
        let tree = tree.path();
        std::fs::create_dir(tree.join(BUILD)).unwrap();
        // As in the kernel's files, a `make` stands under the shell of a recipe, which passes no signal on.
        let makefile = "wait:\n\t@true; $(MAKE) inner; true\n\
                        inner:\n\t@echo $$PPID >p && mv p pid; sleep 3600; true\n";
        std::fs::write(tree.join("Makefile"), makefile).unwrap();
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "image::build::tests::a_build_ends_with_its_parent"]);
        let mut child = command.env(TREE, tree).stdout(Stdio::null()).spawn().unwrap();
        assert!(comes_true(&|| tree.join("pid").exists()), "the build did not start");
        // A build is ended in the same way by SIGINT and SIGTERM, which end this process.
        child.kill().unwrap();
        child.wait().unwrap();
        let pid = std::fs::read_to_string(tree.join("pid")).unwrap();
        // A zombie has ended, too.
        let stat = || std::fs::read_to_string(format!("/proc/{}/stat", pid.trim()));
        assert!(comes_true(&|| stat().map_or(true, |s| s.contains(") Z "))), "the build goes on");
    }

    #[test]
    fn a_build_that_was_stopped_goes_on() {
        if !crate::probe::test_has(&["make"]) || build_tools::check().is_err() {
            return;
        }
        let directory = tempfile::tempdir().unwrap();
        let cache = Cache::at(&directory.path().join("cache")).unwrap();
        let tree = directory.path().join("tree");
        std::fs::create_dir_all(tree.join(BUILD)).unwrap();
        let recipe = "allnoconfig:\n\tcp $(KCONFIG_ALLCONFIG) build/.config\n\
                      vmlinux: build/a.o\n\ttest -e go && cp build/a.o build/vmlinux\n\
                      build/a.o:\n\techo run >>runs && cp runs $@\n";
        std::fs::write(tree.join("Makefile"), recipe).unwrap();
        let from = Tree::plain(tree.clone(), "x".into());
        let said = || {
            let mut lines = Vec::new();
            let built = image(&from, Source::Fixed, &cache, &mut |line| lines.push(line.to_string()));
            (built.is_ok(), lines.join("; "))
        };
        let (done, lines) = said();
        assert!(!done && lines.ends_with("building x"), "{lines}");
        std::fs::write(tree.join("go"), "").unwrap();
        let (done, lines) = said();
        assert!(done && lines.contains("an earlier build did not end"), "{lines}");
        assert_eq!(std::fs::read_to_string(tree.join("runs")).unwrap().lines().count(), 1, "compiled once");
        assert_eq!(said(), (true, String::new()), "it is whole");
    }

    #[test]
    fn a_dropped_symbol_is_named() {
        let settings = parse("CONFIG_A=y\n# CONFIG_B is not set\nCONFIG_N=512\nCONFIG_O=y #?\n");
        let config = "CONFIG_A=y\nCONFIG_B=y\nCONFIG_N=64\n";
        assert_eq!(unmet(&settings, config), vec!["CONFIG_B is y, wanted not set", "CONFIG_N is 64, wanted 512"]);
        let off = "CONFIG_A=y\nCONFIG_N=512\n# CONFIG_O is not set\n";
        assert_eq!(unmet(&settings, off), vec!["CONFIG_O is not set, wanted y"]);
        assert!(unmet(&settings, "CONFIG_A=y\nCONFIG_N=512\n").is_empty());
    }

    #[test]
    fn errors_of_a_log_are_shown_first() {
        let log = "CC a.o\nkernel/sched/fair.c:1:2: error: expected ';'\n  x\nmake: *** Error 2\n";
        assert!(errors(log).starts_with("kernel/sched/fair.c"));
        assert_eq!(errors("a\nb\n"), "a\nb");
    }
}
