//! The real command, run in a directory of its own.
#![allow(dead_code, clippy::unwrap_used)]

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A new directory in which the command runs.
pub struct Lab {
    dir: tempfile::TempDir,
}

/// The end of a command.
#[derive(Debug)]
pub struct Ended {
    /// Exit code.
    pub code: i32,
    /// Standard output.
    pub out: String,
    /// Standard error.
    pub err: String,
}

impl Lab {
    /// An empty directory.
    pub fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }
    /// A directory with the workload [`SWEEP`] as `sweep.toml`.
    pub fn with_sweep() -> Self {
        let lab = Self::new();
        lab.write("sweep.toml", SWEEP);
        lab
    }
    /// A directory with the experiment `d`: the workload [`SWEEP`] on two kernels, with three seeds each.
    pub fn with_experiment() -> Self {
        let lab = Self::with_sweep();
        lab.ok(&format!("{QUICK} --kernel off,6.3 --iterations 3 --param loops=7000 --out d"));
        lab
    }
    /// A path inside the directory.
    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }
    /// Writes a file and creates its folders.
    pub fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    /// Runs `numalab` with arguments that are separated by blanks.
    pub fn run(&self, line: &str) -> Ended {
        self.args(&line.split_whitespace().collect::<Vec<_>>())
    }
    /// Runs `numalab` with these arguments.
    pub fn args(&self, args: &[&str]) -> Ended {
        let mut command = Command::new(env!("CARGO_BIN_EXE_numalab"));
        // The widest text, so that a row is a line.
        let done = command.args(args).env("COLUMNS", "200").current_dir(&self.dir).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Ended { code: done.status.code().unwrap(), out: text(done.stdout), err: text(done.stderr) }
    }
    /// Runs `numalab` in a terminal of this many columns, as far as it can tell, and expects success.
    pub fn in_columns(&self, line: &str, columns: usize) -> Ended {
        let mut command = Command::new(env!("CARGO_BIN_EXE_numalab"));
        command.args(line.split_whitespace()).env("COLUMNS", columns.to_string()).current_dir(&self.dir);
        ended(command)
    }
    /// Runs a line of the shell, in which `numalab` is the command.
    pub fn shell(&self, line: &str) -> Ended {
        let mut command = Command::new("sh");
        let line = line.replace("numalab", env!("CARGO_BIN_EXE_numalab"));
        command.args(["-c", &line]).current_dir(&self.dir);
        ended(command)
    }
    /// Runs `numalab` and expects success.
    pub fn ok(&self, line: &str) -> Ended {
        let ended = self.run(line);
        assert_eq!(ended.code, 0, "{line}: {ended:?}");
        ended
    }
    /// Runs `numalab` and expects exit code 2 and one message that contains every part.
    pub fn refused(&self, line: &str, parts: &[&str]) -> String {
        self.refused_args(&line.split_whitespace().collect::<Vec<_>>(), parts)
    }
    /// Does what [`Lab::refused`] does, for arguments that contain blanks.
    pub fn refused_args(&self, args: &[&str], parts: &[&str]) -> String {
        let ended = self.args(args);
        assert_eq!(ended.code, 2, "{args:?}: {ended:?}");
        assert_eq!(ended.out, "", "{args:?} prints no partial result");
        assert_eq!(ended.err.lines().count(), 1, "{args:?} gives one message: {}", ended.err);
        assert!(ended.err.starts_with("numalab: "), "{}", ended.err);
        for part in parts {
            assert!(ended.err.contains(part), "{args:?}: {:?} lacks {part:?}", ended.err);
        }
        assert!(!self.path("out").exists(), "{args:?} left something in out/");
        ended.err
    }
    /// Every file below a directory with its contents, in the order of their names.
    pub fn tree(&self, name: &str) -> Vec<(String, Vec<u8>)> {
        let root = self.path(name);
        let mut out = Vec::new();
        collect(&root, &root, &mut out);
        out.sort();
        out
    }
}

fn ended(mut command: Command) -> Ended {
    let done = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Ended { code: done.status.code().unwrap(), out: text(done.stdout), err: text(done.stderr) }
}

fn collect(root: &Path, dir: &Path, out: &mut Vec<(String, Vec<u8>)>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(root, &path, out);
        } else {
            out.push((path.strip_prefix(root).unwrap().display().to_string(), std::fs::read(&path).unwrap()));
        }
    }
}

/// A workload that runs for milliseconds: every thread sweeps its slice of a small buffer.
pub const SWEEP: &str = r#"name = "sweep"
title = "Two threads sweep a buffer"
about = "For tests."
source = "written for these tests"

[params]
loops = { value = 3, about = "Sweeps" }
size = { value = "16MiB", about = "Buffer" }
workers = { value = 2, about = "Threads" }

[[process]]
name = "main"
threads = "workers"
initial = "joins"

[[process.region]]
name = "buffer"
size = "size"

[[process.phase]]
name = "sweep"
count = "loops"
access = "buffer"
slice = "thread"
write = 1
cost = "1ns"
"#;

/// The beginning of a command line whose runs take milliseconds.
pub const QUICK: &str = "run --machine 2x1x2x1 --workload sweep.toml";

/// Options of a run that takes about a tenth of a second, for tests that must act before many runs have ended.
pub const SLOW: &str = "--param loops=100000";

/// Reads JSON.
pub fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// The command as a terminal starts it. In the background of a script, tests and the commands that they start would
/// ignore interrupts.
pub fn interruptible() -> Command {
    let mut command = Command::new("env");
    command.args(["--default-signal=INT", env!("CARGO_BIN_EXE_numalab")]);
    command
}
